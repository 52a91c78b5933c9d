"""Signs by hand: each of small runs whose scores are given."""

import math

import numpy as np
import pytest

from evenhand.study.causes.signs import kept_apart, signs_of
from evenhand.types import Plan, Presentation


def windows(*parts):
    return Presentation(tuple(i for part in parts for i in part), parts)


def plan(*random, canonical=None):
    first = canonical or windows((0, 1), (2, 3))
    kinds = ("canonical", *["random"] * len(random), "repeat")
    return Plan((first, *random, first), kinds)


def test_kept_apart_by_hand():
    base = windows((0, 1), (2, 3))
    # Inside the window 0 and 1 swap; 2 and 3 stay.
    slot, company = kept_apart(windows((1, 0), (2, 3)), base)
    assert slot.tolist() == [True, True, False, False]
    assert not company.any()
    # 1 and 3 swap windows and keep their slot; all four have other companions.
    slot, company = kept_apart(windows((0, 3), (2, 1)), base)
    assert not slot.any()
    assert company.tolist() == [True] * 4
    # In a window of another width neither is said.
    slot, company = kept_apart(windows((0, 1, 2, 3)), base)
    assert not slot.any()
    assert not company.any()
    # 1 is not shown; 2 is alone; 0 and 3 are each other's new companions.
    out = Presentation((0, 3, 2), ((0, 3), (2,)), omitted=(1,))
    slot, company = kept_apart(out, base)
    assert company.tolist() == [True, False, False, True]


def test_changes_are_in_spreads(kit):
    # Canonical 0 1 0 1: sd .5. Row 1 swaps 0 and 1 and moves both by .25, others stay:
    # mean change .125, that is .25 spreads; of the two that moved .5. The repeat moves one by .2.
    scores = [[0, 1, 0, 1], [0.25, 0.75, 0, 1], [0, 1, 0, 0.8]]
    record = kit.record(kit.slate(), plan(windows((1, 0), (2, 3))), scores)
    found = signs_of([record])
    assert (found.slates, found.rows) == (1, 1)
    assert found.change == pytest.approx(0.25)
    assert found.slot_change == pytest.approx(0.5)
    assert math.isnan(found.companion_change)
    assert found.repeat_change == pytest.approx(0.1)
    # Two levels among four scores; of six pairs 0-2 and 1-3 are tied.
    assert (found.levels, found.scores) == (2, 4)
    assert found.tied == pytest.approx(1 / 3)
    # Windows run from 0 to 1, except (.75, .25) and the repeat's (0, .8): 4 of 6.
    assert found.ends == pytest.approx(4 / 6)
    # Sums are 1, 1, 1, 1, 1, .8; their size .9667 on average.
    assert found.uneven == pytest.approx(0.2 / (5.8 / 6))


def test_a_row_shown_as_the_canonical_one_is_not_varied(kit):
    record = kit.record(kit.slate(), plan(windows((0, 1), (2, 3))), [[0, 1, 2, 3]] * 3)
    found = signs_of([record])
    assert (found.slates, found.rows) == (0, 0)
    assert math.isnan(found.change)


def test_returned_and_echoed(kit):
    # The repeat gives candidate 0 the score that candidate 1 had, and 3 a new one: one of two.
    shown = plan(windows((1, 0), (2, 3)))
    scores = [[0.1, 0.2, 0.3, 0.4], [0.2, 0.1, 0.3, 0.4], [0.2, 0.2, 0.3, 0.9]]
    found = signs_of([kit.record(kit.slate(), shown, scores)])
    assert found.returned == 0.5
    # Row 1, window (1, 0), reads .1 .2 by slot as window (0, 1) did: one of five that are not flat.
    assert found.echoed == pytest.approx(1 / 5)


def test_slots_explain_a_slot_scorer_and_not_an_honest_one(kit):
    rng = np.random.default_rng(0)
    whole = Presentation(tuple(range(6)), (tuple(range(6)),))
    orders = [tuple(map(int, rng.permutation(6))) for _ in range(8)]
    shown = plan(*(Presentation(order, (order,)) for order in orders), canonical=whole)
    slots = np.array([one.slots() for one in shown.presentations])
    merit = rng.random(6)
    first_row = merit + (np.arange(6) == 0)
    slate = kit.slate(ids="abcdef")
    first = signs_of([kit.record(slate, shown, merit + (slots == 0))])
    assert first.first_share == pytest.approx(1)
    assert first.slot_share == pytest.approx(1)
    assert first.first_gain == pytest.approx(1 / first_row.std())
    assert first.by_slot < 0.95
    linear = signs_of([kit.record(slate, shown, merit - 0.2 * slots)])
    assert linear.slot_share == pytest.approx(1)
    assert linear.first_share < 0.8
    only = signs_of([kit.record(slate, shown, 1 - slots / 6)])
    assert only.by_slot == pytest.approx(1)
    honest = signs_of([kit.record(slate, shown, np.tile(merit, (10, 1)))])
    assert honest.by_slot < 0.5
    assert (honest.change, honest.slot_change) == (0, 0)


def test_constant_and_missing(kit):
    shown = plan(windows((1, 0), (2, 3)))
    flat = signs_of([kit.record(kit.slate(), shown, np.full((3, 4), 0.5))])
    assert (flat.constant, flat.change, flat.tied) == (1, 0, 1)
    assert math.isnan(flat.ends)
    gone = signs_of([kit.record(kit.slate(), shown, np.full((3, 4), np.nan))])
    assert (gone.slates, gone.scores) == (0, 0)
    assert signs_of([]).slates == 0
