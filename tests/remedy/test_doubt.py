import math

import numpy as np
import pytest
from scipy import integrate, stats

from evenhand.remedy.doubt import (
    Evidence,
    Prior,
    Spread,
    believed,
    between_levels,
    drawn_flips,
    fit_prior,
    fit_spread,
    least_variance,
    threshold_flips,
    weigh,
)
from evenhand.remedy.rules import Rule
from evenhand.remedy.spending import looks

FLAT = Spread(0.0, math.inf, 0.0, 4)


def evidence(mean, sd, shows, df=1e6):
    mean = np.asarray(mean, dtype=float)
    sd, shows, df = (np.full(mean.shape, float(x)) for x in (sd, shows, df))
    return Evidence(mean, sd, sd / np.sqrt(shows), df, shows)


def test_prior_by_hand():
    # One degree of freedom: m = 1, q = 64/8 = 8, R = 8 / 1 / 3 = 8/3,
    # d0 = (32/3 - 2) / (5/3) = 5.2, s0^2 = 3.2 / 5.2.
    found = fit_prior(np.array([0.0] * 7 + [8, np.nan]), 1)
    assert found.df == pytest.approx(5.2)
    assert found.variance == pytest.approx(3.2 / 5.2)


def test_equal_variances_share_one():
    assert fit_prior(np.array([0.2, 0.2, 0.2]), 3) == Prior(pytest.approx(0.2), math.inf)
    assert fit_prior(np.zeros(5), 1) == Prior(0.0, math.inf)
    assert fit_prior(np.zeros(5), 1, 0.01) == Prior(0.01, math.inf)
    assert fit_prior(np.array([np.nan]), 1) == Prior(0.0, math.inf)


def test_prior_finds_what_was_planted():
    # d0 = 10, s0^2 = 2: sigma^2 = 20 / chi2(10), s^2 = sigma^2 chi2(3) / 3.
    rng = np.random.default_rng(1)
    sigma = 20 / rng.chisquare(10, 200_000)
    found = fit_prior(sigma * rng.chisquare(3, sigma.shape) / 3, 3)
    assert found.variance == pytest.approx(2, rel=0.02)
    assert found.df == pytest.approx(10, rel=0.15)


def test_least_variance_by_hand():
    # Smallest step .1; 2 candidates, 3 rows: .01 / 2 / (2 * 2 + 1) = .001.
    assert least_variance(np.array([[0.1, 0.5], [0.2, 0.5], [0.1, 0.5]])) == pytest.approx(0.001)
    assert least_variance(np.full((2, 3), 0.5)) == 0
    assert least_variance(np.full((2, 3), np.nan)) == 0


def test_shrunk_standard_deviations_by_hand():
    # Candidate 0: scores 0, 2: mean 1, squares 2, d = 1; prior d0 = 5, s0^2 = .4:
    # (5 * .4 + 2) / 6 = 2/3. Candidate 1: three scores of 1: (2 + 0) / 7. Candidate 2: none.
    values = np.array([[0, 1, np.nan], [2, 1, np.nan], [np.nan, 1, np.nan]])
    found = weigh(values, Prior(0.4, 5.0), 100)
    np.testing.assert_allclose(found.mean, [1, 1, np.nan])
    np.testing.assert_allclose(found.sd**2, [2 / 3, 2 / 7, 2 / 5])
    np.testing.assert_allclose(found.error[:2], [math.sqrt(2 / 3 / 2), math.sqrt(2 / 7 / 3)])
    np.testing.assert_allclose(found.df, [6, 7, 5])
    np.testing.assert_array_equal(found.shows, [2, 3, 0])
    # Never more degrees of freedom than the slate has; one variance for all under d0 = inf.
    assert weigh(values, Prior(0.4, math.inf), 3).df.tolist() == [3, 3, 3]
    np.testing.assert_allclose(weigh(values, Prior(0.4, math.inf), 3).sd ** 2, 0.4)


def test_shrinkage_beside_scipy():
    # The shrunk variance is the inverse mean precision of the inverse-gamma posterior.
    d0, s0, d, s = 5.0, 0.4, 3, 0.9
    posterior = stats.gamma((d0 + d) / 2, scale=2 / (d0 * s0 + d * s))
    values = np.array([[-1.0], [1.0], [1.0], [-1.0]]) * math.sqrt(s * 3 / 4)
    assert weigh(values, Prior(s0, d0), 99).sd[0] ** 2 == pytest.approx(1 / posterior.mean())


def test_spread_by_hand():
    # Variance of 0, 1, 2, 3 is 5/3; each has error^2 .5, and .5 (1 + sqrt(2/3)) = .908248 by chance.
    found = fit_spread(evidence([0, 1, 2, 3], 1.0, 2))
    assert (found.centre, found.variance) == (1.5, pytest.approx(5 / 3 - 0.908248))
    assert fit_spread(evidence([0, 1, 2, 3], 9.0, 2)).variance == 0
    assert fit_spread(evidence([0, 1, 2], 1.0, 2)).variance == math.inf


def test_believed_by_hand():
    # Spread 3, error^2 1: w = .75; mean .75 * 4 + .25 * 0; variance .75 + .0625 * (3 + 1) / 4.
    mean, variance = believed(evidence([4.0], 1.0, 1), Spread(0.0, 3.0, 1.0, 4))
    assert (mean[0], variance[0]) == (3.0, pytest.approx(0.75 + 0.0625))
    mean, variance = believed(evidence([4.0], 1.0, 1), FLAT)
    assert (mean[0], variance[0]) == (4.0, 1.0)


def test_single_flip_by_hand():
    # Mean .6, sd .1, 4 shows, nothing known of the slate: a further score has variance .01 + .0025,
    # so it is under .5 with Phi(-.1 / .111803) = Phi(-.894427) = .185547.
    _, single = threshold_flips(
        0.5, evidence([0.6, 0.4], 0.1, 4), FLAT, looks(2, 4, 0.2), single_threshold=0.5, extra=0.0
    )
    np.testing.assert_allclose(single, 0.185547, atol=1e-5)
    # Companions add variance .0175: Phi(-.1 / sqrt(.03)) = Phi(-.577350) = .281851.
    _, single = threshold_flips(
        0.5, evidence([0.6], 0.1, 4), FLAT, looks(2, 4, 0.2), single_threshold=0.5, extra=0.0175
    )
    np.testing.assert_allclose(single, 0.281851, atol=1e-5)


def test_flip_again_beside_an_integral():
    plan = looks(2, 6, 0.3)
    again, _ = threshold_flips(
        0.5, evidence([0.56], 0.1, 5, df=7), FLAT, plan, single_threshold=0.5, extra=0.0
    )

    u = np.linspace(-30, 30, 60_001)
    delta = (0.56 + u * 0.1 / math.sqrt(5) - 0.5) / 0.1
    expected = integrate.trapezoid(stats.t.pdf(u, 7) * plan.below(delta), u)
    assert again[0] == pytest.approx(expected, abs=2e-3)


def test_flips_where_nothing_moves_or_is_missing():
    again, single = threshold_flips(
        0.5, evidence([0.5, 0.9, 0.1, np.nan], 0.0, 2), FLAT, looks(2, 6, 0.3),
        single_threshold=0.5, extra=0.0,
    )  # fmt: skip
    np.testing.assert_array_equal(again, [0, 0, 0, np.nan])
    np.testing.assert_array_equal(single, [0, 0, 0, np.nan])


def test_levels():
    # Seven scores on three levels: between .5 and .25. Distinct scores: the threshold itself.
    coarse = np.array([0.25, 0.25, 0.5, 0.5, 0.75, 0.5, 0.75, np.nan])
    assert between_levels(coarse, 0.5) == 0.375
    assert between_levels(coarse, 0.9) == 0.9
    assert between_levels(np.array([0.1, 0.2, 0.7]), 0.5) == 0.5


def test_drawn_flips_beside_the_closed_form():
    found = evidence([0.6, 0.45, 0.2, np.nan], 0.1, 4, df=8)
    rng = np.random.default_rng(0)
    ties = np.arange(4)
    again, single = drawn_flips(Rule(threshold=0.5), found, FLAT, ties, rng, extra=0.0)
    # A mean and an independent one of the same shows differ by t-like noise of variance 2 error^2.
    draws = 0.05 * (stats.t(8).rvs(200_000, random_state=1) + rng.standard_normal(200_000))
    assert again[0] == pytest.approx((draws < -0.1).mean(), abs=0.02)
    assert single[2] == pytest.approx(0.0, abs=0.01)
    assert np.isnan(again[3])
    assert np.isnan(single[3])


def test_drawn_flips_of_the_top():
    # Two equal candidates for one place, a third far below: each of the two flips half the time.
    again, single = drawn_flips(
        Rule(top=1), evidence([0.6, 0.6, 0.0], 0.01, 4), FLAT, np.arange(3),
        np.random.default_rng(0), extra=0.0,
    )  # fmt: skip
    np.testing.assert_allclose(again, [0.5, 0.5, 0], atol=0.05)
    np.testing.assert_allclose(single, [0.5, 0.5, 0], atol=0.05)
