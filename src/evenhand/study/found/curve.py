"""How the agreement of retained sets depends on the threshold."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from evenhand.measure.sweep import overlap_at
from evenhand.study.analysis import Curve

POINTS = 41
_NAMES = ("overlap", "overlap_without_empty", "retained")


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
