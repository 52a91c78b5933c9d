"""What each channel can vary: never the canonical form, all of it when there is room."""

import collections
from dataclasses import replace

import numpy as np
import pytest

from evenhand.present.channels import (
    canonical_members,
    choose,
    dropped,
    marker_surfaces,
    member_variants,
    replaced,
    rubric_surfaces,
    skeleton_surfaces,
    window_cuts,
)
from evenhand.types import Surface


def rng(seed=0):
    return np.random.default_rng(seed)


def test_choose_keeps_order_and_takes_all_when_there_is_room():
    assert choose("abc", 3, rng()) == ["a", "b", "c"]
    drawn = [tuple(choose("abcd", 2, rng(seed))) for seed in range(60)]
    # All six pairs come, each in its own order.
    assert set(drawn) == {tuple(p) for p in ("ab", "ac", "ad", "bc", "bd", "cd")}


def test_marker_surfaces_are_the_fixed_schemes_and_then_random_ones():
    found = marker_surfaces(Surface(), 6, rng())
    assert [(s.markers, s.enclose) for s in found] == [
        ("letters", False),
        ("numeric", True),
        ("letters", True),
        ("random", False),
        ("random", False),
        ("random", False),
    ]
    assert len({s.marker_seed for s in found[3:]}) == 3
    assert Surface() not in found
    # What the canonical surface has beside its markers stays.
    kept = marker_surfaces(Surface(markers="single", enclose=True, dummy=2), 6, rng())
    assert {s.dummy for s in kept} == {2}
    assert [s.markers for s in kept] == ["numeric", "letters"] * 2 + ["random"] * 2


def test_skeleton_surfaces_cross_wording_and_dummy_grade():
    found = skeleton_surfaces(Surface(), 99, rng())
    # 3 wordings times 4 dummy grades, less the canonical one.
    assert len(set(found)) == len(found) == 11
    assert {(s.skeleton, s.dummy) for s in found} >= {("grade", 3), ("bare", 0)}
    assert len(skeleton_surfaces(Surface(), 4, rng())) == 4


def test_rubric_surfaces_are_the_other_wordings():
    assert [s.rubric for s in rubric_surfaces(Surface(), 9, rng())] == [
        "relevance/2",
        "relevance/3",
        "relevance/4",
    ]
    assert [s.rubric for s in rubric_surfaces(Surface(rubric="answer_support/3"), 9, rng())] == [
        "answer_support",
        "answer_support/2",
        "answer_support/4",
    ]


def test_window_cuts_by_hand():
    # 4 candidates at B=2: alone; 0 2 | 1 3; all four.
    assert window_cuts(4, 2, "contiguous") == [
        ((0,), (1,), (2,), (3,)),
        ((0, 2), (1, 3)),
        ((0, 1, 2, 3),),
    ]
    assert window_cuts(4, 2, "contiguous", most=2) == window_cuts(4, 2, "contiguous")[:2]
    # The whole slate: a quarter and a half of it.
    assert [max(map(len, w)) for w in window_cuts(8, None, "contiguous")] == [2, 2, 4, 4]
    assert window_cuts(1, None, "contiguous") == window_cuts(0, 3, "contiguous") == []


def test_members_by_hand():
    assert (canonical_members(4).order, canonical_members(4).omitted) == ((0, 1, 2), (3,))
    assert (replaced(4, 1).order, replaced(4, 1).omitted) == ((0, 3, 2), (1,))
    assert (dropped(4, 1).order, dropped(4, 1).omitted) == ((0, 2, 3), (1,))
    assert replaced(4, 2) == dropped(4, 2)
    assert member_variants(1, 9, rng()) == []
    assert member_variants(2, 9, rng()) == [replaced(2, 0)]
    assert member_variants(3, 9, rng()) == [replaced(3, 0), replaced(3, 1), dropped(3, 0)]


@pytest.mark.parametrize(("n", "count"), [(6, 9), (7, 10), (30, 10), (30, 7), (5, 1), (5, 2)])
def test_members_are_drawn_half_and_half(n, count):
    found = member_variants(n, count, rng())
    assert len(set(found)) == len(found) == min(count, 2 * n - 3)
    gone = [set(one.omitted) for one in found]
    assert all(len(one) == 1 and one != {n - 1} for one in gone)
    inner = [one for one in found if one.omitted != (n - 2,)]
    kinds = [one == replaced(n, one.omitted[0]) for one in inner]
    assert abs(sum(kinds) - (len(kinds) - sum(kinds))) <= 1


def test_every_member_is_drawn_alike():
    counts = collections.Counter(
        one.omitted[0] for seed in range(600) for one in member_variants(9, 2, rng(seed))[:1]
    )
    # 600 draws over 8 members: 75 each, sd 8.1; four sd either way.
    assert len(counts) == 8
    assert all(42 < count < 108 for count in counts.values())


def test_variants_leave_the_canonical_surface_alone():
    surface = replace(Surface(), query="after")
    for surfaces in (marker_surfaces, skeleton_surfaces, rubric_surfaces):
        assert all(s.query == "after" and s != surface for s in surfaces(surface, 10, rng()))


def test_a_marker_draw_that_comes_twice_is_drawn_again():
    class Repeating:
        """Gives the same seed twice, then another; picks in the given order."""

        def __init__(self):
            self.seeds = iter([5, 5, 6])

        def integers(self, high):
            return next(self.seeds)

    found = marker_surfaces(Surface(), 5, Repeating())
    assert [one.marker_seed for one in found if one.markers == "random"] == [5, 6]
