import numpy as np
import pytest
from scipy import stats

from evenhand.decide.matching import match_reference, match_share, share_retained
from evenhand.errors import NothingMeasuredError, UsageError


def test_picks_the_nearest_share():
    # 5 scores: cuts keep 1/5 .. 5/5; .55 is nearest to 3/5
    found = match_share([[0.1, 0.9], [0.5, 0.7, 0.3]], 0.55)
    assert found.share == pytest.approx(0.6)
    # keeps .9 .7 .5, so it stands midway between .5 and .3
    assert found.threshold == pytest.approx(0.4)
    assert not found.exact


def test_equal_scores_go_together_and_the_smaller_share_wins():
    # .5 three times: shares are 1/4 (.9 alone) and 4/4; .625 is as near to both
    found = match_share([[0.5, 0.5, 0.5, 0.9]], 0.625)
    assert (found.share, found.threshold) == (0.25, pytest.approx(0.7))
    assert match_share([[0.5, 0.5, 0.5, 0.9]], 0.63).share == 1


def test_exact_where_there_are_no_ties():
    rng = np.random.default_rng(0)
    rows = [rng.random(10) for _ in range(7)]
    for kept in range(1, 71):
        found = match_share(rows, kept / 70)
        assert found.exact
        assert share_retained(rows, found.threshold) == pytest.approx(kept / 70)
        # independent: the share of scores at or above it, by percentile
        below = stats.percentileofscore(np.concatenate(rows), found.threshold, kind="strict")
        assert 1 - below / 100 == pytest.approx(kept / 70)


def test_missing_scores_count_on_neither_side():
    assert share_retained([[np.nan, 0.9, 0.1]], 0.5) == 0.5
    assert match_share([[np.nan, 0.9, 0.1]], 0.5).exact


def test_neighbouring_floats():
    low = 0.5
    high = np.nextafter(low, 1)
    assert match_share([[low, high]], 0.5).threshold == high


def test_reference():
    scores = {"a": [3.0, 2.0, 1.0], "b": [9.0, 8.0, 7.0]}
    # the reference keeps 1 of 3 and 2 of 3 under a threshold per slate: one half
    reference = {"a": [0.9, 0.1, 0.2], "b": [0.3, 0.4, 0.1]}
    found = match_reference(scores, reference, {"a": 0.5, "b": 0.25})
    assert found.wanted == 0.5
    # half of 9 8 7 3 2 1: between 3 and 7
    assert (found.threshold, found.exact) == (5.0, True)
    assert match_reference(scores, reference, 0.35).wanted == pytest.approx(2 / 6)


def test_refusals():
    with pytest.raises(UsageError, match="above 0"):
        match_share([[0.1]], 0.0)
    with pytest.raises(NothingMeasuredError):
        match_share([[np.nan]], 0.5)
    with pytest.raises(NothingMeasuredError):
        share_retained([[np.nan]], 0.5)
    with pytest.raises(UsageError, match="different slates"):
        match_reference({"a": [1.0]}, {"b": [1.0]}, 0.5)
    with pytest.raises(UsageError, match="no threshold for 1 slates"):
        match_reference({"a": [1.0]}, {"a": [1.0]}, {})
    with pytest.raises(UsageError, match="2 thresholds for 1"):
        share_retained([[1.0]], [0.1, 0.2])
