import numpy as np
import pytest
from scipy import stats

from evenhand.errors import UsageError
from evenhand.remedy.spending import LEAST_ALPHA, looks, spending


def test_spending_by_hand():
    # At u = .5: .05 ln(1 + 1.7182818 * .5) = .05 ln(1.8591409) = .05 * .6201145 = .0310057.
    assert spending(0.5, 0.05) == pytest.approx(0.0310057, abs=1e-7)
    # At 1 all is spent (ln e = 1), at 0 nothing.
    np.testing.assert_allclose(spending(np.array([0.0, 1.0]), 0.05), [0, 0.05])


def test_two_looks_as_published():
    # Pocock-type spending at alpha .05: limits 2.157 and 2.201 at fractions 1/2 and 1.
    np.testing.assert_allclose(stats.norm.isf(looks(1, 2, 0.05).levels / 2), [2.157, 2.201], atol=5e-4)


def test_five_looks_as_published():
    # The same at five equal steps: 2.438, 2.427, 2.410, 2.397, 2.386.
    limits = stats.norm.isf(looks(1, 5, 0.05).levels / 2)
    np.testing.assert_allclose(limits, [2.438, 2.427, 2.410, 2.397, 2.386], atol=6e-4)


def test_limits_beside_a_multivariate_normal():
    # Sums after 2, 3, 4 shows have covariance min(i, j); what stays inside all limits is 1 - alpha.
    found = looks(2, 4, 0.3)
    limits = stats.norm.isf(found.levels / 2) * np.sqrt([2, 3, 4])
    covariance = np.minimum.outer([2.0, 3, 4], [2.0, 3, 4])
    inside = stats.multivariate_normal(np.zeros(3), covariance)
    assert inside.cdf(limits, lower_limit=-limits) == pytest.approx(0.7, abs=2e-4)


def test_levels_stand_by_number_of_shows():
    found = looks(2, 4, 0.3)
    # None before the first look; beyond the last the last one's.
    np.testing.assert_allclose(
        found.level(np.array([0.0, 1, 2, 4, 9])), [0, 0, found.levels[0], *[found.levels[-1]] * 2]
    )


def test_below_beside_a_simulation():
    found = looks(2, 6, 0.3)
    rng = np.random.default_rng(0)
    limits = stats.norm.isf(found.levels / 2)
    for delta in (-0.5, 0.0, 0.8):
        sums = (rng.standard_normal((20000, 6)) + delta).cumsum(axis=1)[:, 1:]
        z = sums / np.sqrt(np.arange(2, 7))
        out = np.abs(z) > limits
        out[:, -1] = True
        end = z[np.arange(len(z)), out.argmax(axis=1)]
        # The standard error of a share of 20,000 is at most .0035.
        assert found.below(np.array(delta)) == pytest.approx((end < 0).mean(), abs=0.014)


def test_below_is_even_around_the_boundary():
    delta = np.array([[0.0, 0.3], [1.0, 4.0]])
    found = looks(2, 12, 0.3)
    np.testing.assert_allclose(found.below(delta) + found.below(-delta), 1, atol=1e-9)
    assert found.below(np.array(0.0)) == pytest.approx(0.5)
    assert found.below(np.array([12.0, -12.0])) == pytest.approx([0, 1], abs=1e-9)


def test_one_look_is_a_plain_mean():
    # Four shows, no further: P(mean of four below) = Phi(-sqrt(4) * .5) = Phi(-1) = .158655.
    assert looks(4, 4, 0.1).below(np.array(0.5)) == pytest.approx(0.158655, abs=1e-6)
    np.testing.assert_allclose(looks(4, 4, 0.1).levels, [0.1])


@pytest.mark.parametrize(
    ("first", "most", "alpha"), [(1, 3, LEAST_ALPHA), (2, 20, LEAST_ALPHA), (2, 50, 1e-5)]
)
def test_the_chance_of_an_outcome_is_one_at_all_ends(first, most, alpha):
    # Wide limits bend fast between nodes: with too few of them the chance would pass 1.
    found = looks(first, most, alpha)
    assert found.curve[0] == pytest.approx(1, abs=1e-9)
    assert found.curve[-1] == pytest.approx(0, abs=1e-9)
    assert found.below(np.array(0.0)) == pytest.approx(0.5, abs=1e-9)
    assert np.diff(found.curve).max() < 1e-9


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((0, 4, 0.1), "first must be at least 1"),
        ((4, 3, 0.1), r"most must be at least first \(4\), got 3"),
        ((2, 3, 0.0), "alpha must lie between 0 and 1, got 0.0"),
        ((2, 3, 1.0), "alpha must lie between 0 and 1"),
    ],
)
def test_refused(given, message):
    with pytest.raises(UsageError, match=message):
        looks(*given)
