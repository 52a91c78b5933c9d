"""From a teacher's scores to labels in [0, 1], each way declared and recorded.

- ``unit``: scores are in [0, 1] already and stay as they are.
- ``logistic``: 1 / (1 + exp(-(a + b x))), the same for every slate. a and b are
  fitted so that two quantiles of all scores get two values; a candidate's label does
  not depend on the others of its slate.
- ``rank``: the share of the others of its slate that a candidate beats in a row, ties
  half. It keeps the order alone, and a label depends on the others of the slate.

There is no min-max: it couples candidates as ranks do, and looks as if it did not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from scipy.special import expit, logit
from scipy.stats import rankdata

from evenhand.errors import InputError, UsageError
from evenhand.measure.checks import finite, inside
from evenhand.types import FloatArray

Kind = Literal["unit", "logistic", "rank"]


@dataclass(frozen=True, slots=True)
class LabelScale:
    """How scores become labels.

    Attributes:
        kind: "unit", "logistic" or "rank".
        quantiles: two shares of all scores, rising, where a logistic is fitted.
        values: the labels that these get.
        a, b: of the logistic; None = to be fitted.

    Raises:
        UsageError: an unknown kind, or numbers that fit no rising logistic.
    """

    kind: Kind = "unit"
    quantiles: tuple[float, float] = (0.05, 0.95)
    values: tuple[float, float] = (0.05, 0.95)
    a: float | None = None
    b: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise UsageError(f"unknown scale {self.kind!r}; known are {sorted(get_args(Kind))}")
        for name in ("quantiles", "values"):
            pair = getattr(self, name)
            if len(pair) != 2 or not inside(name, pair[0]) < inside(name, pair[1]):
                raise UsageError(f"{name} must be two rising numbers between 0 and 1, got {pair!r}")
        if (self.a is None) != (self.b is None):
            raise UsageError("a logistic has both a and b, or neither: then they are fitted")
        if self.a is not None and not (math.isfinite(finite("a", self.a)) and finite("b", self.b) > 0):
            raise UsageError(
                f"b must be above 0, so that higher scores give higher labels, got {self.b}"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the choice as records hold it; what the kind does not use is left out."""
        if self.kind != "logistic":
            return {"kind": self.kind}
        fit = {"quantiles": list(self.quantiles), "values": list(self.values)}
        return {"kind": self.kind, **fit, "a": self.a, "b": self.b}


def parse_scale(text: str) -> LabelScale:
    """Return the scale that a text names.

    Forms: "unit"; "rank"; "logistic", fitted to .05 and .95; "logistic:0.1,0.9", the
    quantiles of .1 and .9 get .1 and .9; "logistic:a=1,b=2", given.

    Raises:
        UsageError: no such form.
    """
    kind, colon, rest = text.partition(":")
    if kind not in get_args(Kind) or (colon and kind != "logistic"):
        raise UsageError(
            f"unknown scale {text!r}; known are unit, rank, logistic, logistic:LOW,HIGH and "
            "logistic:a=A,b=B"
        )
    if not colon:
        return LabelScale(kind)  # type: ignore[arg-type]  # held against the known kinds above
    names, numbers = zip(*(_named(part) for part in rest.split(",")), strict=True)
    if names == ("a", "b"):
        return LabelScale("logistic", a=numbers[0], b=numbers[1])
    if names != ("", ""):
        raise UsageError(f"scale {text!r}: give two numbers, LOW,HIGH, or a=A,b=B")
    return LabelScale("logistic", numbers, numbers)


def _named(part: str) -> tuple[str, float]:
    name, _, number = part.rpartition("=")
    try:
        return name.strip(), float(number)
    except ValueError:
        raise UsageError(f"a scale takes numbers, got {part!r}") from None


def chosen(scale: LabelScale | str | None, teacher: Mapping[str, Any]) -> LabelScale:
    """Return the scale to use for a teacher's scores.

    Args:
        scale: what was asked for; None = unit for a teacher on that scale.
        teacher: its facts; {} when nothing is known of it.

    Raises:
        UsageError: none was asked for, or unit, and the teacher's scores are on another scale.
    """
    own = teacher.get("scale", "unit")
    asked = parse_scale(scale) if isinstance(scale, str) else scale
    if own != "unit" and (asked is None or asked.kind == "unit"):
        raise UsageError(
            f"the scores of {teacher.get('name')} are on the scale {own!r}, and labels are in [0, 1]; "
            "choose --scale logistic (the same curve for every slate) or --scale rank (order within a "
            "slate alone); in Python scale='logistic'. Min-max is not offered: a label would "
            "depend on the other candidates"
        )
    return asked or LabelScale()


def fitted(scale: LabelScale, scores: Sequence[FloatArray]) -> LabelScale:
    """Return the scale with a and b known.

    Args:
        scale: of any kind; one that is not to be fitted is returned as it is.
        scores: (T, n) of every slate, NaN = missing, left out.

    Raises:
        InputError: there are no scores, or the two quantiles are the same score.
    """
    if scale.kind != "logistic" or scale.a is not None:
        return scale
    every = np.concatenate([np.ravel(one) for one in scores]) if len(scores) else np.array([])
    every = every[~np.isnan(every)]
    if not every.size:
        raise InputError("a logistic cannot be fitted: there are no scores")
    low, high = np.quantile(every, scale.quantiles)
    if not low < high:
        raise InputError(
            f"a logistic cannot be fitted: the quantiles {scale.quantiles} of the scores are both "
            f"{low:g}; name quantiles further apart, or use scale='rank'"
        )
    bottom, top = logit(scale.values)
    b = (top - bottom) / (high - low)
    return replace(scale, a=float(bottom - b * low), b=float(b))


def mapped(scale: LabelScale, scores: FloatArray) -> FloatArray:
    """Return (T, n) labels for (T, n) scores; missing stays NaN.

    Raises:
        UsageError: a logistic that is not fitted.
    """
    if scale.kind == "unit":
        return scores
    if scale.kind == "rank":
        return _beaten(scores)
    if scale.a is None or scale.b is None:
        raise UsageError("this logistic is not fitted yet; call fitted(scale, scores) first")
    return np.asarray(expit(scale.a + scale.b * scores), dtype=np.float64)


def _beaten(scores: FloatArray) -> FloatArray:
    """Return the share of the other known candidates of its row that each beats, ties half.

    A candidate without others gets .5.
    """
    if not scores.size:
        return scores
    ranks = rankdata(scores, axis=1, nan_policy="omit")
    others = (~np.isnan(scores)).sum(axis=1, keepdims=True) - 1
    shares = (ranks - 1) / np.maximum(others, 1)
    return np.where(np.isnan(scores), np.nan, np.where(others > 0, shares, 0.5))


def over_orders(labels: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    """Return mean and standard deviation (divisor T) over the orders of (T, n) labels.

    Both are (n,). A candidate that lacks a label in any order has NaN: a mean over
    those known would be of other orders than that of its neighbours. Under two
    orders there is no deviation: None.
    """
    # From the first order, so that what never moves is exact.
    moved = labels - labels[0]
    mean = np.clip(labels[0] + moved.mean(axis=0), labels.min(axis=0), labels.max(axis=0))
    return mean, moved.std(axis=0) if len(labels) > 1 else None
