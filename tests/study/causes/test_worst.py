import itertools
import json
import math

import numpy as np
import pytest

from evenhand.errors import NothingMeasuredError, ScorerError, UsageError
from evenhand.measure.order import kendall_distance
from evenhand.score.function import scorer
from evenhand.score.toy import Toy
from evenhand.study.causes.worst import worst_order, worst_orders
from evenhand.types import Candidate, Presentation, Shown, Slate


def slate(n, key="q", grades=None):
    return Slate(key, "query", tuple(Candidate(f"{key}{i}", f"{i}") for i in range(n)), grades)


def planted(secret, depth=1.0):
    """Relevance falls along the canonical order; candidate 0 loses with every place like the secret."""

    def f(query, texts):
        alike = sum(text == str(wanted) for text, wanted in zip(texts, secret, strict=True))
        return [1 - int(text) / 10 - depth * alike * (text == "0") / len(texts) for text in texts]

    return scorer(f)


def test_the_planted_order_is_found_within_budget():
    secret = (4, 2, 7, 0, 6, 9, 1, 8, 3, 5)
    spent = []
    inner = planted(secret)

    class Counted:
        def __getattr__(self, name):
            return getattr(inner, name)

        def score(self, shown):
            found = inner.score(shown)
            spent.append(sum(one.prompts for one in found))
            return found

    found = worst_order(Counted(), slate(10), objective="rank_drop", candidate="q0", budget=1000)
    # Only the secret order, one of 3,628,800, takes candidate 0 from 1 to 0, below the last at .1.
    assert found.order == secret
    assert found.value == found.confirmed == 9
    assert found.random_max < 9
    assert found.prompts == sum(spent) <= 1000
    assert not found.exact


@pytest.mark.parametrize("objective", ["overlap", "kendall", "top1", "rank_drop"])
def test_search_comes_up_to_the_truth_of_all_orders(objective):
    toy = Toy(relevance="hash", slot_bias=0.5, coupling=0.4)
    one, width = slate(7), 3
    orders = list(itertools.permutations(range(7)))
    shown = [
        Shown(one, Presentation(order, tuple(order[i : i + width] for i in range(0, 7, width))), row)
        for row, order in enumerate(orders)
    ]
    scores = np.array([scored.scores for scored in toy.score(shown)])
    canonical = scores[0]
    kept = scores >= 0.3
    truth = {
        "overlap": max(1 - (row & kept[0]).sum() / (row | kept[0]).sum() for row in kept),
        "kendall": max(kendall_distance(canonical, row) for row in scores[::7]),
        "top1": float((scores.argmax(axis=1) != canonical.argmax()).any()),
        "rank_drop": max((row > row[canonical.argmax()]).sum() for row in scores),
    }[objective]
    found = worst_order(toy, one, objective=objective, threshold=0.3, width=width, budget=600)
    # Kendall's truth is a seventh of the orders: a lower bound.
    assert found.value >= truth - 1e-12
    assert found.value >= found.random_max


def test_exact_for_few_candidates():
    # Position alone, ranks as shown: reversed is the worst of the 24, the mean distance .5.
    found = worst_order(Toy(relevance="position"), slate(4), objective="kendall")
    assert found.exact
    assert (found.order, found.value, found.orders) == ((3, 2, 1, 0), 1, 24)
    assert found.random_mean == pytest.approx(0.5)
    assert found.prompts == 26


def test_an_order_free_scorer_has_no_worse_order():
    found = worst_order(Toy(relevance="hash"), slate(8), objective="kendall", budget=50)
    assert found.value == found.random_max == 0
    assert found.order == tuple(range(8))


def test_over_slates():
    slates = [slate(4, f"s{i}") for i in range(3)] + [slate(1, "single")]
    found = worst_orders(Toy(relevance="position"), slates, objective="kendall")
    assert found.value.mean == 1
    assert (found.value.n, found.value.undefined) == (3, 1)
    assert found.random_mean.mean == pytest.approx(0.5)
    assert (found.exact, found.prompts) == (3, 3 * 26 + 1)
    assert math.isnan(found.slates[3].value)
    record = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert record["slates"][3]["value"] is None
    assert record["slates"][0]["order"] == [3, 2, 1, 0]
    assert record["value"]["undefined"] == 1


def test_thresholds_are_fitted_on_the_canonical_rows():
    # Grades 3 and 0: relevant above the cut, wherever it is fitted.
    slates = [slate(4, f"s{i}", {f"s{i}0": 3, f"s{i}1": 3, f"s{i}2": 0}) for i in range(4)]
    found = worst_orders(Toy(slot_bias=1.0, spread=0.01), slates)
    cuts = {one.threshold for one in found.slates}
    # Canonical scores about 1, .66, -.66, -1: the middle of the gap after the second.
    assert all(-0.7 < cut < 0.7 for cut in cuts)
    # Whatever comes last falls below: {0, 1} against {0}.
    assert found.value.mean >= 0.5
    fixed = worst_orders(Toy(slot_bias=1.0), slates, threshold=0.5)
    assert {one.threshold for one in fixed.slates} == {0.5}


def test_progress_and_watched_candidates():
    seen = []
    slates = [slate(3, "a"), slate(3, "b")]
    found = worst_orders(
        Toy(relevance="position"), slates, objective="rank_drop", candidates={"a": "a1"},
        progress=lambda done, total: seen.append((done, total)),
    )  # fmt: skip
    assert seen == [(1, 2), (2, 2)]
    # From rank 1 of three one rank down; the canonical best of b two.
    assert [one.value for one in found.slates] == [1, 2]


def test_what_cannot_be_searched_is_refused():
    with pytest.raises(UsageError, match="needs a threshold"):
        worst_order(Toy(), slate(3))
    with pytest.raises(UsageError, match="unknown objective"):
        worst_orders(Toy(), [slate(3)], objective="worst")
    with pytest.raises(NothingMeasuredError, match="no order can be worse"):
        worst_orders(Toy(), [slate(1)], objective="kendall")
    with pytest.raises(UsageError, match="at most 2"):
        worst_order(
            scorer(lambda query, texts: [0] * len(texts), max_window=2),
            slate(3), objective="kendall", width=3,
        )  # fmt: skip


def test_a_scorer_that_always_fails_is_told_with_its_first_failure():
    def f(query, texts):
        raise RuntimeError("the model is gone")

    with pytest.raises(ScorerError, match="none of 4 scores, the first failure: .*model is gone"):
        worst_orders(scorer(f), [slate(4)], objective="kendall")
    with pytest.raises(ScorerError, match="model is gone"):
        worst_orders(scorer(f), [slate(4)])
    with pytest.raises(ScorerError, match="model is gone"):
        worst_order(scorer(f), slate(4), objective="kendall")


def test_watched_candidates_are_of_slates_that_are_there():
    given = [slate(3, "a"), slate(3, "b")]
    with pytest.raises(UsageError, match="candidates names 'z', no slate; known are 'a', 'b'"):
        worst_orders(Toy(), given, objective="rank_drop", candidates={"a": "a1", "z": "z1"})
    with pytest.raises(UsageError, match="candidates names 'b1', no candidate of slate 'a'; known are"):
        worst_orders(Toy(), given, objective="rank_drop", candidates={"a": "b1"})
    with pytest.raises(UsageError, match=r"maps slate ids to candidate ids, got \['a'\]"):
        worst_orders(Toy(), given, objective="rank_drop", candidates=["a"])
    with pytest.raises(UsageError, match="candidate names 'b1', no candidate of slate 'a'"):
        worst_order(Toy(), given[0], objective="rank_drop", candidate="b1")
    found = worst_orders(Toy(), given, objective="rank_drop", candidates={"b": "b2"})
    assert len(found.slates) == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"objective": 3}, "unknown objective 3"),
        ({"objective": None}, "unknown objective None"),
        ({"objective": ["kendall"]}, "unknown objective"),
        ({"threshold": "high"}, "threshold must be a finite number, got 'high'"),
        ({"threshold": math.inf}, "threshold must be a finite number, got inf"),
        ({"budget": 2.5}, "budget must be at least 1, a whole number, got 2.5"),
        ({"budget": "many"}, "budget must be at least 1"),
        ({"budget": math.inf}, "budget must be at least 1"),
        ({"width": 1.5}, "width must be at least 1"),
        ({"seed": None}, "seed must be a whole number"),
    ],
)
def test_wrong_kinds_are_refused_before_anything_is_scored(given, said):
    called = []
    one = scorer(lambda query, texts: called.append(1) or [0.0] * len(texts))
    for call in (
        lambda: worst_orders(one, [slate(3)], **given),
        lambda: worst_order(one, slate(3), **given),
    ):
        with pytest.raises(UsageError, match=said):
            call()
    assert called == []


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: worst_orders(None, [slate(3)]), "a scorer is needed, got None"),
        (lambda: worst_orders(Toy(), None), "slates must be a list of Slate, got None"),
        (lambda: worst_orders(Toy(), ["q"]), "slates must hold Slate, got 'q'"),
        (lambda: worst_order(Toy(), "q", threshold=0.5), "slates must hold Slate, got 'q'"),
    ],
)
def test_what_is_no_scorer_or_slates_is_refused(call, said):
    with pytest.raises(UsageError, match=said):
        call()
