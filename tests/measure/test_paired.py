import math

import numpy as np
import pytest
from scipy import stats

from evenhand.errors import UsageError
from evenhand.measure.paired import PairedOptions, paired

NAN = float("nan")
QUICK = PairedOptions(draws=2000)


def test_three_slates_by_hand():
    found = paired([0.5, 0.5, 0.5], [1.5, 2.5, 3.5], options=QUICK)
    # Differences 1, 2, 3: mean 2, sd 1, two of 8 sign flips are as far.
    assert (found.mean_a, found.mean_b, found.difference) == (0.5, 2.5, 2.0)
    assert (found.dz, found.rank_biserial) == (pytest.approx(2.0), 1.0)
    assert (found.p_permutation, found.exact) == (0.25, True)
    assert (found.p, found.test) == (0.25, "permutation")
    # All 2,000 draws are over 0.
    assert found.p_bootstrap == pytest.approx(2 / 2001)
    assert (found.low, found.high) == (1.0, 3.0)
    assert (found.n, found.missing, found.resampled, found.withheld) == (3, 0, "slates", "")


def test_interval_and_test_of_many_slates_are_scipys():
    rng = np.random.default_rng(4)
    a = rng.beta(2, 5, 60)
    b = np.clip(a + rng.normal(0.04, 0.15, 60), 0, 1)
    found = paired(a, b)
    difference = b - a
    theirs = stats.bootstrap(
        (difference,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    assert (found.low, found.high) == pytest.approx(list(theirs), abs=0.04 * (theirs.high - theirs.low))
    flips = stats.permutation_test(
        (a, b),
        lambda x, y, axis=-1: np.mean(y - x, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=20_000,
        rng=np.random.default_rng(2),
    )
    # Both p-values are shares of 20,000 draws: 3 sd of their difference are under .015.
    assert found.p_permutation == pytest.approx(flips.pvalue, abs=0.015)
    assert not found.exact
    assert (found.p, found.test) == (found.p_bootstrap, "bootstrap")
    # For slates that many the bootstrap's p is near that of a t-test.
    assert found.p == pytest.approx(stats.ttest_1samp(difference, 0).pvalue, abs=0.02)


def test_a_system_against_itself():
    values = np.random.default_rng(0).random(40)
    found = paired(values, values)
    assert (found.difference, found.low, found.high) == (0.0, 0.0, 0.0)
    assert (found.p, found.p_bootstrap, found.p_permutation) == (1.0, 1.0, 1.0)
    assert (found.dz, found.rank_biserial, found.detectable) == (0.0, 0.0, 0.0)


def test_swapping_the_systems_swaps_the_signs():
    a, b = np.random.default_rng(1).random((2, 30))
    one, other = paired(a, b, options=QUICK), paired(b, a, options=QUICK)
    assert one.difference == pytest.approx(-other.difference)
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))
    assert one.p == other.p
    assert one.dz == pytest.approx(-other.dz)


def test_a_missing_value_withholds_interval_and_p():
    found = paired([0.1, 0.2, NAN, 0.4], [0.2, 0.4, 0.6, 0.9], options=QUICK)
    assert (found.n, found.missing) == (3, 1)
    # Over the complete pairs: differences .1, .2, .5.
    assert found.difference == pytest.approx(0.8 / 3)
    for value in (found.low, found.high, found.p, found.p_bootstrap, found.p_permutation):
        assert math.isnan(value)
    assert math.isnan(found.detectable)
    assert (found.test, found.resampled) == ("", "")
    assert found.withheld == (
        "1 of 4 pairs lack a value, and no interval: more than the 0% allowed (max_missing)"
    )


def test_a_stated_share_may_be_missing_for_an_interval_but_never_for_a_p_value():
    a, b = [0.1, 0.2, NAN, 0.4], [0.2, 0.4, 0.6, 0.9]
    allowed = paired(a, b, options=PairedOptions(draws=500, max_missing=0.25))
    complete = paired([0.1, 0.2, 0.4], [0.2, 0.4, 0.9], options=PairedOptions(draws=500))
    assert (allowed.low, allowed.high, allowed.resampled) == (complete.low, complete.high, "slates")
    assert (complete.p, allowed.missing, allowed.test, allowed.exact) == (0.25, 1, "", False)
    for value in (allowed.p, allowed.p_bootstrap, allowed.p_permutation, allowed.detectable):
        assert math.isnan(value)
    assert allowed.withheld == "1 of 4 pairs lack a value; means and interval are of the others"
    assert math.isnan(paired(a, b, options=PairedOptions(draws=500, max_missing=0.2)).low)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
def test_no_allowance_gives_a_p_value_from_incomplete_pairs(share):
    rng = np.random.default_rng(3)
    a, b = rng.random((2, 40))
    a[7] = NAN
    found = paired(a, b + 1, options=PairedOptions(draws=200, max_missing=share))
    assert math.isnan(found.p)
    assert math.isnan(found.low) is (share < 1 / 40)


def test_too_few_pairs_have_no_test():
    one = paired([0.5], [0.75])
    assert (one.difference, one.n) == (0.25, 1)
    assert math.isnan(one.p)
    assert math.isnan(one.low)
    assert one.withheld == "1 complete pairs; a test needs at least 2"
    none = paired([NAN, 0.1], [0.1, NAN])
    assert math.isnan(none.difference)
    assert (none.n, none.missing) == (0, 2)
    assert paired([], []).n == 0


def test_collections_are_stratified_until_there_are_six():
    a, b = np.zeros(12), np.arange(12.0)
    two = paired(a, b, ["x"] * 6 + ["y"] * 6, QUICK)
    assert two.resampled == "slates within each of 2 collections"
    six = paired(a, b, np.repeat(list("abcdef"), 2), QUICK)
    assert six.resampled == "6 collections, then slates within each"
    # Six collections flip as wholes: 2 of 64 flips, but the bootstrap is reported.
    assert six.p_permutation == pytest.approx(2 / 64)
    assert (six.exact, six.test) == (True, "bootstrap")
    assert six.high - six.low > two.high - two.low


def test_means_count_every_collection_the_same():
    # (1 + 3) / 2 = 2 and 10: (2 + 10) / 2.
    found = paired([0.0, 0.0, 0.0], [1.0, 3.0, 10.0], [0, 0, 1], QUICK)
    assert (found.mean_b, found.difference) == (6.0, 6.0)


def test_seeds_widen_the_interval():
    rng = np.random.default_rng(3)
    a = rng.random(30)
    offsets = np.array([-0.2, 0.0, 0.2])
    b = a + 0.1 + offsets[:, None]
    found = paired(a, b, options=QUICK)
    assert found.difference == pytest.approx(0.1)
    assert found.resampled == "slates, and training seeds (3)"
    # All differences are .1 over the mean of seeds: without seeds there is no width at all.
    assert paired(a, b.mean(axis=0), options=QUICK).high - found.difference < 1e-9
    # The least mean of three drawn offsets, -.2, has chance 1/27 = .037 > .025.
    assert (found.low, found.high) == pytest.approx((-0.1, 0.3))
    assert found.test == "bootstrap"
    both = paired(np.tile(a, (2, 1)), b, options=QUICK)
    assert both.resampled == "slates, and training seeds (2 and 3)"


def test_a_seed_without_a_value_breaks_the_pair():
    found = paired([0.1, 0.2], [[0.1, NAN], [0.3, 0.4]])
    assert (found.n, found.missing) == (1, 1)


def test_power_is_what_detectable_says():
    # At the detectable difference 80% of studies find it; 300 studies, 3 sd are .07.
    rng = np.random.default_rng(6)
    n, sd = 80, 0.2
    effect = (1.959964 + 0.841621) * sd / math.sqrt(n)
    hits = [stats.ttest_1samp(rng.normal(effect, sd, n), 0).pvalue < 0.05 for _ in range(300)]
    assert np.mean(hits) == pytest.approx(0.8, abs=0.07)
    d = rng.normal(effect, sd, n)
    found = paired(np.zeros(n), d, options=QUICK)
    assert found.detectable == pytest.approx(effect * d.std(ddof=1) / sd, rel=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: paired([1.0], [1.0, 2.0]), "1 slates of the first, 2 of the second"),
        (lambda: paired([1.0], [1.0], [0, 1]), r"\(2,\) labels"),
        (lambda: paired(1.0, 1.0), r"got shape \(\)"),
        (lambda: paired([np.inf, 1.0], [0.0, 1.0]), "infinite"),
        (lambda: PairedOptions(draws=0), "draws must be at least 1, a whole number, got 0"),
        (lambda: PairedOptions(level=1.0), r"level must lie between 0 and 1, got 1\.0"),
        (lambda: PairedOptions(power=0.0), "power must lie between"),
        (lambda: PairedOptions(max_missing=1.0), "max_missing is a share under 1"),
    ],
)
def test_wrong_use_is_refused(call, message):
    with pytest.raises(UsageError, match=message):
        call()


@pytest.mark.slow
def test_the_interval_covers_and_the_tests_keep_their_level_under_the_null():
    # 400 data sets of 60 slates, true difference 0: a share near .95 has sd .011, and the
    # percentile interval of 60 values covers about .94: three sd give .905 to .98.
    rng = np.random.default_rng(7)
    options = PairedOptions(draws=1000)
    found = []
    for _ in range(400):
        shared = rng.beta(2, 5, 60)
        a, b = shared + rng.normal(0, 0.1, 60), shared + rng.normal(0, 0.1, 60)
        found.append(paired(a, b, options=options))
    covered = np.mean([one.low <= 0 <= one.high for one in found])
    assert 0.905 <= covered <= 0.98
    assert 0.02 <= np.mean([one.p <= 0.05 for one in found]) <= 0.095
    assert 0.02 <= np.mean([one.p_permutation <= 0.05 for one in found]) <= 0.085


@pytest.mark.slow
def test_the_interval_over_collections_covers_under_the_null():
    # 12 collections of 20 slates with differences of their own, 400 times. Twelve units make a
    # percentile interval somewhat short (about .92); three sd (.04) below that, and above .95.
    rng = np.random.default_rng(8)
    codes = np.repeat(np.arange(12), 20)
    options = PairedOptions(draws=1000)
    covered = []
    for _ in range(400):
        d = rng.normal(0, 0.1, 12)[codes] + rng.normal(0, 0.2, 240)
        found = paired(np.zeros(240), d, codes, options)
        covered.append(found.low <= 0 <= found.high)
    assert 0.88 <= np.mean(covered) <= 0.98


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7])
def test_nothing_is_detectable_where_the_exact_test_cannot_reach_alpha(n):
    # The least p of n slates is 2 / 2^n: .5, .25, .125, .0625 up to five slates, .03125 with six.
    differences = np.arange(1.0, n + 1)
    found = paired(np.zeros(n), differences, options=QUICK)
    assert found.p == pytest.approx(2 / 2**n)
    if n <= 5:
        assert math.isnan(found.detectable)
        assert f"of {n} slates has no p under {2 / 2**n:.4g}" in found.undetectable
        assert "found at 0.05" in found.undetectable
    else:
        assert found.detectable > 0
        assert found.undetectable == ""


def test_what_is_detectable_depends_on_alpha():
    # .0625 is in reach at alpha .1, and .03125 is not at alpha .01.
    five = paired(np.zeros(5), np.arange(1.0, 6), options=PairedOptions(draws=500, level=0.9))
    six = paired(np.zeros(6), np.arange(1.0, 7), options=PairedOptions(draws=500, level=0.99))
    assert five.detectable > 0
    assert math.isnan(six.detectable)


def test_the_bootstrap_of_seeds_has_no_such_limit():
    # Where seeds are resampled too, p is the bootstrap's, and it reaches 2 / (draws + 1).
    found = paired(
        [[0.0, 0.0, 0.0], [0.1, 0.0, 0.1]], [[1.0, 2.0, 3.0], [1.1, 2.0, 3.1]], options=QUICK
    )
    assert found.test == "bootstrap"
    assert found.detectable > 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PairedOptions(draws=2.5), "draws must be at least 1, a whole number, got 2.5"),
        (lambda: PairedOptions(draws="20"), "draws must be"),
        (lambda: PairedOptions(draws=None), "draws must be"),
        (lambda: PairedOptions(draws=float("inf")), "draws must be"),
        (lambda: PairedOptions(draws=True), "draws must be"),
        (lambda: PairedOptions(seed="x"), "seed must be a whole number, got 'x'"),
        (lambda: PairedOptions(level="x"), "level must lie between 0 and 1, got 'x'"),
        (lambda: PairedOptions(max_missing=None), "max_missing must be a finite number, got None"),
        (lambda: paired([1.0], [1.0], options=None), "options must be PairedOptions, got None"),
        (lambda: paired("a", [1.0]), "paired values must be numbers"),
        (lambda: paired([[1.0], [1.0, 2.0]], [1.0]), "in lines of one length"),
        (lambda: paired([1.0, 2.0], [1.0, 2.0], [None, 1]), "collection, .* got None"),
        (lambda: paired([1.0, 2.0], [1.0, 2.0], [0.5, 1]), "collection, .* got 0.5"),
        (lambda: paired([1.0, 2.0], [1.0, 2.0], ["a", 1]), "collection, .* got 'a'"),
        (lambda: paired([1.0, 2.0], [1.0, 2.0], "ab"), "collections must be a list of labels"),
    ],
)
def test_wrong_kinds_are_refused_by_name(call, message):
    with pytest.raises(UsageError, match=message):
        call()
