"""Laws that every remedy keeps: one dict of all remedies, toys with known faults, one test per law."""

import math

import numpy as np
import pytest

from evenhand.errors import UsageError
from evenhand.measure.order import tau_psi, tied_pairs
from evenhand.present.design import design
from evenhand.remedy import REMEDIES, apply
from evenhand.score.function import scorer
from evenhand.score.toy import Toy
from evenhand.study.rows.remedied import drawn_plan
from evenhand.types import Candidate, Presentation, Scored, Shown, Slate, Surface

LAWFUL = {
    "adaptive": "adaptive:best",
    "average": "average:3",
    "average latin": "average:4,latin=true",
    "average borda": "average:3,fuse=borda",
    "average rrf": "average:3,fuse=rrf",
    "calibrate": "calibrate",
    "interleave": "interleave",
    "isolated": "isolated",
    "sorted": "sorted",
}
N, M, WIDTH = 9, 6, 4

TOYS = {
    "slot bias": Toy(slot_bias=0.4),
    "coupling": Toy(coupling=0.5),
    "first slot": Toy(first_slot=0.3),
    "noise": Toy(noise=0.2),
    "grid": Toy(slot_bias=0.4, grid=5),
    "position": Toy(relevance="position"),
    "slot": Toy(relevance="slot"),
}
FREE = {
    "toy": Toy(),
    "toy hash": Toy(relevance="hash"),
    "function": scorer(lambda query, texts: list(map(len, texts)), revision="1", order_free=True),
}
# They need what no toy has: grade probabilities, candidates blind to each other.
NOT_OF_TOYS = {"calibrate", "isolated"}
PAIRS = [(r, t) for r in sorted(LAWFUL) if r not in NOT_OF_TOYS for t in sorted(TOYS)]
# Each row has draws of its own.
DRAWING = ("adaptive", "average", "average latin", "average borda", "average rrf", "sorted")


def slate(name="s", n=N):
    candidates = tuple(Candidate(f"c{i}", "word " * (1 + i % 3) + str(i)) for i in range(n))
    return Slate(name, f"query {name}", candidates, {f"c{i}": i % 4 for i in range(n)})


def rows(one=None, width=WIDTH, count=M, seed=0):
    one = slate() if one is None else one
    return list(design(rows=count, width=width, seed=seed).draw(one).shown(one))


def scores(scored):
    return np.array([one.scores for one in scored])


def test_every_remedy_has_laws():
    assert {text.partition(":")[0] for text in LAWFUL.values()} == set(REMEDIES)


@pytest.mark.parametrize("free", sorted(FREE))
@pytest.mark.parametrize("name", sorted(LAWFUL))
def test_an_order_free_scorer_is_left_exactly_as_it_was(name, free):
    plain, made = FREE[free], apply(FREE[free], [LAWFUL[name]])
    shown = rows()
    for one, other in zip(plain.score(shown), made.score(shown), strict=True):
        np.testing.assert_array_equal(one.scores, other.scores)
        assert (one.prompts, one.tokens, one.failure) == (other.prompts, other.tokens, other.failure)
    assert made.order_free
    assert (made.scale, made.surface, made.channels) == (plain.scale, plain.surface, plain.channels)
    assert not made.draws
    assert made.facts == {"remedies": [apply(FREE[free], [LAWFUL[name]]).remedy], "draws": False}


@pytest.mark.parametrize("name", sorted(LAWFUL))
def test_an_order_free_scorer_stays_perfectly_stable(name):
    made = apply(Toy(), [LAWFUL[name]])
    assert tau_psi(scores(made.score(rows()))[1:-1]) == 0


@pytest.mark.parametrize(("name", "toy"), [pair for pair in PAIRS if pair[1] != "noise"])
def test_the_repeat_row_is_the_canonical_row(name, toy):
    found = scores(apply(TOYS[toy], [LAWFUL[name]]).score(rows()))
    np.testing.assert_array_equal(found[0], found[-1])


@pytest.mark.parametrize(("name", "toy"), PAIRS)
def test_the_same_call_gives_the_same_answer(name, toy):
    made = apply(TOYS[toy], [LAWFUL[name]])
    first, second = made.score(rows()), made.score(rows())
    np.testing.assert_array_equal(scores(first), scores(second))
    assert [one.prompts for one in first] == [one.prompts for one in second]


@pytest.mark.parametrize(("name", "toy"), PAIRS)
def test_rows_do_not_reach_each_other(name, toy):
    made, shown = apply(TOYS[toy], [LAWFUL[name]]), [*rows(), *rows(slate("t", 5))]
    together = made.score(shown)
    for one, other in zip(shown[::-1], together[::-1], strict=True):
        (alone,) = made.score([one])
        np.testing.assert_array_equal(alone.scores, other.scores)
        assert (alone.prompts, alone.tokens) == (other.prompts, other.tokens)


class Recorder:
    """A toy that keeps the presentations it was asked for, by row."""

    def __init__(self, inner):
        self.inner, self.seen, self.prompts, self.tokens = inner, [], 0, 0

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def score(self, shown):
        self.seen += shown
        found = self.inner.score(shown)
        self.prompts += sum(one.prompts for one in found)
        self.tokens += sum(one.tokens for one in found)
        return found


@pytest.mark.parametrize(("name", "toy"), PAIRS)
def test_the_stated_cost_is_what_the_inner_scorer_was_asked(name, toy):
    inner = Recorder(TOYS[toy])
    found = apply(inner, [LAWFUL[name]]).score(rows())
    assert sum(one.prompts for one in found) == inner.prompts
    assert sum(one.tokens for one in found) == inner.tokens


@pytest.mark.parametrize("name", DRAWING)
def test_no_two_rows_share_inner_orders(name):
    inner = Recorder(TOYS["slot bias"])
    made = apply(inner, [LAWFUL[name]])
    assert made.draws
    # The same presentation in every row: what differs is what the remedy draws.
    one = Presentation(range(N), (tuple(range(N)),))
    made.score([Shown(slate(), one, row, "random") for row in range(1, 7)])
    orders = [(shown.row, shown.presentation.order) for shown in inner.seen]
    assert len({order for _, order in orders}) == len(set(orders)) >= 6
    inner.seen.clear()
    made.score([Shown(slate("t"), one, 1, "random")])
    assert not {order for _, order in orders} & {s.presentation.order for s in inner.seen}


@pytest.mark.parametrize(("name", "toy"), PAIRS)
def test_columns_are_canonical_and_missing_candidates_are_not_shown(name, toy):
    shown = Presentation((4, 0, 2, 3), ((4, 0), (2, 3)), omitted=(1, 5))
    (found,) = apply(TOYS[toy], [LAWFUL[name]]).score([Shown(slate(n=6), shown, 1, "random")])
    assert np.isnan(found.scores).tolist() == [False, True, False, False, False, True]
    assert found.failure is None


@pytest.mark.parametrize("name", ["average", "average latin", "interleave", "sorted"])
def test_relevance_ends_up_at_its_candidate(name):
    # Relevance far larger than the bias: whatever is shown where, high grades score high.
    made = apply(Toy(slot_bias=0.01), [LAWFUL[name]])
    for one in made.score(rows()):
        grades = np.array([i % 4 for i in range(N)])
        assert all(one.scores[grades == g].max() < one.scores[grades == g + 1].min() for g in range(3))


@pytest.mark.parametrize("k", [1, 4, 9])
@pytest.mark.parametrize("relevance", ["position", "slot"])
def test_a_place_only_scorer_gains_what_averaging_predicts_and_no_more(relevance, k):
    # Places are uniform over n = 9, one window: the variance of 1 - p/9 is (81 - 1) / (12 * 81)
    # = .0823; over rows that share no order the mean of K has sd sqrt(.0823 / K).
    count = 200
    made = apply(Toy(relevance=relevance), [f"average:{k}"])
    found = scores(made.score(rows(width=None, count=count)))[1:-1]
    sd = math.sqrt(found.var(axis=0, ddof=1).mean())
    assert sd == pytest.approx(math.sqrt(80 / 972 / k), rel=0.06)
    # Averages of unrelated orders rank at random still.
    assert tau_psi(found) == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    "name", ["average latin", "average borda", "average rrf", "sorted", "adaptive"]
)
def test_a_place_only_scorer_stays_at_chance(name):
    # Latin over 8 candidates in two sets of 4 would make all equal only where K = n.
    made = apply(Toy(relevance="position"), [LAWFUL[name]])
    found = scores(made.score(rows(width=None, count=60)))[1:-1]
    assert tau_psi(found) == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("text", ["average:2", "sorted"])
def test_a_place_only_scorer_is_at_chance_on_slates_whose_every_order_is_shown(text):
    # 3! = 6 <= M = 8 orders. Were the rows taken for all there are, pairs of a row with itself
    # would lower tau-PSI from .5 to .42. Two of 3 positions averaged tie at times: half each.
    made, drawn, found = apply(Toy(relevance="position"), [text]), design(rows=8), []
    for number in range(300):
        one = slate(f"s{number}", 3)
        plan = drawn_plan(made, drawn, one)
        rows = scores(made.score(list(plan.shown(one))))[plan.rows("random")]
        assert len(rows) == 8
        found.append(
            tau_psi(rows, exhaustive=plan.exhaustive) + tied_pairs(rows, exhaustive=plan.exhaustive) / 2
        )
    # The sd of the mean over 300 slates is about .005.
    assert np.mean(found) == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("name", ["calibrate", "isolated"])
def test_what_needs_more_than_scores_refuses_a_toy(name):
    with pytest.raises(UsageError, match=name):
        apply(TOYS["slot bias"], [LAWFUL[name]])


class Blind(Toy):
    """A toy that loses its faults where candidates are isolated, and has grade probabilities."""

    visibilities = ("sequential", "isolated")

    def score(self, shown):
        return [self._one(one, scored) for one, scored in zip(shown, super().score(shown), strict=True)]

    def _one(self, one, scored):
        if one.presentation.surface.visibility == "isolated":
            (scored,) = Toy().score([one])
        scores = np.clip(scored.scores, 0, 1)
        return Scored(scores, np.stack([1 - scores, scores], axis=1), prompts=scored.prompts)

    scale = "unit"


def test_isolated_is_perfectly_stable():
    made = apply(Blind(slot_bias=0.4), ["isolated"])
    assert tau_psi(scores(made.score(rows()))[1:-1]) == 0
    assert made.surface == Surface(visibility="isolated")


@pytest.mark.parametrize("name", ["isolated", "calibrate"])
def test_other_remedies_compose_with_it(name):
    made = apply(Blind(slot_bias=0.4), [LAWFUL[name], "interleave", "average:2"])
    found = made.score(rows())
    assert not np.isnan(scores(found)).any()
    # Three windows; calibrated twice that by two orders, and a probe a width, all in all.
    assert sum(one.prompts for one in found) >= 3 * len(rows())
