import math

import numpy as np
import pytest
from scipy import stats

from evenhand.measure.spread import normalised_residual, order_sd, rank_spread, score_spread

NAN = float("nan")


def test_score_spread_by_hand():
    # Row 0: mean .5, sd .5; row 1: all equal, 0. Mean .25.
    assert score_spread([[0, 1], [0.7, 0.7]]) == 0.25
    # One row is enough, missing scores are left out of their row.
    assert score_spread([[0, NAN, 1]]) == 0.5
    assert math.isnan(score_spread([[0, NAN], [NAN, NAN]]))


def test_order_sd_by_hand():
    # Candidate 0 moves 0, 2: sample sd sqrt(2), population sd 1. Candidate 1 does not.
    assert order_sd([[0, 5], [2, 5]]) == pytest.approx(math.sqrt(2) / 2)
    assert order_sd([[0, 5], [2, 5]], exhaustive=True) == 0.5


def test_rank_spread_by_hand():
    # Ranks 1 2 3, then 1.5 1.5 3: candidates 0 and 1 move by .5, sample sd .5/sqrt(2).
    assert rank_spread([[3, 2, 1], [2, 2, 1]]) == pytest.approx(2 / 3 * 0.5 / math.sqrt(2))


def test_rank_spread_equals_scipy_ranks():
    scores = np.random.default_rng(0).integers(0, 4, (6, 8)).astype(float)
    ranks = stats.rankdata(scores, axis=1)
    assert rank_spread(scores) == pytest.approx(ranks.std(axis=0, ddof=1).mean())
    assert rank_spread(scores, exhaustive=True) == pytest.approx(ranks.std(axis=0).mean())


def test_residual_by_hand():
    # Order sd: both candidates move by 1: sample sd 1/sqrt(2). Within rows: sd 1 and 1.
    assert normalised_residual([[0, 2], [1, 3]]) == pytest.approx(1 / math.sqrt(2))


def test_scores_that_do_not_move_are_exactly_zero():
    # Ten times 0.1 does not sum to 1 in floats, and must not show here.
    rows = np.tile([0.1, 0.2, 0.7, 0.7], (10, 1))
    assert order_sd(rows) == 0.0
    assert rank_spread(rows) == 0.0
    assert normalised_residual(rows) == 0.0
    assert score_spread(np.full((3, 3), 0.1)) == 0.0


def test_undefined():
    for measure in (order_sd, rank_spread, normalised_residual):
        assert math.isnan(measure([[1, 2]]))
        assert math.isnan(measure([[1], [2]]))
        assert math.isnan(measure([[NAN, NAN], [1, 2]]))
        assert math.isnan(measure([[1, NAN], [NAN, 2]]))
        assert math.isnan(measure(np.empty((0, 3))))
    # Nothing to set the movement beside.
    assert math.isnan(normalised_residual([[1, 1], [1, 1]]))
    assert math.isnan(normalised_residual([[1, 1], [2, 2]]))


def test_candidates_that_a_row_lacks_are_left_out():
    whole = [[0, 2, 9], [1, 4, 8]]
    missing = [[0, 2, 9, NAN], [1, 4, 8, 3], [NAN] * 4]
    for measure in (order_sd, rank_spread, normalised_residual):
        assert measure(missing) == measure(whole)
