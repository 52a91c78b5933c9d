"""A look at held-out slates: known scorers give known numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from train_help import make_slate

from evenhand.measure.decision import overlap
from evenhand.measure.order import tau_psi
from evenhand.score import open_scorer, scorer
from evenhand.train.evaluate import COLLAPSED, guard, hold_out

GRADES = {"c0": 3, "c2": 1}


def held(count=3, n=4):
    return [make_slate(f"h{i}", n=n, grades=GRADES) for i in range(count)]


def by_place(query, texts):
    return [1 - i / len(texts) for i in range(len(texts))]


def test_an_order_free_scorer_is_perfectly_steady():
    found = hold_out(scorer(lambda q, texts: [float(len(t)) for t in texts]), held(), rows=4, width=2)
    assert found.psi.tolist() == [0, 0, 0]
    assert found.overlap.tolist() == [1, 1, 1]
    assert found.residual.tolist() == [0, 0, 0]
    assert found.served.tolist() == found.shuffled.tolist()
    assert found.missing == 0


def test_quality_by_hand():
    # Grades 3 0 1 0 in canonical order: served by place is DCG 3 + 1/2, ideal 3 + 1/log2(3).
    found = hold_out(scorer(by_place), held(), rows=4, width=4)
    assert found.served.tolist() == pytest.approx([3.5 / (3 + 1 / math.log2(3))] * 3)
    assert (found.shuffled < found.served).any()


def test_a_position_scorer_over_all_orders_is_at_a_half():
    # 4 candidates have 24 orders; with 24 rows they are all drawn.
    found = hold_out(scorer(by_place), held(n=4), rows=24, width=4)
    assert found.psi.tolist() == pytest.approx([0.5] * 3)


def test_every_number_is_its_measure():
    # Two look-alikes of the toy, scored once by hand.
    from evenhand.decide.threshold import quantile, retained
    from evenhand.present.design import design

    toy, slates = open_scorer("toy:slot_bias=0.3,noise=0.05"), held(n=9)
    found = hold_out(toy, slates, rows=3, width=4, seed=5)
    drawn = design("reorder", rows=3, width=4, seed=5, surface=toy.surface, repeat=False)
    plans = [drawn.draw(slate) for slate in slates]
    scores = [
        np.array([one.scores for one in toy.score(list(plan.shown(slate)))])
        for slate, plan in zip(slates, plans, strict=True)
    ]
    assert found.psi.tolist() == pytest.approx([tau_psi(one[1:]) for one in scores])
    cut = quantile([one[0] for one in scores])
    sets = [np.array([retained(row, cut) for row in one[1:]]) for one in scores]
    assert found.overlap.tolist() == pytest.approx([overlap(one) for one in sets])
    assert found.spread.tolist() == pytest.approx([one[1:].std(axis=1).mean() for one in scores])
    assert 0 < found.means()["psi"] < 1


def test_missing_scores_are_counted_and_left_out():
    def half(query, texts):
        return [float("nan") if i == 0 else float(len(t)) for i, t in enumerate(texts)]

    found = hold_out(scorer(half), held(n=4), rows=3, width=2)
    # Two of four in each of 4 rows of 3 slates.
    assert found.missing == 24
    assert found.means()["missing"] == 24


def test_slates_without_grades_have_no_quality():
    found = hold_out(scorer(by_place), [make_slate("h", n=4)], rows=3, width=4).means()
    assert math.isnan(found["served"])
    assert math.isnan(found["shuffled"])
    assert found["psi"] > 0


def test_means_leave_undefined_slates_out():
    # A slate of one candidate has no tau-PSI.
    found = hold_out(
        scorer(by_place), [*held(), make_slate("one", n=1, grades=GRADES)], rows=3, width=4
    )
    assert np.isnan(found.psi).tolist() == [False, False, False, True]
    assert found.means()["psi"] == pytest.approx(found.psi[:3].mean())


@pytest.mark.parametrize(
    ("psi", "spread", "reason"),
    [
        (0.1, 0.2, None),
        (0.1, COLLAPSED, None),
        (0.0, 0.0199, "collapsed: scores of a slate spread 0.0199, under 0.02"),
        (float("nan"), 0.2, "no held-out slate has a defined tau-PSI"),
    ],
)
def test_guard(psi, spread, reason):
    found = guard({"psi": psi, "spread": spread})
    assert found is None if reason is None else found.startswith(reason)
