"""How far slots explain the scores of a slate's rows, by least squares."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from evenhand.types import FloatArray, IntArray, Presentation


def ratio(part: float, whole: float) -> float:
    """Return part over whole, NaN when the whole is nothing."""
    return part / whole if whole > 0 else math.nan


def _explained(residuals: FloatArray, regressors: FloatArray) -> float:
    """Return the sum of squares of a centred vector that centred columns explain."""
    found, *_ = np.linalg.lstsq(regressors, residuals, rcond=None)
    left = residuals - regressors @ found
    return float(residuals @ residuals - left @ left)


def _centred(values: FloatArray, groups: IntArray) -> FloatArray:
    """Return values less the mean of their group, column by column."""
    counts = np.bincount(groups)
    columns = values.reshape(len(values), -1).T
    means = [np.bincount(groups, weights=column) / np.maximum(counts, 1) for column in columns]
    result: FloatArray = np.stack(
        [column - mean[groups] for column, mean in zip(columns, means, strict=True)], axis=1
    )
    return result.reshape(values.shape)


@dataclass(slots=True)
class SlotFit:
    """Sums of squares of how slots explain scores, over slates.

    Attributes:
        within: of scores about the mean of their window. within_by_slot: what the
            place alone explains of it.
        moved: of scores about the mean of their candidate. moved_by_slot,
            moved_by_first: what the slot, or standing first, explains of it.
        values: scores taken in. gains: what standing first adds, by slate.
    """

    within: float = 0.0
    within_by_slot: float = 0.0
    moved: float = 0.0
    moved_by_slot: float = 0.0
    moved_by_first: float = 0.0
    values: int = 0
    gains: list[float] = field(default_factory=list)

    def add(self, scores: FloatArray, shown: list[Presentation]) -> None:
        """Take in the (rows, n) complete scores of one slate in some presentations."""
        rows, n = scores.shape
        slots = np.array([one.slots() for one in shown]).ravel()
        windows = np.array([one.window_of() for one in shown]).ravel()
        values = scores.ravel()
        prompts = np.repeat(np.arange(rows), n) * (windows.max() + 1) + windows
        places = np.unique(windows * n + slots, return_inverse=True)[1]
        inside = _centred(values, prompts)
        self.within += float(inside @ inside)
        left = _centred(inside, places)
        self.within_by_slot += float(inside @ inside - left @ left)
        candidates = np.tile(np.arange(n), rows)
        moved = _centred(values, candidates)
        self.values += values.size
        self.moved += float(moved @ moved)
        every = (slots[:, None] == np.arange(slots.max() + 1)).astype(np.float64)
        columns = _centred(every, candidates)
        self.moved_by_slot += _explained(moved, columns)
        self.moved_by_first += _explained(moved, columns[:, :1])
        norm = float(columns[:, 0] @ columns[:, 0])
        self.gains.append(ratio(float(columns[:, 0] @ moved), norm))

    @property
    def noise(self) -> float:
        """Root mean square of what neither candidate nor slot explains; NaN without scores."""
        left = max(0.0, self.moved - self.moved_by_slot)
        return math.sqrt(left / self.values) if self.values else math.nan
