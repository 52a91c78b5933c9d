"""Measures of retained sets at many thresholds in one go."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from evenhand.errors import UsageError
from evenhand.measure.checks import floats
from evenhand.measure.rows import as_rows
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

    Raises:
        UsageError: scores or thresholds are no numbers of those shapes.
    """
    rows, thresholds = as_rows(scores), _thresholds(thresholds)
    present = ~np.isnan(rows)
    rows, present = rows[present.any(axis=1)], present[present.any(axis=1)]
    result = np.full((3, len(thresholds)), np.nan)
    if not len(rows):
        return result
    known = present.astype(np.float64)
    sets = (np.where(present, rows, -np.inf)[None] >= thresholds[:, None, None]).astype(np.float64)
    result[2] = (sets.sum(axis=2) / known.sum(axis=1)).mean(axis=1)
    # A candidate that either row of a pair lacks is left out of that pair.
    shared = sets @ sets.swapaxes(1, 2)
    within = sets @ known.T
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

    Raises:
        UsageError: scores, booleans and thresholds are not of those shapes.
    """
    row, thresholds = floats("scores", scores), _thresholds(thresholds)
    hits = floats("relevant", relevant) != 0
    if row.ndim != 1 or hits.shape != row.shape:
        raise UsageError(f"scores of shape {row.shape} and relevance of shape {hits.shape}")
    sets = row[None] >= thresholds[:, None]
    whole = sets.sum(axis=1) + hits.sum()
    found: FloatArray = 2 * (sets & hits).sum(axis=1) / np.maximum(whole, 1)
    return found


def _thresholds(values: ArrayLike) -> FloatArray:
    """Return (T,) thresholds; infinity keeps all or nothing."""
    found = floats("thresholds", values, infinite=True)
    if found.ndim != 1 or np.isnan(found).any():
        raise UsageError(f"thresholds are a list of numbers without NaN, got shape {found.shape}")
    return found
