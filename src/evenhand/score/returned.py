"""What a function of the user returned, as numbers; a ValueError says what came instead."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence

import numpy as np

from evenhand.types import FloatArray


def numbers_of(answer: object, n: int) -> FloatArray:
    """Return (n,) float64 from a sequence, an array, or anything whose `tolist()` gives a list.

    Raises:
        ValueError: it is none, or not of n finite numbers or NaN.
    """
    values = answer.tolist() if hasattr(answer, "tolist") else answer
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        raise ValueError(f"{type(answer).__name__} {shortened(answer)}")
    if len(values) != n:
        raise ValueError(f"{len(values)} values for {n} texts")
    found = np.empty(n, dtype=np.float64)
    for place, value in enumerate(values):
        try:
            found[place] = number(value)
        except ValueError as error:
            raise ValueError(f"{error} as the score of text {place}") from None
    return found


def number(value: object) -> float:
    """Return a real number as a float, also out of an array without dimensions.

    Raises:
        ValueError: it is no real number, or infinite.
    """
    plain = value.item() if hasattr(value, "item") and getattr(value, "ndim", 1) == 0 else value
    if not isinstance(plain, numbers.Real):
        raise ValueError(f"{type(value).__name__} {shortened(value)}")
    try:
        found = float(plain)
    except OverflowError:
        found = math.inf
    if math.isinf(found):
        raise ValueError(f"the infinite {shortened(plain)}")
    return found


def shortened(value: object) -> str:
    """Return how a value prints, cut after 60 signs."""
    try:
        shown = repr(value)
    except ValueError:  # an integer too long to be written out
        return "of too many digits"
    return shown if len(shown) <= 60 else shown[:60] + "..."
