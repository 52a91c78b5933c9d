"""Distances from the canonical row, by hand and against scipy."""

import numpy as np
import pytest
from scipy import stats

from evenhand.errors import UsageError
from evenhand.measure.pool import (
    canonical_psi,
    exchanges,
    pool_psi,
    retained_delta,
    score_change,
    top_set_flip,
)
from evenhand.types import Presentation

NAN = float("nan")


def shown(order, omitted):
    return Presentation(order, (order,), omitted=omitted)


# Slate a b c d, reserve e. Canonical scores a .9, b .6, c .5, d .1.
CANONICAL = [0.9, 0.6, 0.5, 0.1, NAN]
# b replaced by e: survivors a c d; c falls below d: 1 of 3 pairs swaps.
B_REPLACED = [0.9, NAN, 0.0, 0.2, 0.7]
# b dropped, e appended: the order stays: 0 of 3.
B_DROPPED = [0.8, NAN, 0.4, 0.1, 0.2]
# d is the last member: replaced and dropped alike. b and c tie: half a pair of 3.
D_GONE = [0.9, 0.6, 0.6, NAN, 0.3]
SHOWN = [shown((0, 4, 2, 3), (1,)), shown((0, 2, 3, 4), (1,)), shown((0, 1, 2, 4), (3,))]
ROWS = [B_REPLACED, B_DROPPED, D_GONE]


def test_rows_are_told_apart_by_their_presentation():
    assert [sorted(exchanges(one)) for one in SHOWN] == [
        ["replaced"],
        ["dropped"],
        ["dropped", "replaced"],
    ]
    # The canonical row, a whole slate, a shuffled one, two who went, an inner place.
    for other in (
        shown((0, 1, 2, 3), (4,)),
        shown((0, 1, 2, 3, 4), ()),
        shown((2, 4, 0, 3), (1,)),
        shown((0, 4, 2), (1, 3)),
        shown((4, 0, 2, 3), (1,)),
    ):
        assert exchanges(other) == frozenset()


def test_pool_psi_by_hand():
    # Both: (1/3 + 0 + 1/6) / 3 = 1/6. Replaced: rows 1 and 3, 1/4. Dropped: rows 2 and 3, 1/12.
    assert pool_psi(ROWS, CANONICAL, SHOWN) == pytest.approx(1 / 6)
    assert pool_psi(ROWS, CANONICAL, SHOWN, "replaced") == pytest.approx(1 / 4)
    assert pool_psi(ROWS, CANONICAL, SHOWN, "dropped") == pytest.approx(1 / 12)


def test_pool_psi_is_undefined_without_exchanges():
    whole = [Presentation((0, 1), ((0, 1),))]
    assert np.isnan(pool_psi([[1.0, 2.0]], [1.0, 2.0], whole))
    # Two members and a reserve: one survivor has no pair.
    assert np.isnan(pool_psi([[1.0, NAN, 2.0]], [1.0, 2.0, NAN], [shown((0, 2), (1,))]))
    with pytest.raises(UsageError, match="unknown kind 'swapped'; known are"):
        pool_psi(ROWS, CANONICAL, SHOWN, "swapped")
    with pytest.raises(UsageError, match="1 presentations for 3 rows"):
        pool_psi(ROWS, CANONICAL, SHOWN[:1])


def test_canonical_psi_is_the_mean_of_kendall_distances():
    rng = np.random.default_rng(3)
    rows, base = rng.random((6, 8)), rng.random(8)
    expected = [(1 - stats.kendalltau(row, base).statistic) / 2 for row in rows]
    assert canonical_psi(rows, base) == pytest.approx(np.mean(expected))
    assert np.isnan(canonical_psi(np.empty((0, 8)), base))
    with pytest.raises(UsageError, match=r"of shape \(2,\) for 8 candidates"):
        canonical_psi(rows, [1.0, 2.0])


def test_score_change_by_hand():
    # Row 1: a 0, c .5, d .1: .2. Row 2: a .1, c .1, d 0: .0667. Row 3: a 0, b 0, c .1: .0333.
    assert score_change(ROWS, CANONICAL) == pytest.approx((0.2 + 0.2 / 3 + 0.1 / 3) / 3)
    # A row of which nothing is known counts for nothing.
    assert score_change([*ROWS, [NAN] * 5], CANONICAL) == score_change(ROWS, CANONICAL)
    assert np.isnan(score_change([[1.0]], [2.0]))


def test_retained_delta_by_hand():
    # At .5 the canonical row keeps a, b, c. Row 1: a 0, c .5: .25. Row 2: .1, .1. Row 3: 0, 0, .1.
    expected = (0.25 + 0.1 + 0.1 / 3) / 3
    assert retained_delta(ROWS, CANONICAL, 0.5) == pytest.approx(expected)
    assert np.isnan(retained_delta(ROWS, CANONICAL, 2.0))


def test_top_set_flip_by_hand():
    ties = np.arange(5)
    # Top 2 of the survivors. Row 1: canonical a c, now a d: flip. Row 2: a c, a c. Row 3: canonical
    # a b; now b and c tie at .6 and the tie goes to b: no flip.
    assert top_set_flip(ROWS, CANONICAL, ties, k=2) == pytest.approx(1 / 3)
    # With the tie the other way, c takes b's place.
    assert top_set_flip(ROWS, CANONICAL, ties[::-1], k=2) == pytest.approx(2 / 3)
    # Three survivors, three places: no set could differ.
    assert np.isnan(top_set_flip(ROWS, CANONICAL, ties, k=3))
    with pytest.raises(UsageError, match="k of a top set must be at least 1"):
        top_set_flip(ROWS, CANONICAL, ties, k=0)


def test_top_set_flip_against_sorting():
    rng = np.random.default_rng(4)
    rows, base = rng.random((9, 30)), rng.random(30)
    rows[::2] = base
    naive = [set(np.argsort(-row)[:10]) != set(np.argsort(-base)[:10]) for row in rows]
    assert top_set_flip(rows, base, np.arange(30)) == pytest.approx(np.mean(naive))
