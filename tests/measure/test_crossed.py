import math

import numpy as np
import pytest
import scipy.stats

from evenhand.errors import UsageError
from evenhand.measure.crossed import Components, components, pooled, ratio_estimate

NAN = float("nan")

# One candidate: two partitions, two inner orders of each, two readings of each.
CELLS = np.array([[[0, 2], [4, 6]], [[10, 10], [12, 16]]], dtype=float)[..., None]


def naive(cells):
    """The three mean squares of one candidate, by loops."""
    c, r, k = cells.shape
    grand = sum(cells.ravel()) / (c * r * k)
    noise = inner = outer = 0.0
    for partition in cells:
        mean = sum(partition.ravel()) / (r * k)
        outer += r * k * (mean - grand) ** 2
        for order in partition:
            middle = sum(order) / k
            inner += k * (middle - mean) ** 2
            noise += sum((value - middle) ** 2 for value in order)
    return outer / (c - 1), inner / (c * (r - 1)), noise / (c * r * (k - 1))


def test_by_hand():
    # Means of the orders 1, 5, 10, 14; of the partitions 3, 12; of all 7.5.
    # Noise (1+1 + 1+1 + 0 + 4+4) / 4 = 3.
    # Orders 2 * (4 * 2^2) / 2 = 16, so (16 - 3) / 2 = 6.5.
    # Partitions 4 * (2 * 4.5^2) / 1 = 162, so (162 - 16) / 4 = 36.5.
    found = components(CELLS)
    assert (found.companions, found.order, found.noise) == pytest.approx((36.5, 6.5, 3))
    assert found.total == pytest.approx(46)
    assert (found.candidates, found.left_out) == (1, 0)


def test_against_loops():
    cells = np.random.default_rng(0).normal(size=(4, 3, 2, 5))
    squares = np.array([naive(cells[..., i]) for i in range(5)])
    outer, inner, noise = squares.mean(axis=0)
    found = components(cells)
    assert found.noise == pytest.approx(noise)
    assert found.order == pytest.approx((inner - noise) / 2)
    assert found.companions == pytest.approx((outer - inner) / 6)


def test_the_f_ratio_of_the_orders_is_scipys():
    cells = np.random.default_rng(1).normal(size=(2, 3, 4, 1))
    one = cells[:1]
    # Of one partition alone: the ratio of the mean squares of orders and noise.
    expected = scipy.stats.f_oneway(*one[0, :, :, 0]).statistic
    _, inner, noise = naive(np.concatenate([one, one])[..., 0])
    assert inner / noise == pytest.approx(expected)
    found = components(np.concatenate([one, one]))
    assert (found.order * 4 + found.noise) / found.noise == pytest.approx(expected)


def test_unbiased_and_negative_where_nothing_is():
    rng = np.random.default_rng(2)
    shape = (3, 2, 2, 20_000)
    cells = (
        rng.normal(size=(3, 1, 1, shape[3])) * 2.0
        + rng.exponential(size=(3, 2, 1, shape[3]))
        + rng.normal(size=shape) * 0.5
    )
    found = components(cells)
    # Variances 4, 1 (of the exponential), .25; standard errors about .05, .02, .003.
    assert found.companions == pytest.approx(4, abs=0.15)
    assert found.order == pytest.approx(1, abs=0.06)
    assert found.noise == pytest.approx(0.25, abs=0.01)
    single = [components(rng.normal(size=(3, 2, 2, 1))).companions for _ in range(400)]
    assert abs(np.mean(single)) < 4 * np.std(single) / 20
    assert 0.3 < np.mean(np.array(single) < 0) < 0.8


def test_what_does_not_move_is_exactly_zero():
    found = components(np.full((3, 2, 2, 4), 0.1))
    assert (found.companions, found.order, found.noise) == (0, 0, 0)
    steady = np.broadcast_to(np.random.default_rng(3).random((3, 2, 1, 4)), (3, 2, 2, 4))
    assert components(steady).noise == 0


def test_missing_scores():
    cells = np.random.default_rng(4).random((4, 2, 2, 3))
    one = cells.copy()
    one[1, 0, 1, 2] = NAN
    found = components(one)
    assert (found.candidates, found.left_out) == (2, 1)
    assert found.total == pytest.approx(components(cells[..., :2]).total)
    # A presentation without any score takes its partition with it.
    lost = cells.copy()
    lost[2, 1, 0] = NAN
    assert components(lost) == components(cells[[0, 1, 3]])
    for undefined in (np.full_like(cells, NAN), cells[:1], cells[..., :0]):
        assert math.isnan(components(undefined).total)
        assert components(undefined).candidates == 0


@pytest.mark.parametrize("shape", [(2, 2, 2), (3, 1, 2, 4), (3, 2, 1, 4)])
def test_too_little_design_is_refused(shape):
    with pytest.raises(UsageError, match="at least 2 inner orders and 2 repeats"):
        components(np.zeros(shape))


def test_pooled_shares_are_ratios_of_means():
    parts = [Components(3, 1, 0, 5), Components(0, 0, 1, 5), Components(NAN, NAN, NAN, 0)]
    found = pooled(parts)
    # Mean components 1.5, .5, .5 of a mean total 2.5; shares slate by slate would give .375.
    assert found.companions_share.mean == pytest.approx(0.6)
    assert found.order_share.mean == pytest.approx(0.2)
    assert found.noise_share.mean == pytest.approx(0.2)
    assert found.total.mean == pytest.approx(2.5)
    assert (found.total.n, found.total.undefined) == (2, 1)
    assert (found.noise_share.n, found.noise_share.undefined) == (2, 1)


def test_negative_estimates_stay_in_the_mean():
    found = pooled([Components(-1, 2, 1, 5), Components(1, 2, 1, 5)])
    assert found.companions.mean == 0
    assert found.companions.low < 0


def test_ratio_interval_against_scipy():
    rng = np.random.default_rng(5)
    below = rng.gamma(4, size=80)
    above = below * rng.random(80)
    found = ratio_estimate(above, below)

    def ratio(a, b, axis=-1):
        return a.mean(axis=axis) / b.mean(axis=axis)

    other = scipy.stats.bootstrap(
        (above, below), ratio, paired=True, vectorized=True, method="percentile", rng=rng
    ).confidence_interval
    assert found.mean == pytest.approx(ratio(above, below))
    assert found.low == pytest.approx(other.low, abs=0.01)
    assert found.high == pytest.approx(other.high, abs=0.01)


def test_ratio_of_nothing():
    assert math.isnan(ratio_estimate([1.0, 2.0], [0.0, 0.0]).mean)
    assert ratio_estimate([NAN], [1.0]).undefined == 1
    one = ratio_estimate([1.0], [4.0])
    assert (one.mean, one.n) == (0.25, 1)
    assert math.isnan(one.low)
    # Some bootstrap samples hold the second slate alone: no interval can be given.
    assert math.isnan(ratio_estimate([1.0, 0.0], [4.0, 0.0]).low)
    with pytest.raises(UsageError, match="one pair per slate"):
        ratio_estimate([1.0], [1.0, 2.0])
    with pytest.raises(UsageError, match="level"):
        ratio_estimate([1.0], [1.0], level=1.0)
