import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.errors import UsageError
from evenhand.measure.decision import (
    both_empty,
    choices,
    chosen_rejected,
    first_slot,
    overlap,
    overlap_without_empty,
    pair_flip,
    retained_sets,
    retained_share,
    set_flip,
    top1_flip,
)
from evenhand.measure.outcomes import majority
from evenhand.seeds import tie_ranks

NAN = float("nan")
ORDER_1 = [0.83, 0.80, 0.52, 0.48, 0.29, 0.08]
ORDER_2 = [0.81, 0.78, 0.49, 0.51, 0.30, 0.07]

sets = st.integers(2, 5).flatmap(
    lambda n: st.lists(st.lists(st.booleans(), min_size=n, max_size=n), min_size=2, max_size=6)
)


def test_worked_example():
    # {A, B, C} against {A, B, D}: 2 shared of 4. C and D flip, 2 of 4 ever retained.
    retained = retained_sets([ORDER_1, ORDER_2], 0.5)
    assert overlap(retained) == 0.5
    assert set_flip(retained) == 0.5
    assert retained_share(retained) == 0.5


def test_four_rotations_of_a_scorer_that_reads_the_slot():
    # Scores 1, .75, .5, .25: each row keeps three of four, two rows share two: 2 / 4.
    scores = [[1 - ((i - r) % 4) / 4 for i in range(4)] for r in range(4)]
    assert overlap(retained_sets(scores, 0.5)) == 0.5
    assert set_flip(retained_sets(scores, 0.5)) == 1.0
    # With itself: (4 * 1 + 12 * .5) / 16.
    assert overlap(retained_sets(scores, 0.5), exhaustive=True) == 0.625


def test_kept_is_at_or_above_and_knows_missing():
    assert retained_sets([[0.5, 0.49]], 0.5).tolist() == [[1.0, 0.0]]
    assert np.isnan(retained_sets([[NAN]], 0.5)).all()


def naive_overlap(rows, exhaustive, empty):
    pairs = itertools.product(rows, rows) if exhaustive else itertools.combinations(rows, 2)
    values = []
    for a, b in pairs:
        first = {i for i, keep in enumerate(a) if keep}
        second = {i for i, keep in enumerate(b) if keep}
        if first | second:
            values.append(len(first & second) / len(first | second))
        elif empty is not None:
            values.append(empty)
    return sum(values) / len(values) if values else NAN


@settings(max_examples=50, deadline=None)
@given(sets, st.booleans())
def test_overlap_equals_the_definition(rows, every):
    assert overlap(rows, exhaustive=every) == pytest.approx(naive_overlap(rows, every, 1.0))
    without = naive_overlap(rows, every, None)
    assert overlap_without_empty(rows, exhaustive=every) == pytest.approx(without, nan_ok=True)
    pairs = list(itertools.product(rows, rows) if every else itertools.combinations(rows, 2))
    empty = sum(not any(a) and not any(b) for a, b in pairs) / len(pairs)
    assert both_empty(rows, exhaustive=every) == pytest.approx(empty)


def test_empty_sets():
    # Rows {}, {}, {0}: Jaccard 1, 0, 0; without the empty pair 0, 0; one pair of three is empty.
    rows = [[0, 0], [0, 0], [1, 0]]
    assert overlap(rows) == pytest.approx(1 / 3)
    assert overlap_without_empty(rows) == 0.0
    assert both_empty(rows) == pytest.approx(1 / 3)
    nothing = np.zeros((3, 2), dtype=bool)
    assert overlap(nothing) == 1.0
    assert math.isnan(overlap_without_empty(nothing))
    assert math.isnan(set_flip(nothing))
    assert retained_share(nothing) == 0.0


def test_missing_scores_neither_keep_nor_drop():
    # Candidate 2 is missing in row 0: without it both rows keep {0}.
    retained = retained_sets([[0.9, 0.1, NAN], [0.9, 0.1, 0.9]], 0.5)
    assert overlap(retained) == 1.0
    assert set_flip(retained) == 0.0
    # Row 0 keeps 1 of 2, row 1 keeps 2 of 3.
    assert retained_share(retained) == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert retained_share([[NAN, NAN], [1, 0]]) == 0.5


@pytest.mark.parametrize("rows", [[[1, 0]], [[1], [1]], [[NAN, NAN], [1, 0]]])
def test_sets_too_small_are_undefined(rows):
    for measure in (overlap, overlap_without_empty, both_empty, set_flip):
        assert math.isnan(measure(rows))


def test_retained_share_needs_a_score_only():
    assert retained_share([[1]]) == 1.0
    assert math.isnan(retained_share([[NAN, NAN]]))
    assert math.isnan(retained_share(np.empty((2, 0))))


def test_choices_break_ties_by_the_hash():
    assert choices([[0.5, 0.5, 0.1]], [1, 0, 2]) == [1]
    # All equal: first of the hash order chosen, last of it rejected.
    assert chosen_rejected([[0.5, 0.5, 0.5]], [1, 0, 2]) == [(1, 2)]


def test_a_judge_that_picks_the_first_slot():
    # Pairs (x, y) and (y, x): it always takes what it reads first.
    scores, slots = [[1, 0], [0, 1]], [[0, 1], [1, 0]]
    assert pair_flip(scores, [0, 1]) == 1.0
    assert top1_flip(scores, [0, 1]) == 1.0
    assert first_slot(scores, slots, [0, 1]) == 1.0
    assert majority(chosen_rejected(scores, [0, 1])) is None
    honest = [[1, 0], [1, 0]]
    assert pair_flip(honest, [0, 1]) == 0.0
    assert first_slot(honest, slots, [0, 1]) == 0.5
    assert majority(chosen_rejected(honest, [0, 1])) == (0, 1)


def test_identical_texts_are_no_flips():
    # Two equal candidates always score the same: the hash of the ids decides, in every row.
    rows = [[0.9, 0.9, 0.1], [0.8, 0.8, 0.2], [0.7, 0.7, 0.3]]
    for ids in (("x1", "x2", "y"), ("x2", "x1", "y")):
        ties = tie_ranks("q", ids)
        assert top1_flip(rows, ties) == pair_flip(rows, ties) == 0.0
    first = choices(rows, tie_ranks("q", ("x1", "x2", "y")))[0]
    second = choices(rows, tie_ranks("q", ("x2", "x1", "y")))[0]
    assert ("x1", "x2")[first] == ("x2", "x1")[second]


def test_flips_pairwise_modal_and_exhaustive():
    # Tops 0, 0, 1: pairwise 2 of 3, modal 1 of 3, all nine pairs 4 of 9.
    rows = [[3, 2, 1], [3, 1, 2], [2, 3, 1]]
    assert top1_flip(rows, [0, 1, 2]) == pytest.approx(2 / 3)
    assert top1_flip(rows, [0, 1, 2], kind="modal") == pytest.approx(1 / 3)
    assert top1_flip(rows, [0, 1, 2], exhaustive=True) == pytest.approx(4 / 9)
    # Pairs (0, 2), (0, 1), (1, 2): all differ.
    assert pair_flip(rows, [0, 1, 2]) == 1.0
    assert pair_flip(rows, [0, 1, 2], kind="modal") == pytest.approx(2 / 3)
    with pytest.raises(
        UsageError, match=r"unknown kind of flip 'mode'; known are \['modal', 'pairwise'\]"
    ):
        top1_flip(rows, [0, 1, 2], kind="mode")


def test_flips_leave_missing_out():
    # Candidate 1 is unknown in row 1, so the tops are of 0 and 2 only.
    rows = [[2, 3, 1], [2, NAN, 1], [NAN, NAN, NAN]]
    assert top1_flip(rows, [0, 1, 2]) == 0.0
    assert pair_flip(rows, [0, 1, 2]) == 0.0
    slots = [[0, 1, 2], [1, 0, 2], [2, 1, 0]]
    assert first_slot(rows, slots, [0, 1, 2]) == 0.5


@pytest.mark.parametrize("rows", [[[1], [1]], [[NAN, NAN], [NAN, NAN]], [[1, NAN], [NAN, 1]]])
def test_choices_too_small_are_undefined(rows):
    ties = range(len(rows[0]))
    assert math.isnan(top1_flip(rows, ties))
    assert math.isnan(pair_flip(rows, ties))
    assert math.isnan(first_slot(rows, np.zeros((2, len(rows[0]))), ties))


def test_one_row_has_no_flips():
    assert math.isnan(top1_flip([[1, 2]], [0, 1]))
    assert first_slot([[1, 2]], [[1, 0]], [0, 1]) == 1.0


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_set_flip_of_a_scorer_that_reads_positions_only(share):
    # All M rows keep a candidate with chance q^M, some row with 1 - (1 - q)^M.
    rng = np.random.default_rng(0)
    rows, n = 10, 200
    found = []
    for _ in range(100):
        positions = np.array([rng.permutation(n) for _ in range(rows)])
        found.append(set_flip(positions < share * n))
    expected = 1 - share**rows / (1 - (1 - share) ** rows)
    assert np.mean(found) == pytest.approx(expected, abs=0.01)
