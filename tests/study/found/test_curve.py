import numpy as np
import pytest

from evenhand.measure import decision
from evenhand.measure.sweep import overlap_at
from evenhand.study.found.curve import OverlapCurve

THRESHOLDS = np.array([-1.0, 0.2, 0.5, 0.7, 2.0])


@pytest.mark.parametrize("exhaustive", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_values_are_those_of_the_measures(exhaustive, missing):
    rng = np.random.default_rng(3)
    for _ in range(20):
        scores = rng.random((5, 6)).round(1)
        scores[rng.random(scores.shape) < missing] = np.nan
        found = overlap_at(scores, THRESHOLDS, exhaustive=exhaustive)
        for place, threshold in enumerate(THRESHOLDS):
            kept = decision.retained_sets(scores, threshold)
            expected = decision.overlap(kept, exhaustive=exhaustive), decision.retained_share(kept)
            np.testing.assert_allclose(found[[0, 2], place], expected)
            if not missing:
                # With missing scores the mean over pairs of rows is taken pair by pair there.
                filled = decision.overlap_without_empty(kept, exhaustive=exhaustive)
                np.testing.assert_allclose(found[1, place], filled)


def test_by_hand():
    # At .5 the rows keep {a, b} and {a, c}: 1 of 3. At .9 nothing and nothing: 1, undefined, 0.
    found = overlap_at([[0.8, 0.6, 0.1], [0.7, 0.2, 0.5]], np.array([0.5, 0.9]))
    np.testing.assert_allclose(found, [[1 / 3, 1], [1 / 3, np.nan], [2 / 3, 0]])


@pytest.mark.parametrize(
    "scores", [np.empty((2, 0)), np.full((2, 3), np.nan), [[0.5, 0.6]], [[0.5], [0.5]]]
)
def test_agreement_needs_two_rows_and_two_candidates(scores):
    assert np.isnan(overlap_at(scores, THRESHOLDS)[:2]).all()


def test_the_curve_is_the_mean_over_slates_that_have_a_value():
    curve = OverlapCurve(0.0, 1.0, points=3)
    curve.add([[1, 0], [1, 0]])
    curve.add([[1, 0], [0, 1]])
    curve.add([[0.5], [0.5]])
    np.testing.assert_array_equal(curve.curve.x, [0, 0.5, 1])
    # At 0 all sets are full. Above, the first slate agrees (1) and the second does not (0).
    np.testing.assert_allclose(curve.curve.y["overlap"], [1, 0.5, 0.5])
    # Retained: (1 + 1 + 1) / 3, (1/2 + 1/2 + 1) / 3, (1/2 + 1/2 + 0) / 3.
    np.testing.assert_allclose(curve.curve.y["retained"], [1, 2 / 3, 1 / 3])


def test_equal_scores_give_one_threshold():
    assert OverlapCurve(0.5, 0.5).curve.x.tolist() == [0.5]
