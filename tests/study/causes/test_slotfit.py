"""Least squares on slots, by hand and against numpy's own."""

import math

import numpy as np
import pytest

from evenhand.study.causes.slotfit import SlotFit, ratio
from evenhand.types import Presentation


def whole(order):
    order = tuple(map(int, order))
    return Presentation(order, (order,))


def test_two_orders_of_two_by_hand():
    # Slot 0 scores 1, slot 1 scores 0, whoever stands there.
    fit = SlotFit()
    fit.add(np.array([[1.0, 0.0], [0.0, 1.0]]), [whole((0, 1)), whole((1, 0))])
    # Four scores .5 from the mean of their window and of their candidate: 4 * .25.
    assert (fit.within, fit.within_by_slot) == pytest.approx((1.0, 1.0))
    assert (fit.moved, fit.moved_by_slot, fit.moved_by_first) == pytest.approx((1.0, 1.0, 1.0))
    assert fit.gains == pytest.approx([1.0])
    assert fit.noise == pytest.approx(0.0, abs=1e-9)


def test_against_a_full_regression_on_dummies():
    rng = np.random.default_rng(2)
    n, rows = 5, 7
    shown = [whole(rng.permutation(n)) for _ in range(rows)]
    slots = np.array([one.slots() for one in shown])
    scores = rng.random((rows, n)) + 0.3 * slots
    fit = SlotFit()
    fit.add(scores, shown)
    candidate = np.tile(np.eye(n), (rows, 1))
    slot = np.eye(n)[slots.ravel()]

    def rest(columns):
        found, *_ = np.linalg.lstsq(columns, scores.ravel(), rcond=None)
        return float(((scores.ravel() - columns @ found) ** 2).sum())

    assert fit.moved == pytest.approx(rest(candidate))
    assert fit.moved - fit.moved_by_slot == pytest.approx(rest(np.hstack([candidate, slot])))
    assert fit.moved - fit.moved_by_first == pytest.approx(rest(np.hstack([candidate, slot[:, :1]])))
    assert fit.noise == pytest.approx(math.sqrt(rest(np.hstack([candidate, slot])) / (n * rows)))


def test_windows_have_means_of_their_own():
    # Two windows far apart; inside them the slot adds 1.
    fit = SlotFit()
    shown = [Presentation((0, 1, 2, 3), ((0, 1), (2, 3))), Presentation((1, 0, 3, 2), ((1, 0), (3, 2)))]
    fit.add(np.array([[1.0, 0, 9, 8], [0, 1.0, 8, 9]]), shown)
    assert fit.within == pytest.approx(2.0)
    assert ratio(fit.within_by_slot, fit.within) == pytest.approx(1.0)


def test_nothing_explains_nothing():
    assert math.isnan(SlotFit().noise)
    assert math.isnan(ratio(1.0, 0.0))
