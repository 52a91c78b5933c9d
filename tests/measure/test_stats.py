import math

import numpy as np
import pytest
from scipy import stats

from evenhand.errors import UsageError
from evenhand.measure import stats as measure_stats
from evenhand.measure.stats import bootstrap_means, estimate, estimates
from evenhand.types import Estimate

NAN = float("nan")


def test_equals_scipys_percentile_bootstrap():
    values = np.random.default_rng(0).beta(2, 5, 80)
    found = estimate(values, draws=20_000)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    # Two sets of draws: bounds differ by a few hundredths of the interval.
    width = theirs.high - theirs.low
    assert found.low == pytest.approx(theirs.low, abs=0.04 * width)
    assert found.high == pytest.approx(theirs.high, abs=0.04 * width)
    assert found.mean == pytest.approx(values.mean())


def test_two_slates_by_hand():
    # Means of two draws from {0, 1}: 0, .5, 1 with chances 1/4, 1/2, 1/4.
    means = bootstrap_means([0.0, 1.0], draws=40_000)
    shares = [float(np.mean(means == level)) for level in (0.0, 0.5, 1.0)]
    assert shares == pytest.approx([0.25, 0.5, 0.25], abs=0.01)
    assert estimate([0.0, 1.0], level=0.4).low == 0.5 == estimate([0.0, 1.0], level=0.4).high
    assert (estimate([0.0, 1.0]).low, estimate([0.0, 1.0]).high) == (0.0, 1.0)


def test_blocks_of_draws_are_all_there():
    # 3,000 slates need 5 blocks for 3,000 draws; sd of a mean is sd / sqrt(3000).
    values = np.random.default_rng(2).normal(size=3000)
    means = bootstrap_means(values, draws=3000)
    assert means.shape == (3000,)
    assert means.std() == pytest.approx(values.std() / math.sqrt(3000), rel=0.1)


def test_seed_decides():
    values = np.random.default_rng(3).random(30)
    assert estimate(values, seed=1) == estimate(values, seed=1)
    assert estimate(values, seed=1) != estimate(values, seed=2)


def test_undefined_values_are_counted_and_left_out():
    values = [0.25, NAN, 0.75, NAN, NAN]
    found = estimate(values)
    assert (found.mean, found.n, found.undefined) == (0.5, 2, 3)
    assert (found.low, found.high) == (estimate([0.25, 0.75]).low, estimate([0.25, 0.75]).high)


def test_too_few_values_have_no_interval():
    one = estimate([0.3, NAN])
    assert (one.mean, one.n, one.undefined) == (0.3, 1, 1)
    assert math.isnan(one.low)
    assert math.isnan(one.high)
    none = estimate([NAN, NAN])
    assert math.isnan(none.mean)
    assert (none.n, none.undefined) == (0, 2)
    assert estimate([]).n == 0


def test_equal_values_give_exactly_that():
    assert estimate([0.1] * 10) == Estimate(0.1, 0.1, 0.1, 10, 0, 0.95)


def test_no_mean_leaves_the_range_of_the_values():
    # (0 - 1/3) + 1/3 and the like: the last digit of a mean must not fall below 0 or above 1.
    few = [1 / 3, 0.0, 0.0, 0.0, 2 / 3, 0.0, 0.0, 1 / 3, 0.0, 0.0]
    for values in (few, [1 - value for value in few]):
        means = bootstrap_means(values, draws=5000)
        assert 0 <= means.min() <= means.max() <= 1
    assert estimate(few).low == 0.0


def test_wrong_use_is_refused():
    with pytest.raises(UsageError, match=r"one value per slate, got shape \(1, 2\)"):
        estimate([[1.0, 2.0]])
    with pytest.raises(UsageError, match="draws must be at least 1, a whole number, got 0"):
        estimate([1.0], draws=0)
    with pytest.raises(UsageError, match="level must lie between 0 and 1, got 1"):
        estimate([1.0], level=1)


def test_many_estimates_equal_one_by_one():
    rng = np.random.default_rng(0)
    columns = [
        rng.random(40),
        np.where(rng.random(40) < 0.3, NAN, 1.0),
        np.full(40, NAN),
        rng.random(3),
    ]
    columns.append(np.array([NAN] * 39 + [0.5]))
    found = estimates(columns, draws=500, seed=3)
    for one, values in zip(found, columns, strict=True):
        alone = estimate(values, draws=500, seed=3)
        assert repr(one) == repr(alone)
    assert estimates([]) == []


def test_one_draw_serves_all_measures_of_a_run(monkeypatch):
    drawn = []
    real = measure_stats.generator
    monkeypatch.setattr(measure_stats, "generator", lambda *a: drawn.append(a) or real(*a))
    estimates([np.arange(9.0), np.arange(9.0) ** 2, np.arange(4.0)], draws=100)
    assert len(drawn) == 2
