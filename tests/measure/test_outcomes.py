import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.errors import UsageError
from evenhand.measure.outcomes import majority, modal_flip, modal_from_pairwise, pairwise_flip


def test_flips_by_hand():
    # Shares .5, .25, .25 over 4 rows: 4/3 * (1 - .375) = .8333; all pairs .625; modal .5.
    outcomes = ["x", "x", "y", "z"]
    assert pairwise_flip(outcomes) == pytest.approx(5 / 6)
    assert pairwise_flip(outcomes, exhaustive=True) == 0.625
    assert modal_flip(outcomes) == 0.5


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from("abcd"), min_size=2, max_size=8))
def test_pairwise_is_the_share_of_pairs_that_differ(outcomes):
    pairs = list(itertools.combinations(outcomes, 2))
    assert pairwise_flip(outcomes) == pytest.approx(sum(a != b for a, b in pairs) / len(pairs))
    everyone = list(itertools.product(outcomes, outcomes))
    differ = sum(a != b for a, b in everyone) / len(everyone)
    assert pairwise_flip(outcomes, exhaustive=True) == pytest.approx(differ)
    rows = len(outcomes)
    assert modal_flip(outcomes) <= pairwise_flip(outcomes) * (rows - 1) / rows + 1e-12


@pytest.mark.parametrize("count", range(6))
def test_two_outcomes_turn_pairwise_into_modal(count):
    outcomes = ["x"] * count + ["y"] * (10 - count)
    modal = modal_flip(outcomes)
    assert modal_from_pairwise(pairwise_flip(outcomes), 10) == pytest.approx(modal)
    every = pairwise_flip(outcomes, exhaustive=True)
    assert modal_from_pairwise(every) == pytest.approx(modal)


def test_more_than_two_outcomes_are_refused():
    with pytest.raises(UsageError, match="two outcomes cannot have"):
        modal_from_pairwise(1.0, 10)
    with pytest.raises(UsageError, match="pairwise must be a finite number, got nan"):
        modal_from_pairwise(float("nan"))
    with pytest.raises(UsageError, match="at least 2, a whole number, got 1"):
        modal_from_pairwise(0.5, 1)


def test_missing_outcomes_are_left_out():
    assert pairwise_flip(["x", None, "y", "y"]) == pairwise_flip(["x", "y", "y"])
    assert modal_flip(["x", None, "y", "y"]) == pytest.approx(1 / 3)
    for measure in (pairwise_flip, modal_flip):
        assert math.isnan(measure(["x", None]))
        assert math.isnan(measure([]))


def test_majority():
    assert majority(["x", "y", "y", None]) == "y"
    assert majority(["x", "x"]) == "x"
    assert majority(["x", "y"]) is None
    assert majority([None]) is None
