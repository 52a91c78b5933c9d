"""Orders and windows, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.errors import UsageError
from evenhand.present import orders
from evenhand.present.windows import cut


def test_orders_by_hand():
    assert orders.canonical(4) == (0, 1, 2, 3)
    assert orders.reversed_order(4) == (3, 2, 1, 0)
    assert orders.rotated(4, 1) == (1, 2, 3, 0)
    assert orders.swapped(4, 0, 3) == (3, 1, 2, 0)
    assert orders.placed(4, 3, 0) == (3, 0, 1, 2)
    assert orders.placed(4, 0, 2) == (1, 2, 0, 3)
    drawn = orders.shuffled(50, np.random.default_rng(1))
    assert sorted(drawn) == list(range(50))
    assert drawn != tuple(range(50))


def test_orders_refuse_places_that_are_not_there():
    with pytest.raises(UsageError, match=r"candidate to swap must be in 0..3, got 4"):
        orders.swapped(4, 0, 4)
    with pytest.raises(UsageError, match=r"position must be in 0..3, got -1"):
        orders.placed(4, 0, -1)


@pytest.mark.parametrize(
    ("n", "width", "rule", "windows"),
    [
        (7, 4, "contiguous", ((0, 1, 2, 3), (4, 5, 6))),
        (7, 3, "contiguous", ((0, 1, 2), (3, 4, 5), (6,))),
        (7, 4, "interleaved", ((0, 2, 4, 6), (1, 3, 5))),
        (7, 3, "interleaved", ((0, 3, 6), (1, 4), (2, 5))),
        (3, 20, "contiguous", ((0, 1, 2),)),
        (3, None, "interleaved", ((0, 1, 2),)),
        (3, 1, "contiguous", ((0,), (1,), (2,))),
        (0, 4, "contiguous", ()),
    ],
)
def test_windows_by_hand(n, width, rule, windows):
    assert cut(n, width, rule) == windows


@pytest.mark.parametrize("rule", ["contiguous", "interleaved"])
def test_windows_hold_everything_once_within_the_width(rule):
    for n in range(0, 25):
        for width in range(1, 27):
            windows = cut(n, width, rule)
            assert sorted(p for window in windows for p in window) == list(range(n))
            assert all(1 <= len(window) <= width for window in windows)
            assert len(windows) == -(-n // width)


def test_windows_refuse_bad_settings():
    with pytest.raises(UsageError, match="unknown window rule 'zigzag'"):
        cut(3, 2, "zigzag")
    with pytest.raises(UsageError, match="at least 1, got 0"):
        cut(3, 0)
