import itertools

import numpy as np
import pytest
from scipy import stats

from evenhand.measure.resample import bootstrap_differences, bootstrap_p, sign_flip_p

ONE = np.zeros(40, dtype=int)


def two_systems(n=40, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.beta(2, 5, n)
    return a, np.clip(a + rng.normal(0.03, 0.1, n), 0, 1)


def test_equals_scipys_paired_bootstrap():
    a, b = two_systems()
    found = np.quantile(bootstrap_differences(a[None], b[None], ONE, draws=20_000), [0.025, 0.975])
    theirs = stats.bootstrap(
        (a, b),
        lambda x, y, axis: np.mean(y, axis=axis) - np.mean(x, axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=20_000,
        method="percentile",
        rng=np.random.default_rng(1),
    ).confidence_interval
    # Two sets of draws: bounds differ by a few hundredths of the interval.
    assert found == pytest.approx(list(theirs), abs=0.04 * (theirs.high - theirs.low))


def test_two_slates_by_hand():
    # Differences 0 and 1: means 0, .5, 1 with chances 1/4, 1/2, 1/4.
    drawn = bootstrap_differences(np.zeros((1, 2)), np.array([[0.0, 1.0]]), ONE[:2], draws=40_000)
    shares = [float(np.mean(drawn == level)) for level in (0.0, 0.5, 1.0)]
    assert shares == pytest.approx([0.25, 0.5, 0.25], abs=0.01)


def test_few_collections_are_all_taken_and_count_the_same():
    # Slates of a collection are alike: nothing moves, whatever the sizes. (0 + 3) / 2.
    b = np.array([[0.0, 0.0, 0.0, 3.0]])
    drawn = bootstrap_differences(np.zeros((1, 4)), b, np.array([0, 0, 0, 1]), draws=200)
    assert set(drawn) == {1.5}


def test_many_collections_are_drawn_too():
    # 6 collections of 2 equal slates, differences 0..5: the mean of 6 draws of 0..5 has
    # mean 2.5 and variance (35/12) / 6.
    b = np.repeat(np.arange(6.0), 2)[None]
    drawn = bootstrap_differences(np.zeros((1, 12)), b, np.repeat(np.arange(6), 2), draws=40_000)
    assert drawn.mean() == pytest.approx(2.5, abs=0.02)
    assert drawn.var() == pytest.approx(35 / 72, rel=0.03)


def test_hierarchical_draws_have_the_spread_of_a_plain_loop():
    rng = np.random.default_rng(5)
    codes = np.repeat(np.arange(6), [3, 5, 4, 8, 2, 6])
    d = rng.normal(codes / 4, 1.0)
    groups = [d[codes == k] for k in range(6)]
    plain = [
        np.mean([rng.choice(groups[k], len(groups[k])).mean() for k in rng.integers(0, 6, 6)])
        for _ in range(5000)
    ]
    drawn = bootstrap_differences(np.zeros((1, len(d))), d[None], codes, draws=40_000)
    assert drawn.mean() == pytest.approx(np.mean(plain), abs=0.02)
    assert drawn.std() == pytest.approx(np.std(plain), rel=0.05)


def test_seeds_are_drawn_of_each_system_that_has_two():
    # Slates alike; b has seeds 0 and 2: their mean is 0, 1, 2 with chances 1/4, 1/2, 1/4.
    b = np.array([[0.0, 0.0, 0.0], [2.0, 2.0, 2.0]])
    drawn = bootstrap_differences(np.zeros((1, 3)), b, ONE[:3], draws=40_000)
    shares = [float(np.mean(drawn == level)) for level in (0.0, 1.0, 2.0)]
    assert shares == pytest.approx([0.25, 0.5, 0.25], abs=0.01)


def test_a_draw_takes_the_same_slates_of_both_systems():
    # With seeds the two are resampled as two lines; equal slate effects must cancel.
    effects = np.array([0.0, 8.0, 64.0, 512.0])
    a, b = effects[None], np.array([effects + 1, effects + 1])
    assert set(bootstrap_differences(a, b, ONE[:4], draws=300)) == {1.0}


def test_blocks_of_draws_are_all_there():
    # 3,000 slates take several blocks; sd of a mean is sd / sqrt(n).
    d = np.random.default_rng(2).normal(size=3000)
    drawn = bootstrap_differences(np.zeros((1, 3000)), d[None], np.zeros(3000, dtype=int), draws=3000)
    assert drawn.shape == (3000,)
    assert drawn.std() == pytest.approx(d.std() / np.sqrt(3000), rel=0.1)


def test_bootstrap_p_by_hand():
    # 1 of 9 draws is on the rarer side: 2 (1 + 1) / (9 + 1).
    assert bootstrap_p([-1, 1, 2, 3, 4, 5, 6, 7, 8]) == pytest.approx(0.4)
    assert bootstrap_p([1.0] * 99) == pytest.approx(2 / 100)
    # All draws 0: 2 (1 + 9) / 10 is cut to 1.
    assert bootstrap_p([0.0] * 9) == 1.0


def test_sign_flips_by_hand():
    # 8 flips of (1, 2, 3): sums +-6, +-4, +-2, 0, 0; two are as far as 6.
    assert sign_flip_p([1.0, 2.0, 3.0]) == (0.25, True)
    # 1 + 2 - 3 = 0: every flip is as far.
    assert sign_flip_p([1.0, 2.0, -3.0]) == (1.0, True)
    assert sign_flip_p([0.0, 0.0]) == (1.0, True)


def test_zeros_do_not_change_the_permutation_p():
    assert sign_flip_p([1.0, 2.0, 3.0] + [0.0] * 50) == (0.25, True)


@pytest.mark.parametrize("n", [5, 10])
def test_exact_flips_equal_scipys(n):
    a, b = two_systems(n, seed=n)
    theirs = stats.permutation_test(
        (a, b),
        lambda x, y: np.mean(y - x),
        permutation_type="samples",
        vectorized=False,
        n_resamples=np.inf,
    )
    assert sign_flip_p((b - a) / n) == (pytest.approx(theirs.pvalue), True)


def test_float_noise_does_not_hide_the_observed_flip():
    # In some order of adding, .1 + .2 + .3 + .7 falls below its own mirror: still 2 of 16.
    for order in itertools.permutations((0.1, 0.2, 0.3, 0.7)):
        assert sign_flip_p(np.array(order) / 3)[0] == 2 / 16


def test_drawn_flips_are_near_the_exact_share():
    # 16 units are all looked at; one tiny further unit makes them drawn and changes little.
    units = np.random.default_rng(3).normal(0.3, 1, 16)
    exact, yes = sign_flip_p(units)
    drawn, no = sign_flip_p(np.append(units, 1e-9), draws=40_000)
    assert (yes, no) == (True, False)
    assert drawn == pytest.approx(exact, abs=0.01)
    assert sign_flip_p(np.ones(40), draws=99)[0] == pytest.approx(1 / 100)


def test_seed_decides():
    a, b = two_systems()
    one, again, other = (
        bootstrap_differences(a[None], b[None], ONE, draws=50, seed=s) for s in (1, 1, 2)
    )
    assert (one == again).all()
    assert (one != other).any()
