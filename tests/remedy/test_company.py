import numpy as np
import pytest

from evenhand.remedy.company import LEAST_FREE, company, coupling
from evenhand.remedy.shows import first_orders
from evenhand.types import Presentation


def test_company_by_hand():
    # Means: of all .3; the window (0, 1) has .1 and .2, the window (2, 3) .3 and .6.
    known = np.array([0.1, 0.2, 0.3, 0.6])
    found = company(Presentation((0, 1, 2, 3), ((0, 1), (2, 3))), known)
    # Candidate 0: companion .2, all others (.2 + .3 + .6) / 3 = .366667: -.166667. Candidate 3:
    # .3 - (.1 + .2 + .3) / 3 = .1; 1: .1 - 1 / 3; 2: .6 - .3.
    np.testing.assert_allclose(found, [-1 / 6, 0.1 - 1 / 3, 0.3, 0.1])


def test_company_alone_not_shown_or_unknown():
    known = np.array([0.0, 0.4, 0.8, np.nan])
    found = company(Presentation((0, 1), ((0,), (1,)), omitted=(2, 3)), known)
    np.testing.assert_array_equal(found, [0, 0, np.nan, np.nan])
    # An unknown companion counts as an average one (.4): of candidate 0, whose others have .6.
    found = company(Presentation((0, 3), ((0, 3),), omitted=(1, 2)), known)
    assert found[0] == pytest.approx(0.4 - 0.6)


def test_company_of_one_window_is_average():
    found = company(Presentation((2, 0, 1), ((2, 0, 1),)), np.array([0.1, 0.5, 0.9]))
    np.testing.assert_allclose(found, 0, atol=1e-15)


def test_company_of_nothing_known():
    found = company(Presentation((0, 1), ((0, 1),)), np.array([np.nan, np.nan]))
    assert np.isnan(found).sum() == 0 or np.isnan(found).all()


def rows(slope, noise, n=60, width=10, seed=0):
    rng = np.random.default_rng(seed)
    relevance = rng.random(n)
    outer = Presentation(
        tuple(range(n)), tuple(tuple(range(a, min(a + width, n))) for a in range(0, n, width))
    )
    orders = first_orders(outer, 2, rng)
    scores = np.array([relevance + slope * company(order, relevance) for order in orders])
    return scores + noise * rng.standard_normal(scores.shape), orders


def test_a_planted_slope_is_found():
    assert coupling(*rows(-0.3, 0.01)) == pytest.approx(-0.3, abs=0.04)


def test_without_coupling_nothing_is_found():
    # 99% of slates give exactly 0.
    assert np.mean([coupling(*rows(0.0, 0.05, seed=seed)) != 0 for seed in range(100)]) <= 0.05


def test_shift_of_whole_windows_is_no_coupling():
    found = []
    for seed in range(40):
        scores, orders = rows(0.0, 0.01, seed=seed)
        rng = np.random.default_rng(seed)
        for row, order in zip(scores, orders, strict=True):
            for window in order.windows:
                row[list(window)] += 0.05 * rng.standard_normal()
        found.append(coupling(scores, orders))
    # Candidates of a window are not independent then, but their slopes go both ways.
    assert abs(np.mean(found)) < 0.05


def test_too_little_to_tell():
    few = LEAST_FREE
    assert coupling(*rows(-0.5, 0.001, n=few, width=5)) == 0
    # One window: company does not differ between orders.
    assert coupling(*rows(-0.5, 0.001, n=40, width=40)) == 0
    scores, orders = rows(-0.5, 0.001)
    assert coupling(np.full_like(scores, np.nan), orders) == 0
    assert coupling(np.ones_like(scores), orders) == 0
