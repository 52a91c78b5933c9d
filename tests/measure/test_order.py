import itertools
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evenhand.errors import UsageError
from evenhand.measure.order import (
    exact_ties,
    is_constant,
    kendall_distance,
    tau_psi,
    tau_psi_many,
    tau_psi_strict,
    tied_pairs,
    top_instability,
)

NAN = float("nan")
ORDER_1 = [0.83, 0.80, 0.52, 0.48, 0.29, 0.08]
ORDER_2 = [0.81, 0.78, 0.49, 0.51, 0.30, 0.07]


def rotations(n):
    """Scores 1 - slot/n of a scorer that reads the slot only, over n rotations."""
    return np.array([[1 - ((i - r) % n) / n for i in range(n)] for r in range(n)])


def position_only(n):
    """The same scorer over all n! orders."""
    return np.array([[-float(p) for p in order] for order in itertools.permutations(range(n))])


def naive_distance(a, b):
    """Kendall distance with tie penalty 1/2, pair by pair as it is defined."""
    total, pairs = 0.0, 0
    for i, j in itertools.combinations(range(len(a)), 2):
        if any(math.isnan(x) for x in (a[i], a[j], b[i], b[j])):
            continue
        pairs += 1
        tied = (a[i] == a[j]) + (b[i] == b[j])
        swapped = (a[i] > a[j]) != (b[i] > b[j])
        total += {0: float(swapped), 1: 0.5, 2: 0.0}[tied]
    return total / pairs if pairs else NAN


def naive_tau_psi(rows, exhaustive=False):
    pairs = itertools.product(rows, rows) if exhaustive else itertools.combinations(rows, 2)
    values = [naive_distance(a, b) for a, b in pairs]
    values = [value for value in values if not math.isnan(value)]
    return sum(values) / len(values) if values else NAN


def naive_tied(rows, exhaustive=False):
    pairs = itertools.product(rows, rows) if exhaustive else itertools.combinations(rows, 2)
    shares = []
    for a, b in pairs:
        found = list(itertools.combinations(range(len(a)), 2))
        shares.append(sum(a[i] == a[j] and b[i] == b[j] for i, j in found) / len(found))
    return sum(shares) / len(shares)


coarse = st.integers(2, 6).flatmap(
    lambda n: st.lists(
        st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=n, max_size=n), min_size=2, max_size=6
    )
)


def test_worked_example():
    # One of 15 pairs swaps (C, D): tau = (14 - 1) / 15 = .8667, tau-PSI = 1/15 = .0667.
    assert tau_psi([ORDER_1, ORDER_2]) == pytest.approx(1 / 15, abs=1e-15)
    assert 1 - 2 * tau_psi([ORDER_1, ORDER_2]) == pytest.approx(0.8667, abs=5e-5)
    assert kendall_distance(ORDER_1, ORDER_2) == tau_psi([ORDER_1, ORDER_2])
    assert stats.kendalltau(ORDER_1, ORDER_2).statistic == pytest.approx(13 / 15)


def test_reversed_rows_are_at_one_and_equal_rows_at_zero():
    assert tau_psi([[1, 2, 3], [3, 2, 1]]) == 1.0
    assert tau_psi([[1, 2, 3], [10, 20, 30]]) == 0.0


def test_a_pair_tied_in_one_row_counts_half():
    # Pairs (0,1): tied then apart, 1/2; (0,2) and (1,2): the same. 0.5 / 3.
    assert tau_psi([[1, 1, 0], [2, 1, 0]]) == pytest.approx(0.5 / 3)


def test_four_rotations_of_a_scorer_that_reads_the_slot():
    # Rotations 1 apart swap 3 of 6 pairs, 2 apart 4 of 6: (4 * 3 + 2 * 4) / 6 / 6 = .5556.
    scores = rotations(4)
    assert tau_psi(scores) == pytest.approx(20 / 36)
    # Every candidate visits 1, .75, .5, .25 once: the average forgets the slot.
    assert scores.mean(axis=0).tolist() == [0.625] * 4


@pytest.mark.parametrize(("n", "distinct"), [(2, 1.0), (3, 0.6), (4, 12 / 23)])
def test_position_only_over_all_orders(n, distinct):
    # Over all pairs of rows .5; over distinct ones .5 * n! / (n! - 1): 1, .6, .5217.
    assert tau_psi(position_only(n), exhaustive=True) == pytest.approx(0.5)
    assert tau_psi(position_only(n)) == pytest.approx(distinct)
    assert distinct == pytest.approx(0.5 * math.factorial(n) / (math.factorial(n) - 1))


def test_constant_scores_are_stable_and_degenerate():
    constant = np.full((4, 4), 0.3)
    positions = [[(i - r) % 4 for i in range(4)] for r in range(4)]
    assert tau_psi(constant) == 0.0
    assert is_constant(constant)
    assert tied_pairs(constant) == 1.0
    assert exact_ties(constant) == 1.0
    # Ties broken by position make rotations of it: the 20/36 from above.
    assert tau_psi_strict(constant, positions) == pytest.approx(20 / 36)


def test_strict_equals_half_where_nothing_is_tied():
    scores = np.random.default_rng(3).random((5, 9))
    positions = np.argsort(scores, axis=1)
    assert tau_psi_strict(scores, positions) == tau_psi(scores)
    assert tau_psi_strict(scores, positions, exhaustive=True) == tau_psi(scores, exhaustive=True)


@pytest.mark.parametrize("scores", [[[1, 2]], [[1], [2]], np.empty((0, 4)), np.empty((3, 0))])
def test_too_few_rows_or_candidates_are_undefined(scores):
    ties = np.arange(np.shape(scores)[1])
    for every in (False, True):
        assert math.isnan(tau_psi(scores, exhaustive=every))
        assert math.isnan(tied_pairs(scores, exhaustive=every))
        assert math.isnan(top_instability(scores, ties, exhaustive=every))


def test_equals_scipy_without_ties():
    scores = np.random.default_rng(0).random((10, 40))
    taus = [stats.kendalltau(a, b).statistic for a, b in itertools.combinations(scores, 2)]
    assert tau_psi(scores) == pytest.approx((1 - np.mean(taus)) / 2, abs=1e-12)


def test_more_rows_than_a_byte_counts():
    scores = np.random.default_rng(1).integers(0, 3, (300, 4)).astype(float)
    assert tau_psi(scores) == pytest.approx(naive_tau_psi(scores.tolist()))


@settings(max_examples=50, deadline=None)
@given(coarse, st.booleans())
def test_equals_the_definition_with_ties(rows, exhaustive):
    assert tau_psi(rows, exhaustive=exhaustive) == pytest.approx(naive_tau_psi(rows, exhaustive))
    assert tied_pairs(rows, exhaustive=exhaustive) == pytest.approx(naive_tied(rows, exhaustive))


def test_missing_scores_leave_their_pairs_of_rows():
    # Rows 0 and 1 share candidates 0, 2: swapped, 1. Rows 0 and 2 share all three:
    # (0,1) and (0,2) swapped, 2/3. Rows 1 and 2 share 0, 2: the same, 0. Mean 5/9.
    scores = [[3, 2, 1], [1, NAN, 2], [0, 2, 1]]
    assert tau_psi(scores) == pytest.approx(5 / 9)
    assert tau_psi(scores) == pytest.approx(naive_tau_psi(scores))
    assert tau_psi(scores, exhaustive=True) == pytest.approx(10 / 27)


def test_missing_rows_count_for_nothing():
    rows = [[1, 2, 3], [3, 1, 2], [2, 3, 1]]
    assert tau_psi([*rows, [NAN] * 3]) == tau_psi(rows)
    assert math.isnan(tau_psi([[1, 2, 3], [NAN] * 3]))
    assert math.isnan(tau_psi([[1, NAN, 3], [NAN, 2, NAN]]))
    assert math.isnan(kendall_distance([1, NAN], [1, 2]))


def test_many_slates_equal_one_by_one():
    rng = np.random.default_rng(5)
    # More slates than are ranked at once.
    stack = rng.integers(0, 30, (70, 4, 25)).astype(float)
    stack[2, 1, 3] = NAN
    stack[4] = stack[66] = NAN
    expected = [tau_psi(slate) for slate in stack]
    np.testing.assert_array_equal(tau_psi_many(stack), expected)
    np.testing.assert_array_equal(
        tau_psi_many(stack, exhaustive=True), [tau_psi(s, exhaustive=True) for s in stack]
    )
    assert np.flatnonzero(np.isnan(tau_psi_many(stack))).tolist() == [4, 66]
    assert tau_psi_many(np.empty((0, 4, 25))).shape == (0,)


def test_many_candidates_do_not_overflow_the_levels():
    stack = np.random.default_rng(6).random((1, 2, 300))
    tau = stats.kendalltau(stack[0, 0], stack[0, 1]).statistic
    assert tau_psi_many(stack)[0] == pytest.approx((1 - tau) / 2, abs=1e-12)


def test_many_slates_refuse_another_shape():
    with pytest.raises(UsageError, match=r"\(slates, rows, candidates\), got shape \(2, 3\)"):
        tau_psi_many(np.zeros((2, 3)))


def test_exact_ties_by_hand():
    # Row 0 sorted .1 .5 .5: gaps .4, 0. Row 1 .2 .3 and one missing: gap .1. One of three.
    assert exact_ties([[0.5, 0.1, 0.5], [0.2, NAN, 0.3]]) == pytest.approx(1 / 3)
    assert math.isnan(exact_ties([[0.5, NAN], [NAN, NAN]]))
    assert not is_constant([[0.5, 0.1, 0.5], [0.2, NAN, 0.3]])
    assert not is_constant([[0.5, NAN]])


def test_top_instability_by_hand():
    # A B against B A, depth 2: X_1 = 0, X_2 = 2.
    # RBO = 2/2 * .81 + .1/.9 * (0 + 2/2 * .81) = .81 + .09 = .9.
    assert top_instability([[2, 1], [1, 2]], [0, 1]) == pytest.approx(0.1)
    # Every pair of rows, each with itself: half of it.
    assert top_instability([[2, 1], [1, 2]], [0, 1], exhaustive=True) == pytest.approx(0.05)
    # Nothing in common among the top 2 of 4.
    assert top_instability([[4, 3, 2, 1], [1, 2, 3, 4]], range(4), k=2) == pytest.approx(1.0)


def literal_rbo(first, second, k, p):
    overlaps = [len(set(first[:d]) & set(second[:d])) for d in range(1, k + 1)]
    tail = (1 - p) / p * sum(x / d * p**d for d, x in enumerate(overlaps, 1))
    return overlaps[-1] / k * p**k + tail


@pytest.mark.parametrize(("k", "p"), [(1, 0.5), (5, 0.9), (10, 0.98)])
def test_top_instability_equals_the_formula(k, p):
    scores = np.random.default_rng(2).random((4, 20))
    tops = [np.argsort(-row).tolist() for row in scores]
    expected = 1 - np.mean([literal_rbo(a, b, k, p) for a, b in itertools.combinations(tops, 2)])
    assert top_instability(scores, np.arange(20), k=k, p=p) == pytest.approx(expected)


def test_top_instability_is_zero_for_equal_tops_and_breaks_ties_by_hash():
    rng = np.random.default_rng(4)
    same_top = np.tile(np.arange(30.0), (3, 1))
    same_top[:, :20] = rng.random((3, 20)) - 1
    assert top_instability(same_top, np.arange(30)) == 0.0
    assert top_instability([[1, 1, 1], [2, 2, 2]], [2, 0, 1]) == 0.0
    # The tie is A before B or B before A, always against B A.
    assert top_instability([[1, 1], [1, 2]], [1, 0]) == 0.0
    assert top_instability([[1, 1], [1, 2]], [0, 1]) == pytest.approx(0.1)


def test_top_instability_leaves_missing_candidates_out_pair_by_pair():
    # Without candidate 0 both rows say 1 before 2.
    assert top_instability([[NAN, 2, 1], [3, 2, 1]], [0, 1, 2]) == 0.0
    assert top_instability([[NAN, 2, 1], [0, 1, 2]], [0, 1, 2]) == pytest.approx(0.1)


@pytest.mark.parametrize(("k", "p"), [(0, 0.9), (10, 0.0), (10, 1.0)])
def test_top_instability_refuses_wrong_settings(k, p):
    with pytest.raises(UsageError, match="[kp] of the top instability must"):
        top_instability([[1, 2], [2, 1]], [0, 1], k=k, p=p)


def test_the_most_that_many_rows_can_reach():
    # Half of M rows reversed: (M/2)^2 of the M(M-1)/2 pairs are at 1, so M / (2 (M - 1)).
    for rows in (2, 4, 10):
        both = np.array([[3.0, 2.0, 1.0]] * (rows // 2) + [[1.0, 2.0, 3.0]] * (rows // 2))
        assert tau_psi(both) == pytest.approx(rows / (2 * (rows - 1)))


def test_ties_of_many_candidates_are_counted_in_little_memory():
    # 1,500 candidates in pairs of equal scores: 750 of 1500 * 1499 / 2 pairs are tied in both rows.
    scores = np.tile(np.arange(1500) // 2, (2, 1))
    tracemalloc.start()
    found = tied_pairs(scores)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == 750 / (1500 * 1499 / 2)
    # One number for every pair would be 18 MB, and there were several.
    assert peak < 40e6
