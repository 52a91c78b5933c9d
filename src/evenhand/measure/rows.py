"""What measures share: the rule for missing scores, means over pairs, ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import ArrayLike

from evenhand.errors import UsageError
from evenhand.measure.checks import floats, same_places
from evenhand.types import FloatArray, IntArray


def as_rows(scores: ArrayLike) -> FloatArray:
    """Return scores as a float64 (M, n) array.

    Raises:
        UsageError: the scores are not two-dimensional, no numbers, or infinite.
    """
    rows = floats("scores", scores)
    if rows.ndim != 2:
        raise UsageError(f"a measure needs scores of shape (rows, candidates), got shape {rows.shape}")
    return rows


def defined_mean(values: Iterable[float]) -> float:
    """Return the mean of the values that are defined, NaN where none is."""
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")


def scored_rows(scores: ArrayLike) -> FloatArray:
    """Return the rows that hold at least one score."""
    rows = as_rows(scores)
    return rows[~np.isnan(rows).all(axis=1)]


def complete_part(scores: ArrayLike) -> tuple[IntArray, IntArray]:
    """Return which rows and columns make a part without missing scores.

    Rows without any score are left out first, then the candidates that some
    remaining row lacks.

    Returns:
        Row numbers and column numbers; both may be empty.
    """
    missing = np.isnan(as_rows(scores))
    rows = np.flatnonzero(~missing.all(axis=1))
    return rows, np.flatnonzero(~missing[rows].any(axis=0))


def complete(scores: ArrayLike) -> FloatArray:
    """Return the (M', n') scores of `complete_part`: none is missing."""
    return as_rows(scores)[np.ix_(*complete_part(scores))]


def over_pairs(
    measure: Callable[[FloatArray, bool], float], scores: ArrayLike, exhaustive: bool
) -> float:
    """Return a measure over pairs of rows, leaving missing scores out pair by pair.

    Args:
        measure: maps NaN-free (M, n) scores and `exhaustive` to its mean over pairs.
        scores: (M, n), NaN = missing.
        exhaustive: the rows are all there are, so a row also pairs with itself.

    Returns:
        The measure itself where nothing is missing, else its mean over the
        pairs of rows for which it is defined; NaN when there is no such pair.
    """
    rows = scored_rows(scores)
    present = ~np.isnan(rows)
    if present.all():
        return measure(rows, exhaustive)
    values, weights = [], []
    for a in range(len(rows)):
        for b in range(a if exhaustive else a + 1, len(rows)):
            value = measure(rows[[a, b]][:, present[a] & present[b]], False)
            if not np.isnan(value):
                values.append(value)
                weights.append(1.0 if a == b else 2.0)
    return float(np.average(values, weights=weights)) if values else float("nan")


def ranks(scores: ArrayLike, ties: ArrayLike) -> IntArray:
    """Return dense ranks: 0 for the best candidate of its row, n-1 for the last.

    Args:
        scores: (M, n). A missing score ranks behind every score.
        ties: (n,) or (M, n); of equal scores the lower tie value ranks first.

    Returns:
        (M, n) int64, each row a permutation of 0..n-1.

    Raises:
        UsageError: the shapes do not match, or something is no number.
    """
    rows = as_rows(scores)
    places = np.broadcast_to(same_places("ties", ties, rows.shape), rows.shape)
    order = np.lexsort((places, -rows), axis=-1)
    found = np.empty(rows.shape, dtype=np.int64)
    np.put_along_axis(found, order, np.broadcast_to(np.arange(rows.shape[1]), rows.shape), axis=-1)
    return found


def without_ties(scores: ArrayLike, ties: ArrayLike) -> FloatArray:
    """Return scores of the same order in which no two candidates of a row are equal.

    Args:
        scores: (M, n), NaN = missing, kept missing.
        ties: (n,) or (M, n); of equal scores the lower tie value comes first.

    Returns:
        (M, n): minus the rank of each candidate in its row.
    """
    rows = as_rows(scores)
    return np.where(np.isnan(rows), np.nan, -ranks(rows, ties).astype(np.float64))
