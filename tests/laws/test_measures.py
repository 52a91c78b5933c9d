"""Laws that every measure keeps: one dict of all measures, one test per law."""

import math

import numpy as np
import pytest

from evenhand.measure.registry import MEASURES, parse
from evenhand.types import Candidate, Plan, Presentation, ScoreMatrix, Slate

NAN = float("nan")
N, M, WIDTH, THRESHOLD = 9, 6, 4, 0.4

LAWFUL = {
    "tauPSI": "tauPSI",
    "TopInstability": "TopInstability@5",
    "TiedPairs": "TiedPairs",
    "ExactTies": "ExactTies",
    "ScoreSpread": "ScoreSpread",
    "OrderSD": "OrderSD",
    "RankSpread": "RankSpread",
    "Residual": "Residual",
    "SlotShare": "SlotShare",
    "WindowShare": "WindowShare",
    "ResidualShare": "ResidualShare(df='raw')",
    "Overlap": "Overlap",
    "OverlapNonEmpty": "OverlapNonEmpty",
    "BothEmpty": "BothEmpty",
    "SetFlip": "SetFlip",
    "Retained": "Retained",
    "Top1Flip": "Top1Flip",
    "PairFlip": "PairFlip",
    "FirstSlot": "FirstSlot",
    "CanonicalPSI": "CanonicalPSI",
    "ScoreChange": "ScoreChange",
    "TopSetFlip": "TopSetFlip@5",
    "RetainedDelta": "RetainedDelta",
    "CorrectFlip": "CorrectFlip",
    "Margin": "Margin",
    "GoldAccuracy": "GoldAccuracy",
    "nDCG": "nDCG@5",
    "AP": "AP(rel=2)",
    "RR": "RR",
    "P": "P@3",
    "R": "R@3",
    "F1": "F1",
    "SetP": "SetP",
    "SetR": "SetR",
}
# Values that read how large scores are, not only which is larger.
READS_SIZE = {
    *("ScoreSpread", "OrderSD", "Residual", "SlotShare", "WindowShare", "ResidualShare"),
    *("ScoreChange", "RetainedDelta", "Margin"),
}
# Defined on rows that exchange a member only; its laws are in test_pool.py.
ELSEWHERE = {"PoolPSI"}
# Shares and ratios of movement: undefined where no score moves, or none differs.
RELATIVE = {"Residual", "SlotShare", "WindowShare", "ResidualShare"}
NEEDS_ONE = {"Retained"}
# Their value for equal rows depends on the scores or the slots.
DEPENDS = {
    "ScoreSpread",
    "Margin",
    "Retained",
    "FirstSlot",
    "SlotShare",
    "WindowShare",
    "ResidualShare",
}


def measures(condition):
    """The measures that a law is about."""
    asked = [measure for measure in map(parse, LAWFUL.values()) if condition(measure)]
    return pytest.mark.parametrize("measure", asked, ids=str)


every_measure = measures(lambda measure: True)


def slate(n=N, names="abcdefghi"):
    grades = {names[i]: (3 * i) % 4 for i in range(n)}
    return Slate("q", "a query", tuple(Candidate(names[i], f"text {i}") for i in range(n)), grades)


def presentation(order):
    order = tuple(int(i) for i in order)
    return Presentation(order, tuple(order[i : i + WIDTH] for i in range(0, len(order), WIDTH)))


def matrix(scores, orders=None, *, exhaustive=False):
    rng = np.random.default_rng(11)
    n = np.shape(scores)[1]
    if orders is None:
        orders = [np.arange(n), *[rng.permutation(n) for _ in scores[2:]], np.arange(n)]
    kinds = ("canonical", *["random"] * (len(scores) - 2), "repeat")
    plan = Plan(tuple(presentation(order) for order in orders), kinds, exhaustive)
    return ScoreMatrix(np.array(scores, dtype=float), plan)


def scores(*, seed=0, ties=False):
    values = np.random.default_rng(seed).random((M + 2, N))
    return np.round(values * 3) / 3 if ties else values


def both(measure, found, of):
    return [measure(found, of, THRESHOLD, rows=rows) for rows in ("served", "shuffled")]


def test_the_laws_are_asked_of_every_measure():
    assert set(LAWFUL) | ELSEWHERE == set(MEASURES)
    assert all(parse(text).head == head for head, text in LAWFUL.items())


@every_measure
@pytest.mark.parametrize("exhaustive", [False, True])
def test_an_order_free_scorer_is_perfectly_stable(measure, exhaustive):
    for row in ([0.1, 0.7, 0.7, 0.3, 0.3, 0.3, 0.9, 0.2, 0.1], [0.5] * N, np.linspace(0, 1, N)):
        found = matrix(np.tile(row, (M + 2, 1)), exhaustive=exhaustive)
        served, shuffled = both(measure, found, slate())
        # To the last bit, whatever the ties; undefined only where nothing can move.
        if measure.entry.stable is not None and not math.isnan(served):
            assert served == measure.entry.stable
        if measure.kind == "quality":
            assert served == pytest.approx(shuffled, abs=1e-12)
    undefined = math.isnan(measure(matrix(np.full((M + 2, N), 0.5)), slate(), THRESHOLD))
    assert undefined == (measure.head in RELATIVE)


@measures(lambda measure: measure.entry.stable is not None)
def test_a_scorer_that_reads_the_slot_is_not(measure):
    orders = [np.random.default_rng(row).permutation(N) for row in range(M + 2)]
    by_place = [1 - np.argsort(order) / N for order in orders]
    assert measure(matrix(by_place, orders), slate(), THRESHOLD) != measure.entry.stable


@every_measure
def test_candidate_names_do_not_matter(measure):
    # Without ties; among equal scores the hash of the names decides.
    found = matrix(scores())
    assert both(measure, found, slate()) == both(measure, found, slate(names="zyxwvutsr"))


@every_measure
@pytest.mark.parametrize("ties", [False, True])
def test_the_canonical_order_does_not_matter(measure, ties):
    old = matrix(scores(ties=ties))
    moved = np.random.default_rng(5).permutation(N)
    place = np.argsort(moved)
    orders = [place[list(shown.order)] for shown in old.plan.presentations]
    new = matrix(old.scores[:, moved], orders)
    original = slate()
    other = Slate("q", "a query", tuple(original.candidates[i] for i in moved), dict(original.grades))
    assert both(measure, new, other) == pytest.approx(both(measure, old, original), abs=1e-12)


@every_measure
@pytest.mark.parametrize("ties", [False, True])
def test_the_order_of_the_rows_does_not_matter(measure, ties):
    old = matrix(scores(ties=ties))
    moved = np.array([0, *np.random.default_rng(6).permutation(np.arange(1, M + 1)), M + 1])
    new = matrix(old.scores[moved], [old.plan.presentations[row].order for row in moved])
    assert both(measure, new, slate()) == pytest.approx(both(measure, old, slate()), abs=1e-12)


@every_measure
def test_missing_stays_missing(measure):
    found = matrix(np.full((M + 2, N), NAN))
    assert np.isnan(both(measure, found, slate())).all()


@every_measure
@pytest.mark.parametrize("ties", [False, True])
def test_a_row_without_scores_counts_for_nothing(measure, ties):
    old = matrix(scores(ties=ties))
    orders = [shown.order for shown in old.plan.presentations]
    without = matrix(np.delete(old.scores, 3, axis=0), np.delete(orders, 3, axis=0))
    missing = old.scores.copy()
    missing[3] = NAN
    assert both(measure, matrix(missing, orders), slate()) == pytest.approx(
        both(measure, without, slate())
    )


@measures(lambda measure: measure.kind != "quality" and measure.head not in DEPENDS)
def test_a_missing_score_is_not_a_low_one(measure):
    # Equal rows of which three lack a candidate each: what is left agrees everywhere.
    rows = np.tile(np.linspace(0, 1, N), (M + 2, 1))
    for row in range(1, 4):
        rows[row, 2 * row] = NAN
    assert measure(matrix(rows), slate(), THRESHOLD) == (measure.entry.stable or 0.0)


@measures(lambda measure: measure.kind != "quality")
def test_too_little_is_undefined(measure):
    one = matrix(np.full((M + 2, 1), 0.5))
    assert math.isnan(measure(one, slate(1), THRESHOLD)) == (measure.head not in NEEDS_ONE)
    single = matrix(scores()[:3])
    needs_pairs = measure.entry.stable is not None or measure.head in {
        "TiedPairs",
        "BothEmpty",
        *RELATIVE,
    }
    # One row is enough to compare it with the canonical one.
    needs_pairs &= not measure.entry.canonical
    assert math.isnan(measure(single, slate(), THRESHOLD)) == needs_pairs


@measures(lambda measure: measure.head not in READS_SIZE)
@pytest.mark.parametrize("ties", [False, True])
def test_only_the_order_of_scores_matters(measure, ties):
    old = matrix(scores(ties=ties))
    # Strictly rising, and it leaves the threshold where it is.
    new = matrix((old.scores / THRESHOLD) ** 3 * THRESHOLD)
    assert both(measure, new, slate()) == pytest.approx(both(measure, old, slate()), abs=1e-12)


@measures(lambda measure: measure.head in READS_SIZE)
def test_shift_and_scale_change_spreads_as_they_should(measure):
    old = matrix(scores())
    factor = 1 if measure.head in RELATIVE else 4
    found = measure(matrix(old.scores * 4 + 3), slate(), THRESHOLD * 4 + 3)
    assert found == pytest.approx(factor * measure(old, slate(), THRESHOLD))


@every_measure
def test_inputs_stay_as_they_are_and_answers_repeat(measure):
    found = matrix(scores(ties=True))
    before = found.scores.copy()
    first = both(measure, found, slate())
    assert both(measure, found, slate()) == first
    np.testing.assert_array_equal(found.scores, before)


@every_measure
def test_values_are_in_range(measure):
    for seed in range(5):
        for value in both(measure, matrix(scores(seed=seed, ties=True)), slate()):
            # A corrected share of what explains nothing is as often below 0 as above.
            low = -0.5 if measure.head in ("SlotShare", "WindowShare") else 0
            assert low <= value <= (N if measure.head in ("RankSpread", "Residual") else 1)
