import numpy as np
import pytest
from scipy import stats

from evenhand.errors import UsageError
from evenhand.remedy.rules import Rule

TIES = np.array([2, 0, 1, 3])


def test_threshold_keeps_what_is_at_it():
    found = Rule(threshold=0.5).chosen(np.array([0.5, 0.49, np.nan, 0.9]), TIES)
    np.testing.assert_array_equal(found, [True, False, False, True])


def test_top_breaks_ties_by_rank_and_leaves_out_missing():
    scores = np.array([[0.5, 0.5, 0.5, 0.9], [np.nan, 0.1, np.nan, np.nan]])
    found = Rule(top=2).chosen(scores, TIES)
    # First row: .9, then of the equal ones the one with the lowest rank, candidate 1.
    np.testing.assert_array_equal(found, [[False, True, False, True], [False, True, False, False]])


def test_p_of_a_threshold_beside_scipy():
    # (.6 - .5) / .05 = 2 on 9 degrees of freedom.
    p = Rule(threshold=0.5).p_values(np.array([0.6]), np.array([0.05]), np.array([9.0]), np.array([0]))
    assert p[0] == pytest.approx(2 * stats.t.sf(2, 9))
    # Infinite degrees of freedom are the normal distribution.
    p = Rule(threshold=0.5).p_values(np.array([0.6]), np.array([0.05]), np.array([np.inf]), [0])
    assert p[0] == pytest.approx(2 * stats.norm.sf(2), rel=1e-6)


def test_p_of_the_top_is_about_the_rival():
    mean, error = np.array([0.9, 0.7, 0.6, 0.1]), np.array([0.03, 0.04, 0.03, 0.04])
    df = np.array([5.0, 9, 7, 8])
    p = Rule(top=2).p_values(mean, error, df, TIES)
    # Chosen 0 and 1 against the best other (2), 2 and 3 against the last chosen (1): errors are
    # hypot(.03, .03) = .042426, hypot(.04, .03) = .05 twice, hypot(.04, .04) = .056569.
    distance = [0.3 / np.hypot(0.03, 0.03), 0.1 / 0.05, 0.1 / 0.05, 0.6 / np.hypot(0.04, 0.04)]
    np.testing.assert_allclose(p, 2 * stats.t.sf(distance, [5, 7, 7, 8]))


def test_p_where_nothing_can_move():
    zeros = np.zeros(2)
    ties = np.array([0, 1])
    # No error: settled, even exactly at the threshold.
    np.testing.assert_array_equal(
        Rule(threshold=0.5).p_values(np.array([0.5, np.nan]), zeros, zeros + 3, ties), [0, np.nan]
    )
    # All are chosen.
    for top in (2, 5):
        p = Rule(top=top).p_values(np.array([0.5, 0.5]), zeros + 0.1, zeros + 3, ties)
        np.testing.assert_array_equal(p, 0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "one of threshold=T, top=K"),
        ({"threshold": 0.5, "top": 3}, "one of threshold=T, top=K"),
        ({"threshold": float("nan")}, "threshold must be a finite number, got nan"),
        ({"threshold": float("inf")}, "finite"),
        ({"threshold": "high"}, "finite number, got 'high'"),
        ({"threshold": True}, "finite number, got True"),
        ({"top": 0}, "top must be at least 1"),
        ({"top": 2.5}, "top must be at least 1, a whole number, got 2.5"),
    ],
)
def test_refused(given, message):
    with pytest.raises(UsageError, match=message):
        Rule(**given)
