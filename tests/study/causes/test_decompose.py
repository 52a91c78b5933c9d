import itertools
import json
import math

import numpy as np
import pytest

from evenhand.errors import InputError, NothingMeasuredError, ScorerError, UsageError
from evenhand.measure.variance import residual_against
from evenhand.present.design import design
from evenhand.score.function import scorer
from evenhand.score.toy import Toy
from evenhand.study.causes.decompose import decompose, nested_from_run
from evenhand.study.rows.run import run_study
from evenhand.types import Candidate, Scored, Slate

PARTS = ("companions", "order", "noise")


def slates(count, n=12):
    return [
        Slate(f"q{q}", f"query {q}", tuple(Candidate(f"c{q}.{i}", "x") for i in range(n)))
        for q in range(count)
    ]


def true_shares(toy, given, width):
    """Shares of a toy's variance in closed form, for windows of one width.

    Order: the variance of the shift over the slots. Companions: coupling^2 times the
    variance of the mean of B - 1 relevances drawn without replacement from the n - 1
    others, S^2 / (B - 1) * (1 - (B - 1) / (n - 1)). Noise: its sd squared.
    """
    slots = np.arange(width)
    order = (-toy.slot_bias * slots / (width - 1) + toy.first_slot * (slots == 0)).var()
    drawn = []
    for slate in given:
        known = toy._known(slate)
        for i in range(len(slate)):
            others = np.delete(known, i)
            left = 1 - (width - 1) / len(others)
            drawn.append(others.var(ddof=1) / (width - 1) * left)
    parts = np.array([toy.coupling**2 * np.mean(drawn), order, toy.noise**2])
    return parts / parts.sum()


def found_shares(found):
    return np.array([getattr(found.crossed, f"{name}_share").mean for name in PARTS])


def test_dialled_shares_are_recovered_within_2_points():
    toy = Toy(relevance="hash", slot_bias=0.2, coupling=0.8, first_slot=0.1, noise=0.08)
    given = slates(200)
    expected = true_shares(toy, given, 4)
    # All three are there to be found.
    assert expected.min() > 0.15
    found = decompose(toy, given, width=4, partitions=5, orders=2, part_size=50)
    assert np.abs(found_shares(found) - expected).max() < 0.02
    assert sum(found_shares(found)) == pytest.approx(1)
    # The nested estimate is another number: slot alone, and the rest together.
    shares = found.nested.shares()
    assert shares.slot == pytest.approx(expected[1], abs=0.04)
    assert shares.residual == pytest.approx(expected[0] + expected[2], abs=0.04)


@pytest.mark.slow
@pytest.mark.parametrize(
    "toy",
    [
        Toy(relevance="hash", slot_bias=0.3, noise=0.05),
        Toy(relevance="hash", coupling=1.5, noise=0.05),
        Toy(relevance="hash", slot_bias=0.1, coupling=0.6, noise=0.1),
        Toy(relevance="hash", slot_bias=-0.4, coupling=-0.5, first_slot=0.3, noise=0.02),
        Toy(relevance="hash", noise=0.1),
    ],
    ids=lambda toy: toy.name,
)
@pytest.mark.parametrize("width", [4, 5])
def test_dialled_shares_of_many_toys(toy, width):
    given = slates(200, n=20)
    found = decompose(toy, given, width=width)
    assert np.abs(found_shares(found) - true_shares(toy, given, width)).max() < 0.02


def test_one_window_has_no_companions_to_vary():
    found = decompose(Toy(relevance="hash", slot_bias=0.3, coupling=2), slates(10))
    assert found.one_window == 10
    # The same orders of the same set in every partition: what is left is chance around 0.
    assert abs(found.crossed.companions_share.mean) < 0.1
    assert found.crossed.order_share.mean > 0.9


def test_an_order_free_scorer_is_asked_too():
    calls = []

    def f(query, texts):
        calls.append(len(texts))
        return [0.1 * len(text) for text in texts]

    found = decompose(scorer(f, order_free=True), slates(2, 4), width=2)
    # 2 slates of 5 * 3 * 2 presentations of 2 windows.
    assert len(calls) == 2 * 30 * 2
    assert found.cost.prompts_per_slate == 60
    assert found.crossed.total.mean == 0
    assert math.isnan(found.crossed.noise_share.mean)


def test_the_second_readings_come_apart_and_in_reverse():
    class Watched:
        name = "watched"
        revision = "1"
        scale = "raw"
        order_free = False
        channels = frozenset({"order", "companions"})
        max_window = None
        default_window = None
        surface = Toy().surface

        def __init__(self):
            self.calls = []

        def score(self, shown):
            self.calls.append([(one.slate.id, one.row, one.kind) for one in shown])
            return [Scored(np.arange(len(one.slate))) for one in shown]

    watched = Watched()
    decompose(watched, slates(3, 3), partitions=2, orders=2, part_size=2)
    assert [len(call) for call in watched.calls] == [8, 8, 4, 4]
    first, second = watched.calls[:2]
    assert {kind for _, _, kind in first} == {"random"}
    assert {kind for _, _, kind in second} == {"repeat"}
    assert [(key, row + 1) for key, row, _ in first] == [(key, row) for key, row, _ in second][::-1]


def test_missing_scores_are_counted():
    def f(query, texts):
        return [math.nan if text == "lost" else len(texts) for text in texts]

    given = [
        Slate(
            "q", "query", tuple(Candidate(f"c{i}", text) for i, text in enumerate(["a", "b", "lost"]))
        )
    ]
    found = decompose(scorer(f), given)
    assert (found.per_slate[0].candidates, found.per_slate[0].left_out) == (2, 1)
    assert (found.missing, found.scores) == (30, 90)
    # One score each time, of another candidate: no candidate has all of them.
    turns = itertools.cycle([[1.0, math.nan, math.nan], [math.nan, 1.0, math.nan]])
    with pytest.raises(NothingMeasuredError, match="scored in every presentation"):
        decompose(scorer(lambda query, texts: next(turns)), given)
    with pytest.raises(NothingMeasuredError):
        decompose(Toy(), [])


def test_json_and_progress():
    seen = []
    found = decompose(
        Toy(relevance="hash", noise=0.1), [*slates(2, 4), Slate("empty", "q", ())], width=2,
        part_size=2, progress=lambda done, total: seen.append((done, total)),
    )  # fmt: skip
    assert seen == [(2, 3), (3, 3)]
    record = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert record["slate_ids"] == ["q0", "q1", "empty"]
    assert record["per_slate"][2]["companions"] is None
    assert record["crossed"]["total"]["undefined"] == 1
    assert record["settings"]["width"] == 2
    assert set(record["nested"]["shares"]) == {"slot", "window", "residual"}


def test_what_cannot_be_shown_is_refused():
    with pytest.raises(UsageError, match="at most 2"):
        decompose(scorer(lambda query, texts: [0] * len(texts), max_window=2), slates(1), width=3)
    with pytest.raises(InputError, match="twice"):
        decompose(Toy(), [*slates(1), *slates(1)])
    with pytest.raises(UsageError, match="partitions must be at least 2, a whole number, got 1"):
        decompose(Toy(), slates(1), partitions=1)


def test_nested_fit_of_runs_and_what_is_left_of_the_residual(tmp_path):
    drawn = design(rows=8, width=4)
    fits = [
        nested_from_run(
            run_study(
                Toy(relevance="hash", slot_bias=0.3, noise=noise), slates(20), drawn, tmp_path / name
            )
        )
        for name, noise in (("raw", 0.2), ("trained", 0.1))
    ]
    # 240 candidates over 8 rows; slots lose 0, .1, .2, .3: variance .0125.
    assert fits[0].documents == 240
    assert fits[0].observations == 240 * 8
    assert fits[1].shares().slot == pytest.approx(0.0125 / 0.0225, abs=0.05)
    # A quarter of the noise variance is left.
    assert residual_against(fits[1], fits[0]) == pytest.approx(0.25, abs=0.03)


def test_a_scorer_that_always_fails_is_told_with_its_first_failure():
    def f(query, texts):
        raise RuntimeError("the model is gone")

    with pytest.raises(ScorerError, match="none of 90 scores, the first failure: .*model is gone"):
        decompose(scorer(f), slates(1, 3))
    with pytest.raises(ScorerError, match="the first failure:"):
        decompose(scorer(lambda query, texts: [math.nan] * len(texts)), slates(1, 3))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"partitions": 2.5}, "partitions must be at least 2, a whole number, got 2.5"),
        ({"partitions": "3"}, "partitions must be at least 2"),
        ({"orders": None}, "orders must be at least 2, a whole number, got None"),
        ({"orders": math.inf}, "orders must be at least 2"),
        ({"width": 2.5}, "width must be at least 1, a whole number, got 2.5"),
        ({"width": "x"}, "width must be at least 1"),
        ({"width": 0}, "width must be at least 1"),
        ({"rule": 3}, "unknown window rule 3"),
        ({"seed": "x"}, "seed must be a whole number, got 'x'"),
        ({"part_size": 0}, "part_size must be at least 1"),
        ({"part_size": 1.5}, "part_size must be at least 1"),
    ],
)
def test_wrong_kinds_are_refused_before_anything_is_scored(given, said):
    called = []
    with pytest.raises(UsageError, match=said):
        decompose(
            scorer(lambda query, texts: called.append(1) or [0.0] * len(texts)), slates(1), **given
        )
    assert called == []


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: decompose(None, slates(1)), "a scorer is needed, got None"),
        (lambda: decompose(Toy, slates(1)), "a scorer is needed, got"),
        (lambda: decompose(Toy(), None), "slates must be a list of Slate, got None"),
        (lambda: decompose(Toy(), slates(1)[0]), "put it in a list"),
        (lambda: decompose(Toy(), [3]), "slates must hold Slate, got 3"),
        (lambda: nested_from_run("folder"), "a run folder is needed, got 'folder'"),
    ],
)
def test_what_is_no_scorer_slates_or_run_is_refused(call, said):
    with pytest.raises(UsageError, match=said):
        call()
