"""The decision whose doubt adaptive spends orders on: a threshold, or the top k."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from evenhand.errors import UsageError, require_count
from evenhand.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Rule:
    """Which candidates are chosen by their scores: exactly one of the two is set.

    Attributes:
        threshold: candidates at or above it are chosen.
        top: the `top` highest are chosen, ties by `seeds.tie_ranks`; 1 = best of n.

    Raises:
        UsageError: none or both are set, or one is out of range.
    """

    threshold: float | None = None
    top: int | None = None

    def __post_init__(self) -> None:
        if (self.threshold is None) == (self.top is None):
            came = "none" if self.top is None else f"threshold={self.threshold} and top={self.top}"
            raise UsageError(
                "adaptive needs the decision that its orders are spent on: one of threshold=T, top=K "
                f'and best (top=1), e.g. "adaptive:threshold=0.5"; got {came}'
            )
        if self.top is not None:
            require_count("adaptive: top", self.top)
            return
        value = self.threshold
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise UsageError(f"adaptive: threshold must be a finite number, got {value!r}")
        object.__setattr__(self, "threshold", float(value))

    def chosen(self, scores: FloatArray, ties: IntArray) -> BoolArray:
        """Return which candidates the rule chooses; a missing one never.

        Args:
            scores: (..., n). ties: (n,) ranks that decide ties, lower first.
        """
        if self.threshold is not None:
            return np.asarray(scores >= self.threshold)
        keys = np.where(np.isnan(scores), np.inf, -scores)
        order = np.lexsort((np.broadcast_to(ties, keys.shape), keys), axis=-1)
        places = np.argsort(order, axis=-1)
        return np.asarray((places < (self.top or 0)) & ~np.isnan(scores))

    def p_values(
        self, mean: FloatArray, error: FloatArray, df: FloatArray, ties: IntArray
    ) -> FloatArray:
        """Return the two-sided p-value of each candidate's distance from the boundary.

        The boundary of the top k is, for a chosen candidate, the best of the others, and
        the last chosen one for the others; its standard error counts too.

        Args:
            mean, error, df: (n,) means, their standard errors, degrees of freedom.
            ties: (n,) ranks that decide ties.

        Returns:
            (n,), small = settled; 0 where nothing can move (no error, or all are chosen);
            NaN where the mean is missing.
        """
        if self.threshold is not None:
            return _two_sided(mean - self.threshold, error, df)
        chosen = self.chosen(mean, ties)
        others = ~chosen & ~np.isnan(mean)
        if not chosen.any() or not others.any():
            return np.where(np.isnan(mean), np.nan, 0.0)
        best = int(np.flatnonzero(others)[np.lexsort((ties[others], -mean[others]))[0]])
        last = int(np.flatnonzero(chosen)[np.lexsort((ties[chosen], -mean[chosen]))[-1]])
        rival = np.where(chosen, best, last)
        both = np.hypot(error, error[rival])
        return _two_sided(mean - mean[rival], both, np.minimum(df, df[rival]))


def _two_sided(distance: FloatArray, error: FloatArray, df: FloatArray) -> FloatArray:
    fixed = error == 0
    size = np.abs(distance) / np.where(fixed, 1.0, error)
    p = 2 * stdtr(np.minimum(df, 1e9), -size)
    return np.asarray(np.where(fixed & ~np.isnan(distance), 0.0, p))
