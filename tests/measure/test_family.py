import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from evenhand.errors import UsageError
from evenhand.measure.family import holm

NAN = float("nan")


def test_by_hand():
    # Sorted .01 .02 .03 .04: 4 x .01 = .04, 3 x .02 = .06, 2 x .03 = .06, 1 x .04 lifted to .06.
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.6, 0.5]) == pytest.approx([1.0, 1.0])
    assert holm([]).shape == (0,)


@pytest.mark.parametrize("size", [1, 2, 5, 40])
def test_equals_statsmodels(size):
    rng = np.random.default_rng(size)
    for _ in range(10):
        # Squares are small p-values too, the rounding makes ties.
        p_values = np.round(rng.random(size) ** 4, 2)
        theirs = multipletests(p_values, alpha=0.05, method="holm")[1]
        assert holm(p_values) == pytest.approx(theirs, abs=1e-12)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_keeps_the_order_and_never_lowers(p_values):
    found = holm(p_values)
    assert (found >= np.array(p_values)).all()
    assert (np.diff(found[np.argsort(p_values, kind="stable")]) >= 0).all()


def test_what_was_not_tested_does_not_count():
    assert holm([NAN, 0.01, NAN, 0.02]) == pytest.approx([NAN, 0.02, NAN, 0.02], nan_ok=True)
    assert np.isnan(holm([NAN])).all()


def test_wrong_use_is_refused():
    with pytest.raises(UsageError, match=r"shape \(1, 1\)"):
        holm([[0.1]])
    with pytest.raises(UsageError, match=r"got 1\.5"):
        holm([0.1, 1.5])


@pytest.mark.slow
def test_false_calls_in_a_family_stay_under_alpha():
    # 2,000 families of 5 true nulls: P(any call) <= .05; 3 sd of the share are .015.
    rng = np.random.default_rng(0)
    any_call = [(holm(rng.random(5)) <= 0.05).any() for _ in range(2000)]
    assert np.mean(any_call) <= 0.065
