"""What comes from outside, held against what is needed, and refused by name.

Every check says what came, what is needed and, where that is not plain, what to
do. A measure that is handed a text, None or infinity then tells so itself, instead
of some library deep below it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np

from evenhand.errors import UsageError
from evenhand.types import FloatArray

_SHOWN = 80


def came(value: object) -> str:
    """Return a value as a message shows it: short, whatever it is."""
    try:
        text = repr(value)
    except Exception:
        return f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... (a {type(value).__name__})"


def whole(name: str, value: object, least: int = 1) -> int:
    """Return a whole number, of numpy too, as a plain one.

    Args:
        name: what the number is called. value: what came.
        least: the lowest that is allowed.

    Raises:
        UsageError: it is no whole number, or below `least`.
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral) or int(value) < least:
        raise UsageError(f"{name} must be at least {least}, a whole number, got {came(value)}")
    return int(value)


def integer(name: str, value: object) -> int:
    """Return a whole number of any sign, a seed for one.

    Raises:
        UsageError: it is none.
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral):
        raise UsageError(f"{name} must be a whole number, got {came(value)}")
    return int(value)


def finite(name: str, value: object) -> float:
    """Return a finite number as a float.

    Raises:
        UsageError: it is no number, NaN or infinite.
    """
    number = _number(value)
    if number is None or not math.isfinite(number):
        raise UsageError(f"{name} must be a finite number, got {came(value)}")
    return number


def cut_value(name: str, value: object) -> float:
    """Return a threshold as a float; infinity keeps all or nothing and is allowed.

    Raises:
        UsageError: it is no number, or NaN.
    """
    number = _number(value)
    if number is None or math.isnan(number):
        raise UsageError(f"{name} must be a number, got {came(value)}")
    return number


def inside(name: str, value: object, *, low: float = 0.0, high: float = 1.0) -> float:
    """Return a number between two bounds, both excluded.

    Raises:
        UsageError: it is no number, or not between them.
    """
    number = _number(value)
    if number is None or not low < number < high:
        raise UsageError(f"{name} must lie between {low:g} and {high:g}, got {came(value)}")
    return number


def _number(value: object) -> float | None:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf


def choice(name: str, value: object, known: Iterable[str]) -> None:
    """Refuse a word that is none of the known ones, which are listed.

    Raises:
        UsageError: it is none of them.
    """
    words = list(known)
    if not isinstance(value, str) or value not in words:
        raise UsageError(f"unknown {name} {came(value)}; known are {sorted(words)}")


def resampling(draws: object, seed: object, level: object) -> None:
    """Refuse draws, a seed or a level that no bootstrap can use.

    Raises:
        UsageError: draws < 1, a level outside (0, 1), or no whole number where one is needed.
    """
    whole("draws", draws)
    integer("seed", seed)
    inside("level", level)


def listed(name: str, value: object, what: str) -> list[Any]:
    """Return the items of an iterable that is no text and no mapping.

    Args:
        name: what the value is called. value: what came.
        what: what its items are, in words.

    Raises:
        UsageError: it is none.
    """
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise UsageError(f"{name} must be a list of {what}, got {came(value)}")
    try:
        return list(value)
    except TypeError:  # an array of no dimensions calls itself iterable
        raise UsageError(f"{name} must be a list of {what}, got {came(value)}") from None


def known_names(name: str, given: Iterable[object], known: Collection[object], what: str) -> None:
    """Refuse names that nothing has.

    Args:
        name: what the names are an argument of. given: the names.
        known: those there are. what: what they would name, in words.

    Raises:
        UsageError: lists the unknown ones and the first of the known.
    """
    unknown = [one for one in given if one not in known]
    if unknown:
        first = [one for one, _ in zip(known, range(5), strict=False)]
        more = ", ..." if len(known) > len(first) else ""
        raise UsageError(
            f"{name} names {', '.join(map(came, unknown[:5]))}, no {what}; known are "
            f"{', '.join(map(came, first))}{more}"
        )


def floats(name: str, values: object, *, infinite: bool = False) -> FloatArray:
    """Return numbers as a float64 array of their shape; None inside stands for NaN.

    Args:
        name: what the numbers are called. values: what came.
        infinite: let infinity pass.

    Raises:
        UsageError: they are no numbers, their lines differ in length, or one is infinite.
    """
    try:
        found = np.asarray(values)
        if found.dtype.kind == "O" and not any(isinstance(one, (str, bytes)) for one in found.flat):
            found = found.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise _no_numbers(name, values) from None
    if found.dtype.kind not in "biuf":
        raise _no_numbers(name, values)
    result = found.astype(np.float64, copy=False)
    if not infinite and np.isinf(result).any():
        raise UsageError(f"{name} must be finite, or NaN where missing; {came(values)} holds infinity")
    return result


def _no_numbers(name: str, values: object) -> UsageError:
    return UsageError(f"{name} must be numbers, in lines of one length, got {came(values)}")


def same_places(name: str, places: object, shape: tuple[int, ...]) -> np.ndarray:
    """Return whole numbers that fit (M, n) scores, one line for all rows or one for each.

    Raises:
        UsageError: they are no whole numbers, or do not fit.
    """
    found = floats(name, places)
    if found.shape not in (shape, shape[1:]):
        raise UsageError(f"{name} of shape {found.shape} for scores of shape {shape}")
    if (found != np.floor(found)).any():
        raise UsageError(f"{name} must be whole numbers, got {came(places)}")
    return found.astype(np.int64)


def of_kind(name: str, items: Iterable[object], kind: type) -> None:
    """Refuse items of which one is not of a kind.

    Raises:
        UsageError: shows the first of them.
    """
    for one in items:
        if not isinstance(one, kind):
            raise UsageError(f"{name} must hold {kind.__name__}, got {came(one)}")
