"""The laws of the measures that compare with the canonical row, under exchanges of a member."""

import math

import numpy as np
import pytest

from evenhand.measure.registry import between, parse
from evenhand.present.design import design
from evenhand.types import Candidate, Plan, ScoreMatrix, Slate

N, THRESHOLD = 9, 0.4
NAMES = (
    "PoolPSI",
    "PoolPSI(kind='replaced')",
    "PoolPSI(kind='dropped')",
    "CanonicalPSI",
    "ScoreChange",
    "TopSetFlip@3",
    "RetainedDelta",
)
every_measure = pytest.mark.parametrize("measure", [parse(name) for name in NAMES], ids=str)


def slate(names="abcdefghi"):
    return Slate("q", "a query", tuple(Candidate(name, f"text {i}") for i, name in enumerate(names)))


PLAN = design("membership", rows=6).draw(slate())


def matrix(scores, plan=PLAN):
    """The scores, NaN where the plan does not show a candidate."""
    return ScoreMatrix(np.where(plan.included(), scores, np.nan), plan)


def random_scores(seed=0, *, ties=False):
    values = np.random.default_rng(seed).random((len(PLAN), N))
    return np.round(values * 3) / 3 if ties else values


@every_measure
def test_an_order_free_scorer_is_perfectly_stable(measure):
    for row in ([0.1, 0.7, 0.7, 0.3, 0.3, 0.3, 0.9, 0.2, 0.1], [0.5] * N, np.linspace(0, 1, N)):
        assert measure(matrix(np.tile(row, (len(PLAN), 1))), slate(), THRESHOLD) == 0.0
        assert measure.entry.stable == 0.0


@every_measure
def test_a_scorer_that_depends_on_who_is_there_is_not(measure):
    assert measure(matrix(random_scores()), slate(), THRESHOLD) > 0


@every_measure
def test_the_reserve_and_who_went_count_for_nothing(measure):
    # Whatever they score, the survivors are the same.
    scores = random_scores()
    other = scores.copy()
    other[1:-1, N - 1] = 0.95
    for row, shown in enumerate(PLAN.presentations):
        other[row, list(shown.omitted)] = 0.05
    found = [measure(matrix(values), slate(), THRESHOLD) for values in (scores, other)]
    assert found[0] == found[1]


@every_measure
def test_candidate_names_do_not_matter(measure):
    found = matrix(random_scores())
    assert measure(found, slate(), THRESHOLD) == measure(found, slate("zyxwvutsr"), THRESHOLD)


@every_measure
@pytest.mark.parametrize("ties", [False, True])
def test_the_order_of_the_rows_does_not_matter(measure, ties):
    scores = random_scores(ties=ties)
    moved = np.array([0, 4, 2, 6, 1, 5, 3, 7])
    plan = Plan(tuple(PLAN.presentations[row] for row in moved), PLAN.kinds)
    expected = measure(matrix(scores), slate(), THRESHOLD)
    assert measure(matrix(scores[moved], plan), slate(), THRESHOLD) == pytest.approx(expected)


@every_measure
def test_missing_stays_missing_and_a_row_without_scores_counts_for_nothing(measure):
    assert math.isnan(measure(matrix(np.full((len(PLAN), N), np.nan)), slate(), THRESHOLD))
    scores = random_scores()
    missing = scores.copy()
    missing[1] = np.nan
    keep = [row for row in range(len(PLAN)) if row != 1]
    plan = Plan(tuple(PLAN.presentations[r] for r in keep), tuple(PLAN.kinds[r] for r in keep))
    expected = measure(matrix(scores[keep], plan), slate(), THRESHOLD)
    assert measure(matrix(missing), slate(), THRESHOLD) == pytest.approx(expected)


@every_measure
@pytest.mark.parametrize("seed", range(4))
def test_values_are_in_range(measure, seed):
    value = measure(matrix(random_scores(seed, ties=seed % 2 == 0)), slate(), THRESHOLD)
    assert 0 <= value <= 1


@every_measure
def test_the_floor_is_between_the_canonical_row_and_its_repeat(measure):
    scores = random_scores()
    scores[-1] = scores[0]
    found = between(measure, matrix(scores), slate(), THRESHOLD)
    # Nothing is exchanged between the two, so the floor of Pool-PSI is over all that both show.
    assert found == 0.0
    scores[-1] = -scores[0]
    reversed_ = between(measure, matrix(scores), slate(), THRESHOLD)
    if measure.head in ("PoolPSI", "CanonicalPSI"):
        assert reversed_ == 1.0


def test_pool_psi_is_of_exchanges_only():
    plan = design("order", rows=6).draw(slate())
    found = ScoreMatrix(random_scores(), plan)
    assert math.isnan(parse("PoolPSI")(found, slate()))
    assert parse("CanonicalPSI")(found, slate()) > 0
