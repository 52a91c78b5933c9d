from collections import Counter

import numpy as np
import pytest

from evenhand.remedy.shows import again, first_orders, whole_order
from evenhand.types import Presentation, Surface


def outer(n, width, omitted=()):
    order = tuple(i for i in range(n) if i not in omitted)
    windows = tuple(order[at : at + width] for at in range(0, len(order), width))
    return Presentation(order, windows, Surface(dummy=2), omitted)


def rng(seed=0):
    return np.random.default_rng(seed)


def test_whole_orders_keep_pattern_and_surface():
    found = whole_order(outer(7, 3, (2,)), rng())
    assert [len(window) for window in found.windows] == [3, 3]
    assert (found.omitted, found.surface) == ((2,), Surface(dummy=2))
    assert found.windows[0] == found.order[:3]


def test_first_orders_show_different_prompts_where_there_are_any():
    for seed in range(20):
        first, second = first_orders(outer(2, 2), 2, rng(seed))
        assert {first.order, second.order} == {(0, 1), (1, 0)}
    # Windows of one: every order shows the same prompts.
    assert len(first_orders(outer(3, 1), 4, rng())) == 4
    assert len(first_orders(outer(1, 1), 2, rng())) == 2


def test_the_doubtful_share_windows_with_others():
    doubtful = np.array([3, 8, 11, 17])
    for seed in range(30):
        found = again(outer(40, 10), doubtful, 0.5, rng(seed))
        # Up to 5 of a window of 10: one window, 6 others.
        assert [len(window) for window in found.windows] == [10]
        assert set(doubtful.tolist()) <= set(found.order)
        assert len(found.omitted) == 30


def test_more_doubtful_take_more_windows_then_the_whole_slate():
    sizes = {
        d: len(again(outer(40, 10), np.arange(d), 0.5, rng()).windows) for d in (1, 5, 6, 15, 16, 40)
    }
    assert sizes == {1: 1, 5: 1, 6: 2, 15: 3, 16: 4, 40: 4}
    assert again(outer(40, 10), np.arange(16), 0.5, rng()).omitted == ()


def test_no_window_holds_more_of_them_than_the_share():
    for seed in range(20):
        found = again(outer(40, 10), np.arange(9), 0.5, rng(seed))
        assert max(sum(i < 9 for i in window) for window in found.windows) <= 5


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_others_and_slots_are_drawn_evenly(share):
    met, slots, draws = Counter(), Counter(), 3000
    for seed in range(draws):
        found = again(outer(20, 5), np.array([4]), share, rng(seed))
        window = next(w for w in found.windows if 4 in w)
        met.update(i for i in window if i != 4)
        slots[window.index(4)] += 1
    # Each of the 19 others with 4/19, each slot with 1/5; three standard errors are .023, .022.
    assert all(abs(met[i] / draws - 4 / 19) < 0.03 for i in range(20) if i != 4)
    assert all(abs(slots[slot] / draws - 0.2) < 0.03 for slot in range(5))


def test_a_ragged_window_is_met_as_often_as_in_a_random_order():
    # 7 candidates by 5: windows of 5 and 2, so a candidate is in the small one with 2/7.
    draws = 3000
    small = sum(
        len(again(outer(7, 5), np.array([0]), 0.5, rng(seed)).windows[0]) == 2 for seed in range(draws)
    )
    assert small / draws == pytest.approx(2 / 7, abs=0.03)


def test_a_share_of_nothing_shows_windows_of_one_random_order():
    found = [again(outer(40, 10), np.array([1, 2]), 0.0, rng(seed)) for seed in range(300)]
    assert {len(one.windows) for one in found} == {1, 2}
    # Two are in one window of 10 of 40 with 9/39.
    together = np.mean([len(one.windows) == 1 for one in found])
    assert together == pytest.approx(9 / 39, abs=0.09)


def test_omitted_candidates_stay_out():
    for seed in range(10):
        found = again(outer(12, 4, (0, 5)), np.array([3]), 0.5, rng(seed))
        assert {0, 5} <= set(found.omitted)
