"""Measures of retained sets at many thresholds in one go."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from evenhand.types import FloatArray


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


def set_f1_at(scores: ArrayLike, relevant: ArrayLike, thresholds: FloatArray) -> FloatArray:
    """Return the set-F1 of one slate's retained set at many thresholds.

    Args:
        scores: (n,), NaN = missing, never retained.
        relevant: (n,) booleans; a relevant candidate without a score counts as lost.
        thresholds: (T,).

    Returns:
        (T,), 0 to 1; 0 throughout where nothing is relevant.
    """
    row, hits = np.asarray(scores, dtype=np.float64), np.asarray(relevant, dtype=bool)
    kept = row[None] >= thresholds[:, None]
    whole = kept.sum(axis=1) + hits.sum()
    found: FloatArray = 2 * (kept & hits).sum(axis=1) / np.maximum(whole, 1)
    return found
