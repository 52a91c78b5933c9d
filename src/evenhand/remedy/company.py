"""What a candidate's companions do to its score, so far as their mean says it.

A window that several doubtful candidates share is no random window: its candidates lie
near the boundary. Under a scorer that reads candidates relative to their companions, a
mean over such windows would answer another question than a mean over random orders. So
each score is set to average company: score - b (mean of the companions - mean of all
others), with b from the orders of the whole slate, where companions are random.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import fdtri

from evenhand.types import FloatArray, Presentation

LEAST_FREE = 19


def company(presentation: Presentation, known: FloatArray) -> FloatArray:
    """Return how much better than average the companions of each candidate are.

    Args:
        presentation: the windows.
        known: (n,) what is known of each candidate; NaN counts as average.

    Returns:
        (n,) mean of `known` over the companions less its mean over all others; 0 for a
        candidate alone in its window, NaN where it is not shown.
    """
    centred = np.nan_to_num(known - np.nanmean(known)) if not np.isnan(known).all() else known * 0
    others = max(1, int((~np.isnan(known)).sum()) - 1)
    result = np.full(len(known), np.nan)
    for window in presentation.windows:
        members = list(window)
        result[members] = 0.0
        if len(members) > 1:
            own = centred[members]
            result[members] = (own.sum() - own) / (len(members) - 1) + own / others
    return result


def coupling(rows: FloatArray, presentations: Sequence[Presentation]) -> float:
    """Return b, by how much a score moves with the mean of its companions.

    The slope of scores on company within candidates. What is known of the companions of
    a row comes from the other rows, so that a shift of a whole window is not taken for
    the effect of its company. The slope is shrunk by the positive part of 1 - c/F, F its
    squared t statistic and c the 99% quantile of F: without a clear sign of coupling it is
    0, and what goes unseen is small beside the noise. On small slates (under `LEAST_FREE`
    degrees of freedom) no slope is fitted: it would make scores look steadier than they are.

    Args:
        rows: (K, n) scores of K >= 2 orders of the whole slate; NaN = missing.
        presentations: the K presentations.

    Returns:
        0 when nothing can be told, e.g. with a single window.
    """
    columns = ~np.isnan(rows).any(axis=0)
    if columns.sum() < 3:
        return 0.0
    whole = rows.sum(axis=0)
    apart = np.array(
        [
            company(presentation, (whole - row) / (len(rows) - 1))
            for presentation, row in zip(presentations, rows, strict=True)
        ]
    )[:, columns]
    x, y = apart - apart.mean(axis=0), rows[:, columns] - rows[:, columns].mean(axis=0)
    size, free = float((x**2).sum()), (len(rows) - 1) * int(columns.sum()) - 1
    if size <= 1e-18 or free < LEAST_FREE:
        return 0.0
    slope = float((x * y).sum()) / size
    noise = float(((y - slope * x) ** 2).sum()) / free / size
    if slope == 0.0:
        return 0.0
    return slope * max(0.0, 1.0 - float(fdtri(1, free, 0.99)) * noise / slope**2)
