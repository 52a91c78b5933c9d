import math

import numpy as np
import pytest

from evenhand.measure.silver import label_variances, silver_beta, silver_beta_pooled

NAN = float("nan")
# Two orders, three candidates: labels differ by 0, .2 and .2 between the orders.
LABELS = np.array([[0.1, 0.4, 0.9], [0.1, 0.6, 0.7]])


def test_by_hand():
    # Variances over orders 0, .01, .01: mean .02/3. Means .1, .5, .8, their mean 1.4/3,
    # their variance (.01 + .25 + .64)/3 - (1.4/3)^2 = .3 - .217778 = .082222.
    within, between = label_variances(LABELS)
    assert within == pytest.approx(0.02 / 3)
    assert between == pytest.approx(0.3 - (1.4 / 3) ** 2)
    assert silver_beta(LABELS) == pytest.approx((0.02 / 3) / (0.02 / 3 + 0.3 - (1.4 / 3) ** 2))


def test_it_is_the_share_of_all_variance_that_is_within_candidates():
    labels = np.random.default_rng(0).random((7, 12))
    assert silver_beta(labels) == pytest.approx(labels.var(axis=0).mean() / labels.var())


def test_consistent_labels_are_exactly_0_and_equal_ones_undefined():
    assert silver_beta(np.tile([0.1, 0.7, 0.3], (5, 1))) == 0
    assert math.isnan(silver_beta(np.full((5, 3), 0.1)))
    # Every candidate is 0 once and 1 once: on average they do not differ.
    assert silver_beta([[0, 1], [1, 0]]) == 1


def test_labels_that_say_nothing_and_the_correction():
    slates = np.random.default_rng(1).normal(size=(2000, 4, 10))
    # (T - 1) / T for independent labels, 1 when corrected.
    assert silver_beta_pooled(slates) == pytest.approx(0.75, abs=0.02)
    assert silver_beta_pooled(slates, corrected=True) == pytest.approx(1, abs=0.01)


def test_the_correction_recovers_dialled_variances():
    rng = np.random.default_rng(2)
    slates = rng.normal(size=(3000, 1, 6)) * 2 + rng.normal(size=(3000, 3, 6))
    # 1 / (1 + 4); uncorrected (2/3) / (2/3 + (4 + 1/3) * 5/6) = .156.
    assert silver_beta_pooled(slates, corrected=True) == pytest.approx(0.2, abs=0.01)
    assert silver_beta_pooled(slates) == pytest.approx(0.1558, abs=0.01)


def test_pooled_weighs_slates_by_their_variance():
    # Slate 2 has within .25 and between 0; slate 1 within 0 and between .25.
    first, second = [[0, 1], [0, 1]], [[0, 1], [1, 0]]
    assert silver_beta_pooled([first, second]) == 0.5
    # Halved labels of the second: within .0625, so .0625 / (.0625 + .25).
    assert silver_beta_pooled([first, np.array(second) / 2]) == pytest.approx(0.2)
    assert silver_beta_pooled([first, [[NAN, NAN]]]) == 0
    assert math.isnan(silver_beta_pooled([]))


def test_missing_labels():
    holed = np.vstack([LABELS, [NAN, NAN, NAN]])
    assert silver_beta(holed) == silver_beta(LABELS)
    # A candidate that one order lacks is left out.
    wider = np.hstack([LABELS, [[0.5], [NAN]]])
    assert silver_beta(wider) == silver_beta(LABELS)
    for too_little in (LABELS[:1], LABELS[:, :1], np.full((3, 3), NAN)):
        assert math.isnan(silver_beta(too_little))


def test_shift_and_scale_do_not_matter():
    assert silver_beta(LABELS * 3 + 7) == pytest.approx(silver_beta(LABELS))
