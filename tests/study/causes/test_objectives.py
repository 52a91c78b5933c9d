import math

import numpy as np
import pytest

from evenhand.errors import UsageError
from evenhand.study.causes.objectives import OBJECTIVES, Reference, most, require_objective, value_of

# Retained at .5: the first two.
REFERENCE = Reference(np.array([0.9, 0.6, 0.4, 0.2]), np.arange(4), 0.5, 0)


def value(objective, scores):
    return value_of(objective, REFERENCE, np.array(scores))[0]


def test_overlap_lost():
    # {0, 1} against {0, 2}: 1 - 1/3.
    assert value("overlap", [0.9, 0.4, 0.6, 0.2]) == pytest.approx(2 / 3)
    assert value("overlap", [0.5, 0.5, 0.1, 0.1]) == 0
    assert value("overlap", [0.1, 0.1, 0.1, 0.1]) == 1
    empty = Reference(np.array([0.1, 0.2]), np.arange(2), 0.5, 0)
    assert value_of("overlap", empty, np.array([0.2, 0.1]))[0] == 0


def test_kendall():
    # One of six pairs swaps.
    assert value("kendall", [0.6, 0.9, 0.4, 0.2]) == pytest.approx(1 / 6)
    assert value("kendall", [0.2, 0.4, 0.6, 0.9]) == 1


def test_rank_drop_and_top1():
    assert value("rank_drop", [0.3, 0.6, 0.4, 0.2]) == 2
    assert value("rank_drop", [0.9, 0.8, 0.4, 0.2]) == 0
    second = Reference(REFERENCE.scores, REFERENCE.ties, 0.5, 1)
    assert value_of("rank_drop", second, np.array([0.1, 0.6, 0.4, 0.2]))[0] == -1
    assert value("top1", [0.5, 0.6, 0.4, 0.2]) == 1
    assert value("top1", [0.7, 0.6, 0.4, 0.2]) == 0
    # Equal scores go by the ties of the ids: candidate 0 stays the best.
    assert value("top1", [0.6, 0.6, 0.4, 0.2]) == 0


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_no_objective_moves_without_a_move_and_the_guide_grows_toward_one(objective):
    base, start = value_of(objective, REFERENCE, REFERENCE.scores)
    assert base == 0
    # All scores closer together, nothing decided otherwise yet.
    near, closer = value_of(objective, REFERENCE, np.array([0.75, 0.74, 0.45, 0.3]))
    assert near == 0
    assert closer > start


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_missing_score_is_no_evidence(objective):
    assert all(
        math.isnan(one) for one in value_of(objective, REFERENCE, np.array([0.1, math.nan, 1, 2]))
    )


def test_most():
    assert most("kendall", REFERENCE) == 1
    # From rank 0 to the last of four; from rank 2 one less.
    assert most("rank_drop", REFERENCE) == 3
    assert most("rank_drop", Reference(REFERENCE.scores, REFERENCE.ties, 0.5, 2)) == 1


def test_unknown_objectives_list_the_known():
    with pytest.raises(UsageError, match="kendall.*overlap"):
        require_objective("worst")
    with pytest.raises(UsageError, match="unknown objective 'tau'"):
        value("tau", [0.1, 0.2, 0.3, 0.4])
