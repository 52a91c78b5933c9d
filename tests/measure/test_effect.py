import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import NormalIndPower

from evenhand.measure.effect import (
    cohens_dz,
    detectable,
    paired_differences,
    rank_biserial,
    weighted_mean,
    weights_of,
)

Z = 1.959964 + 0.841621


def of_one(differences):
    d = np.asarray(differences, dtype=float)
    return np.zeros((1, len(d))), d[None], np.zeros(len(d), dtype=int)


def test_float_noise_is_no_difference():
    # .1 + .2 is not .3 in floats.
    a, b = np.array([[0.1 + 0.2, 0.5]]), np.array([[0.3, 0.25]])
    assert paired_differences(a, b).tolist() == [0.0, -0.25]


def test_differences_are_of_the_means_over_seeds():
    a, b = np.array([[1.0, 2.0], [3.0, 2.0]]), np.array([[5.0, 1.0]])
    assert paired_differences(a, b).tolist() == [3.0, -1.0]


def test_every_collection_counts_the_same():
    # Collection 0 has two slates: 1/4 each; collection 1 has one: 1/2.
    weights = weights_of(np.array([0, 0, 1]))
    assert weights.tolist() == [0.25, 0.25, 0.5]
    assert weighted_mean(np.array([1.0, 3.0, 10.0]), weights) == 6.0
    assert math.isnan(weighted_mean(np.array([]), np.array([])))


def test_cohens_dz_by_hand():
    # Mean 2, squares 1 + 0 + 1 over n - 1 = 2: sd 1.
    assert cohens_dz(np.array([1.0, 2.0, 3.0]), np.zeros(3, dtype=int)) == pytest.approx(2.0)


def test_cohens_dz_is_the_paired_t_over_root_n():
    d = np.random.default_rng(0).normal(0.2, 1, 30)
    t = stats.ttest_1samp(d, 0).statistic
    assert cohens_dz(d, np.zeros(30, dtype=int)) == pytest.approx(t / math.sqrt(30))


def test_cohens_dz_at_the_edges():
    codes = np.zeros(2, dtype=int)
    assert cohens_dz(np.array([0.0, 0.0]), codes) == 0.0
    assert math.isnan(cohens_dz(np.array([0.1, 0.1]), codes))
    assert math.isnan(cohens_dz(np.array([0.1]), codes[:1]))


def test_rank_biserial_by_hand():
    # Sizes 1, 2, 3, ranks 1, 2, 3: (2 + 3 - 1) / 6. Zeros have no rank.
    assert rank_biserial(np.array([-1.0, 2.0, 3.0, 0.0])) == pytest.approx(4 / 6)
    # Equal sizes share rank 1.5 each.
    assert rank_biserial(np.array([1.0, -1.0])) == 0.0
    assert rank_biserial(np.array([0.2, 0.1])) == 1.0
    assert rank_biserial(np.array([0.0, 0.0])) == 0.0
    assert math.isnan(rank_biserial(np.array([])))


def test_rank_biserial_is_wilcoxons_statistic():
    d = np.random.default_rng(1).normal(0.2, 1, 25)
    # scipy gives W, the rank sum of the positive: r = (W - (T - W)) / T, T = n (n + 1) / 2.
    w = stats.wilcoxon(d, alternative="greater").statistic
    total = 25 * 26 / 2
    assert rank_biserial(d) == pytest.approx((2 * w - total) / total)


def test_rank_biserial_does_not_hang_on_last_digits():
    # .3 - .2 and .2 - .1 differ in the last digit, and so would their ranks.
    assert rank_biserial(np.array([0.3 - 0.2, -(0.2 - 0.1)])) == 0.0


def test_detectable_by_hand():
    # sd of (0, 2) is sqrt(2), se sqrt(2) / sqrt(2) = 1.
    assert detectable(*of_one([0.0, 2.0])) == pytest.approx(Z, abs=1e-5)


def test_detectable_is_statsmodels_power_of_one_sample():
    d = np.random.default_rng(2).normal(0, 0.3, 50)
    size = NormalIndPower().solve_power(nobs1=50, ratio=0, alpha=0.05, power=0.8)
    # Theirs counts the far tail as well; it is below 1e-5.
    assert detectable(*of_one(d)) == pytest.approx(size * d.std(ddof=1), rel=1e-4)


def test_detectable_of_collections():
    # Two: variances 2 / 2 = 1 and 8 / 2 = 4; se^2 = (1 + 4) / 2^2.
    a, b, _ = of_one([0.0, 2.0, 0.0, 4.0])
    assert detectable(a, b, np.array([0, 0, 1, 1])) == pytest.approx(Z * math.sqrt(1.25), abs=1e-5)
    # Six of one slate each, 0..5: variance 3.5 of the means, over 6.
    a, b, _ = of_one(np.arange(6.0))
    assert detectable(a, b, np.arange(6)) == pytest.approx(Z * math.sqrt(3.5 / 6), abs=1e-5)


def test_seeds_add_their_variance():
    # Slates alike; seed means 0 and 2 have variance 2, over two seeds 1.
    b = np.array([[0.0, 0.0], [2.0, 2.0]])
    assert detectable(np.zeros((1, 2)), b, np.zeros(2, dtype=int)) == pytest.approx(Z, abs=1e-5)


def test_detectable_needs_two_slates():
    assert math.isnan(detectable(*of_one([1.0])))
    a, b, _ = of_one([0.0, 1.0, 2.0])
    assert math.isnan(detectable(a, b, np.array([0, 0, 1])))
