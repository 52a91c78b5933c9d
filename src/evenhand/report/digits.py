"""How numbers are written: fixed digits, and a dash for what is not a number."""

from __future__ import annotations

import math

from evenhand.types import Estimate

NONE = "–"


def number(value: float, digits: int = 3) -> str:
    """Return a number with fixed digits, a dash when it is not finite."""
    if not math.isfinite(value):
        return NONE
    text = f"{value:.{digits}f}"
    return f"{0:.{digits}f}" if float(text) == 0 else text


def count(value: float) -> str:
    """Return a count or cost with thousands separated, a dash when not finite."""
    if not math.isfinite(value):
        return NONE
    return f"{value:,.0f}" if value >= 100 or float(value).is_integer() else f"{value:,.1f}"


def interval(estimate: Estimate) -> str:
    """Return a mean and its interval."""
    mean, low, high = map(number, (estimate.mean, estimate.low, estimate.high))
    return f"{mean} [{low}, {high}]"
