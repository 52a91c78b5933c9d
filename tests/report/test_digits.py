import math

import pytest

from evenhand.report.digits import count, interval, number
from evenhand.types import Estimate


@pytest.mark.parametrize(
    ("value", "shown"), [(0.12345, "0.123"), (-0.0001, "0.000"), (-0.25, "-0.250"), (math.nan, "–")]
)
def test_number_has_three_digits_and_no_negative_zero(value, shown):
    assert number(value) == shown


def test_count_separates_thousands_and_keeps_small_fractions():
    assert [count(v) for v in (5.0, 2.5, 1234.5, math.nan)] == ["5", "2.5", "1,234", "–"]


def test_an_interval_is_shown_as_it_is():
    found = Estimate(-0.01, -0.2, 0.25, 5, 0, 0.95)
    assert interval(found) == "-0.010 [-0.200, 0.250]"
    lone = Estimate(0.5, math.nan, math.nan, 1, 0, 0.95)
    assert interval(lone) == "0.500 [–, –]"
