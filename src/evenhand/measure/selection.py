"""Selections against gold: is the best-scored candidate one of the best, and in every row?

The selection itself, best of n, is the highest score of a row (`decision.choices`),
and its flip is `decision.top1_flip`. Right or wrong is a fact of a row: right when
the pick has the highest grade that any candidate of the slate has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from evenhand.errors import UsageError
from evenhand.measure.checks import came, choice, floats
from evenhand.measure.outcomes import modal_flip, pairwise_flip
from evenhand.measure.rows import as_rows, ranks
from evenhand.types import FloatArray

CorrectKind = Literal["any", "pairwise", "modal"]


def gold_correct(scores: ArrayLike, gains: ArrayLike, tie_ranks: ArrayLike) -> FloatArray:
    """Return for each row whether its best-scored candidate has the top grade.

    Args:
        scores: (M, n), NaN = missing.
        gains: (n,) grades; unjudged is 0.
        tie_ranks: (n,) of `seeds.tie_ranks`; they decide ties.

    Returns:
        (M,) 1 or 0; NaN for a row with fewer than 2 scores or without a score for
        a candidate of the top grade, and throughout where all grades are equal,
        since then nothing is a wrong pick.
    """
    rows, grades = as_rows(scores), floats("gains", gains)
    if grades.shape != rows.shape[1:]:
        raise UsageError(f"gains of shape {grades.shape} for {rows.shape[1]} candidates")
    found = np.full(len(rows), np.nan)
    if rows.shape[1] < 2 or (grades == grades[0]).all():
        return found
    top = grades == grades.max()
    known = ~np.isnan(rows)
    judged = (known.sum(axis=1) >= 2) & known[:, top].all(axis=1)
    picks = ranks(rows, tie_ranks).argmin(axis=1)
    found[judged] = top[picks[judged]]
    return found


def gold_accuracy(scores: ArrayLike, gains: ArrayLike, tie_ranks: ArrayLike) -> float:
    """Return the share of rows whose best-scored candidate has the top grade.

    Args and undefined rows are those of `gold_correct`.

    Returns:
        0 to 1; NaN when no row is defined.
    """
    correct = gold_correct(scores, gains, tie_ranks)
    known = correct[~np.isnan(correct)]
    return float(known.mean()) if known.size else float("nan")


def correctness_flip(
    correct: Sequence[float | None] | FloatArray,
    *,
    kind: CorrectKind = "any",
    exhaustive: bool = False,
) -> float:
    """Return how far right or wrong depends on the presentation of one slate.

    Args:
        correct: per row 1 (right), 0 (wrong), NaN or None (unknown, left out).
        kind: "any": 1 if some rows are right and some wrong, else 0; its mean over
            slates is the share of slates whose correctness depends on the order,
            and it grows with M. "pairwise": share of pairs of rows of which one is
            right, 2 q (1 - q) M / (M - 1) for q rows right. "modal": min(q, 1 - q).
        exhaustive: the rows are all there are; pairs include each row with itself.

    Returns:
        0 to 1; NaN with fewer than 2 known rows.

    Raises:
        UsageError: unknown kind, or something else than 1, 0, NaN and None.
    """
    choice("kind of flip", kind, ("any", "pairwise", "modal"))
    values = floats("correct", correct)
    if values.ndim != 1 or not np.isin(values[~np.isnan(values)], (0, 1)).all():
        raise UsageError(f"correct must be 1, 0 or NaN for each row, got {came(correct)}")
    known = [bool(value) for value in values if not np.isnan(value)]
    if len(known) < 2:
        return float("nan")
    if kind == "any":
        return float(len(set(known)) == 2)
    if kind == "modal":
        return modal_flip(known)
    return pairwise_flip(known, exhaustive=exhaustive)


def margin(scores: ArrayLike) -> float:
    """Return how far the best score is above the second, meaned over rows.

    In units of the scorer: compare it only within one scorer.

    Args:
        scores: (M, n), NaN = missing, left out of its row.

    Returns:
        0 (a tie at the top) upwards; NaN when no row has 2 scores.
    """
    rows = as_rows(scores)
    rows = rows[(~np.isnan(rows)).sum(axis=1) >= 2]
    if not len(rows):
        return float("nan")
    ordered = np.sort(np.where(np.isnan(rows), -np.inf, rows), axis=1)
    return float((ordered[:, -1] - ordered[:, -2]).mean())
