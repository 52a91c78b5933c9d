import numpy as np
import pytest

from evenhand.report.drill import CHIPS, most_different, ranked, unstable_first, view
from evenhand.types import Candidate, Slate


def test_the_worked_example_shows_who_flips(worked):
    slate, rows = worked
    seen = view(slate, rows, 0.5, tau_psi=0.0667, overlap=0.5)
    # Retained are A B C in order 1, A B D in order 2: C and D flip, each retained in 1 of 2.
    assert [(m.id, m.retained) for m in seen.moved] == [("C", 0.5), ("D", 0.5)]
    c = seen.moved[0]
    # C scores .52 and .49: mean (.52 + .49) / 2 = .505.
    assert (c.low, c.mean, c.high) == pytest.approx((0.49, 0.505, 0.52))
    assert (c.grade, c.place, c.text) == (2, 3, "text C")


def test_chips_stand_in_score_order_and_say_what_changed(worked):
    slate, rows = worked
    first, second = view(slate, rows, 0.5, tau_psi=0.0667, overlap=0.5).strips
    assert [chip.place for chip in first.chips] == [1, 2, 3, 4, 5, 6]
    assert [chip.place for chip in second.chips] == [1, 2, 4, 3, 5, 6]
    states = ["retained", "retained", "changed", "changed", "dropped", "dropped"]
    assert [chip.state for chip in first.chips] == states
    assert [chip.retained for chip in second.chips] == [True, True, True, False, False, False]
    assert [chip.relevant for chip in first.chips] == [True] * 5 + [False]


def test_the_most_different_rows_differ_in_sets_first_then_in_order():
    rows = np.array([[3.0, 2.0, 1.0], [2.0, 3.0, 1.0], [3.0, 1.0, 2.5]])
    # At 2: rows 0 and 1 keep candidates 0 1, row 2 keeps 0 2: two changes from either.
    # Distances from row 2 (order 0 2 1): row 0 (0 1 2) swaps 1 pair of 3, row 1 (1 0 2) swaps 2.
    assert most_different(rows, rows >= 2) == (1, 2)
    # Nothing is retained at 9: the order alone decides, the same pair.
    assert most_different(rows, rows >= 9) == (1, 2)
    assert most_different(rows[:1], rows[:1] >= 2) == (0, 0)


def test_missing_scores_come_last_and_are_no_flip():
    slate = Slate("q", "query", tuple(Candidate(key, key) for key in "abc"))
    rows = np.array([[np.nan, 0.9, 0.1], [0.8, 0.9, 0.1]])
    assert ranked(slate, rows[0]) == [1, 2, 0]
    seen = view(slate, rows, 0.5, tau_psi=0.0, overlap=1.0)
    # a is retained in the one row where it has a score.
    assert seen.moved == ()
    assert [chip.state for chip in seen.strips[0].chips] == ["retained", "dropped", "missing"]


def test_a_candidate_without_any_score_is_not_listed():
    slate = Slate("q", "query", tuple(Candidate(key, key) for key in "ab"))
    rows = np.array([[np.nan, 0.9], [np.nan, 0.1]])
    assert [m.id for m in view(slate, rows, 0.5, tau_psi=np.nan, overlap=0.0).moved] == ["b"]


def test_long_slates_show_the_top_and_all_that_changes():
    n = CHIPS + 40
    slate = Slate("q", "query", tuple(Candidate(f"c{i}", "t") for i in range(n)))
    scores = np.linspace(1, 0.1, n)
    other = scores.copy()
    other[-1] = 2.0
    first, second = view(slate, np.array([scores, other]), 0.95, tau_psi=0.1, overlap=0.9).strips
    # Row 1 keeps c0 to c5 (1 - .9 i / 99 >= .95 up to i = 5.5), row 2 the last one as well.
    # Shown are the first CHIPS; in row 1 the last one follows although it ranks last.
    assert len(first.chips) == CHIPS + 1
    assert first.chips[-1].place == n
    assert first.cut == n - CHIPS - 1
    assert second.cut == n - CHIPS


def test_equal_scores_are_ordered_by_hash_not_by_place():
    slate = Slate("q", "query", tuple(Candidate(key, key) for key in "abcdefgh"))
    turned = Slate("q", "query", slate.candidates[::-1])
    same = np.zeros(8)
    order = [slate.candidates[i].id for i in ranked(slate, same)]
    assert order == [turned.candidates[i].id for i in ranked(turned, same)]
    assert order != sorted(order)


def test_texts_are_cut_and_say_so():
    slate = Slate("q", "word " * 200, (Candidate("a", "long " * 200, "Title"), Candidate("b", " ")))
    seen = view(slate, np.array([[0.9, 0.1], [0.1, 0.9]]), 0.5, tau_psi=1.0, overlap=0.0)
    assert seen.query.endswith("…")
    assert seen.moved[0].text.startswith("Title: long")
    assert seen.moved[0].text.endswith("…")
    assert seen.moved[1].text == "(empty text)"


def test_the_most_unstable_slates_come_first_and_undefined_ones_last():
    assert unstable_first([0.1, float("nan"), 0.5, 0.3]) == [2, 3, 0, 1]


def test_a_slate_without_rows_or_candidates_has_no_picture():
    empty = Slate("q", "query", ())
    seen = view(empty, np.empty((4, 0)), 0.5, tau_psi=np.nan, overlap=np.nan)
    assert (seen.strips, seen.moved) == ((), ())
