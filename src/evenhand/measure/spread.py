"""How far scores differ between candidates, and how far one candidate's move.

Missing scores follow the rule of the package. Deviations are taken from a
candidate's own lowest score, so that what does not move gives exactly 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from evenhand.measure.rows import as_rows, complete
from evenhand.types import FloatArray


def _mean_sd_over_rows(values: FloatArray, exhaustive: bool) -> float:
    if len(values) < 2 or values.shape[1] < 2:
        return float("nan")
    deviations = values - values.min(axis=0)
    return float(deviations.std(axis=0, ddof=0 if exhaustive else 1).mean())


def score_spread(scores: ArrayLike) -> float:
    """Return the mean over rows of the sd of the scores within a row.

    The sd is that of the candidates themselves (divisor n), in units of the
    score. One row is enough. Missing scores are left out of their row.

    Args:
        scores: (M, n).

    Returns:
        0 (all candidates of a row score the same) upwards; NaN when no row
        holds two scores.
    """
    spreads = []
    for row in as_rows(scores):
        found = row[~np.isnan(row)]
        if found.size >= 2:
            spreads.append(float((found - found.min()).std()))
    return float(np.mean(spreads)) if spreads else float("nan")


def order_sd(scores: ArrayLike, *, exhaustive: bool = False) -> float:
    """Return the mean over candidates of the sd of its score over rows.

    Args:
        scores: (M, n).
        exhaustive: the rows are all there are: divisor M instead of M - 1.

    Returns:
        0 (no score moves) upwards, in units of the score; NaN when M < 2 or n < 2.
    """
    return _mean_sd_over_rows(complete(scores), exhaustive)


def rank_spread(scores: ArrayLike, *, exhaustive: bool = False) -> float:
    """Return the mean over candidates of the sd of its rank over rows.

    Equal scores share the average of their ranks.

    Args:
        scores: (M, n).
        exhaustive: the rows are all there are: divisor M instead of M - 1.

    Returns:
        0 (no rank moves) upwards, in ranks; NaN when M < 2 or n < 2.
    """
    rows = complete(scores)
    # Twice the average rank, up to a constant: wins of others minus own wins.
    doubled = [(row > row[:, None]).sum(axis=1) - (row < row[:, None]).sum(axis=1) for row in rows]
    averages = np.array(doubled, dtype=np.float64).reshape(rows.shape) / 2
    return _mean_sd_over_rows(averages, exhaustive)


def normalised_residual(scores: ArrayLike, *, exhaustive: bool = False) -> float:
    """Return the sd over orders within a candidate over the sd within a row.

    `order_sd` over `score_spread`, both of the candidates that no row lacks: how
    large the movement is beside the differences that the scores are meant to show.

    Args:
        scores: (M, n).
        exhaustive: as in `order_sd`.

    Returns:
        0 (no score moves) upwards, about 1 when the order says as much as the
        candidate; NaN when M < 2 or n < 2, or when the scores of no row differ.
    """
    rows = complete(scores)
    spread = score_spread(rows)
    return order_sd(rows, exhaustive=exhaustive) / spread if spread > 0 else float("nan")
