"""How the agreement of retained sets depends on the threshold."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from evenhand.study.analysis import Curve
from evenhand.types import FloatArray

POINTS = 41
_NAMES = ("overlap", "overlap_without_empty", "retained")


def overlap_at(scores: ArrayLike, thresholds: FloatArray, *, exhaustive: bool = False) -> FloatArray:
    """Return overlap, overlap without empty pairs and retained share at many thresholds.

    The values are those of `measure.decision` at each threshold, in one go.

    Args:
        scores: (M, n), NaN = missing.
        thresholds: (T,).
        exhaustive: the rows are all there are, so a row also pairs with itself.

    Returns:
        (3, T); NaN where undefined.
    """
    rows = np.asarray(scores, dtype=np.float64)
    present = ~np.isnan(rows)
    rows, present = rows[present.any(axis=1)], present[present.any(axis=1)]
    result = np.full((3, len(thresholds)), np.nan)
    if not len(rows):
        return result
    known = present.astype(np.float64)
    kept = (np.where(present, rows, -np.inf)[None] >= thresholds[:, None, None]).astype(np.float64)
    result[2] = (kept.sum(axis=2) / known.sum(axis=1)).mean(axis=1)
    # A candidate that either row of a pair lacks is left out of that pair.
    shared = kept @ kept.swapaxes(1, 2)
    within = kept @ known.T
    union = within + within.swapaxes(1, 2) - shared
    pairs = (
        np.ones((len(rows), len(rows)), dtype=bool)
        if exhaustive
        else np.tri(len(rows), k=-1, dtype=bool)
    )
    pairs &= (known @ known.T) >= 2
    if len(rows) < 2 or not pairs.any():
        return result
    jaccard = np.where(union > 0, shared / np.maximum(union, 1), 1.0)[:, pairs]
    filled = (union > 0)[:, pairs]
    result[0] = jaccard.mean(axis=1)
    counts = filled.sum(axis=1)
    sums = (jaccard * filled).sum(axis=1)
    np.divide(sums, counts, out=result[1], where=counts > 0)
    return result


class OverlapCurve:
    """Collects `overlap_at` over slates, at thresholds spread over a range of scores."""

    def __init__(self, low: float, high: float, points: int = POINTS) -> None:
        """Spread the thresholds evenly from low to high, both included."""
        self.thresholds = np.unique(np.linspace(low, high, points))
        self._sums = np.zeros((3, len(self.thresholds)))
        self._counts = np.zeros((3, len(self.thresholds)))

    def add(self, scores: ArrayLike, *, exhaustive: bool = False) -> None:
        """Count one slate's (M, n) random rows."""
        values = overlap_at(scores, self.thresholds, exhaustive=exhaustive)
        self._sums += np.nan_to_num(values)
        self._counts += ~np.isnan(values)

    @property
    def curve(self) -> Curve:
        """Means over the slates where each value is defined, NaN where none is."""
        means = np.full(self._sums.shape, np.nan)
        np.divide(self._sums, self._counts, out=means, where=self._counts > 0)
        return Curve(self.thresholds, dict(zip(_NAMES, means, strict=True)))
