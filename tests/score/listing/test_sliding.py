import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.errors import UsageError
from evenhand.score.listing.ranking import Ranking
from evenhand.score.listing.sliding import Sliding, window_starts


def walk(sliding, judge):
    """Rank every window by a judge: members of a window -> slots, best first, maybe not all."""
    while not sliding.done:
        window = sliding.window
        sliding.take(Ranking(tuple(judge(window)), len(window)))
    return sliding


def by_value(window):
    return sorted(range(len(window)), key=lambda slot: -window[slot])


@pytest.mark.parametrize(
    ("n", "size", "step", "starts"),
    [
        # As RankGPT: nine windows of 20 over 100, from 80 down to 0.
        (100, 20, 10, (80, 70, 60, 50, 40, 30, 20, 10, 0)),
        # The steps do not fit: the last move is shorter and the window still whole.
        (25, 20, 10, (5, 0)),
        (35, 20, 10, (15, 5, 0)),
        (20, 20, 10, (0,)),
        (7, 20, 10, (0,)),
        (6, 2, 2, (4, 2, 0)),
        (5, 3, 1, (2, 1, 0)),
        (1, 20, 10, ()),
        (0, 20, 10, ()),
    ],
)
def test_window_starts(n, size, step, starts):
    assert window_starts(n, size, step) == starts


@given(st.integers(2, 90), st.integers(2, 25), st.integers(1, 25))
def test_every_place_is_in_a_window(n, size, step):
    if step > size:
        with pytest.raises(UsageError, match="not seen"):
            window_starts(n, size, step)
        return
    starts = window_starts(n, size, step)
    assert list(starts) == sorted(set(starts), reverse=True)
    covered = {place for start in starts for place in range(start, min(n, start + size))}
    assert covered == set(range(n))


@pytest.mark.parametrize(
    ("size", "step", "said"), [(1, 1, "at least 2"), (0, 1, "size"), (4, 0, "step"), (4, 2.5, "step")]
)
def test_windows_refused(size, step, said):
    with pytest.raises(UsageError, match=said):
        Sliding([1, 2, 3], size, step)


def test_one_window():
    sliding = walk(Sliding([7, 9, 8], 20, 10), by_value)
    assert sliding.order == [9, 8, 7]
    # (3 - place) / 3.
    np.testing.assert_allclose(sliding.scores([7, 8, 9]), [1 / 3, 2 / 3, 1])


def test_a_pass_by_hand():
    # Size 3, step 1 over 1 5 2 4: [5 2 4] -> 5 4 2, then [1 5 4] -> 5 4 1: 5 4 1 2.
    # One pass lifts the best, but 1 and 2 never met.
    sliding = walk(Sliding([1, 5, 2, 4], 3, 1), by_value)
    assert sliding.order == [5, 4, 1, 2]
    assert len(sliding.rankings) == 2


@given(st.permutations(range(30)))
def test_the_best_come_to_the_front_from_anywhere(order):
    """The overlap of 5 carries the best five through every window."""
    sliding = walk(Sliding(list(order), 10, 5), by_value)
    assert sliding.order[:5] == [29, 28, 27, 26, 25]
    assert sorted(sliding.order) == list(range(30))


def test_unnamed_have_no_score_or_are_tied_at_the_end():
    sliding = Sliding([10, 11, 12, 13], 20, 10)
    sliding.take(Ranking((2, 1), 4))
    assert sliding.order == [12, 11, 10, 13]
    np.testing.assert_allclose(sliding.scores([10, 11, 12, 13]), [np.nan, 0.75, 1, np.nan])
    # Places 2 and 3 give 2/4 and 1/4: .375 for both.
    np.testing.assert_allclose(sliding.scores([10, 11, 12, 13], "end"), [0.375, 0.75, 1, 0.375])


def test_the_last_window_that_showed_a_candidate_counts():
    # [2 3] names only 3; then [1 3] ranks all: 2 stays unnamed.
    sliding = Sliding([1, 2, 3], 2, 1)
    sliding.take(Ranking((1,), 2))
    assert sliding.window == (1, 3)
    sliding.take(Ranking((1, 0), 2))
    np.testing.assert_allclose(sliding.scores([1, 2, 3]), [2 / 3, np.nan, 1])
    # [2 3] names nobody: 2 goes on as it stood, is named beside 1 and has its place.
    sliding = Sliding([1, 2, 3], 2, 1)
    sliding.take(Ranking((), 2))
    sliding.take(Ranking((1, 0), 2))
    np.testing.assert_allclose(sliding.scores([1, 2, 3]), [2 / 3, 1, np.nan])


def test_two_windows_that_left_somebody_out_are_not_tied_with_each_other():
    sliding = Sliding([1, 2, 3, 4], 2, 2)
    sliding.take(Ranking((0,), 2))
    sliding.take(Ranking((1,), 2))
    assert sliding.order == [2, 1, 3, 4]
    np.testing.assert_allclose(sliding.scores([1, 2, 3, 4], "end"), [0.75, 1, 0.5, 0.25])


def test_nothing_to_rank():
    assert Sliding([], 20, 10).done
    alone = Sliding([5], 20, 10)
    assert alone.done
    assert alone.window == ()
    np.testing.assert_array_equal(alone.scores([5]), [1.0])


def test_a_ranking_of_another_width_is_refused():
    with pytest.raises(UsageError, match="a ranking of 2 for a window of 3"):
        Sliding([1, 2, 3]).take(Ranking((0, 1), 2))
    with pytest.raises(UsageError, match="window of 0"):
        Sliding([]).take(Ranking((), 0))
