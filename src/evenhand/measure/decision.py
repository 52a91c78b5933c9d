"""Agreement of the decisions that one slate gets in different presentations.

Sets: `retained` is (M, n), whether the threshold filter keeps a candidate in a
row: booleans, or floats 1 and 0 with NaN where the score is missing. Choices:
the top, or the (chosen, rejected) pair, of each row. Missing scores follow the
rule of the package. `exhaustive` (the rows are all there are) lets means over
pairs of rows include each row with itself.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from evenhand.measure.checks import choice, cut_value, same_places
from evenhand.measure.outcomes import modal_flip, pairwise_flip
from evenhand.measure.rows import as_rows, complete, complete_part, over_pairs, ranks, scored_rows
from evenhand.types import FloatArray, IntArray

FlipKind = Literal["pairwise", "modal"]


def retained_sets(scores: ArrayLike, threshold: float) -> FloatArray:
    """Return 1 where a score is at or above the threshold, 0 below, NaN where missing.

    Args:
        scores: (M, n).
        threshold: lowest score that is retained.

    Returns:
        (M, n) float64.

    Raises:
        UsageError: the threshold is no number, or the scores are none.
    """
    rows, threshold = as_rows(scores), cut_value("threshold", threshold)
    return np.where(np.isnan(rows), np.nan, (rows >= threshold).astype(np.float64))


def _over_set_pairs(
    value: Callable[[FloatArray, FloatArray], float], retained: ArrayLike, exhaustive: bool
) -> float:
    """Return a value of the sizes of intersection and union over the pairs of rows."""

    def measure(sets: FloatArray, every: bool) -> float:
        if len(sets) < 2 or sets.shape[1] < 2:
            return float("nan")
        shared = sets @ sets.T
        sizes = np.diag(shared)
        union = sizes[:, None] + sizes[None, :] - shared
        pairs = np.ones(shared.shape, dtype=bool) if every else np.tri(len(sets), k=-1, dtype=bool)
        return value(shared[pairs], union[pairs])

    return over_pairs(measure, retained, exhaustive)


def overlap(retained: ArrayLike, *, exhaustive: bool = False) -> float:
    """Return the mean Jaccard overlap of the retained sets of two rows.

    Two empty sets agree: they count 1.

    Args:
        retained: (M, n).
        exhaustive: see the module.

    Returns:
        1 (the same set in every row) down to 0; NaN when M < 2 or n < 2.
    """

    def value(shared: FloatArray, union: FloatArray) -> float:
        return float(np.where(union == 0, 1.0, shared / np.maximum(union, 1)).mean())

    return _over_set_pairs(value, retained, exhaustive)


def overlap_without_empty(retained: ArrayLike, *, exhaustive: bool = False) -> float:
    """Return `overlap` over the pairs of rows of which at least one retains something.

    Args:
        retained: (M, n).
        exhaustive: see the module.

    Returns:
        1 down to 0; NaN when M < 2, n < 2, or no row retains anything.
    """

    def value(shared: FloatArray, union: FloatArray) -> float:
        filled = union > 0
        return float((shared[filled] / union[filled]).mean()) if filled.any() else float("nan")

    return _over_set_pairs(value, retained, exhaustive)


def both_empty(retained: ArrayLike, *, exhaustive: bool = False) -> float:
    """Return the share of pairs of rows that both retain nothing.

    Args:
        retained: (M, n).
        exhaustive: see the module.

    Returns:
        0 to 1; NaN when M < 2 or n < 2.
    """
    return _over_set_pairs(lambda _, union: float((union == 0).mean()), retained, exhaustive)


def set_flip(retained: ArrayLike) -> float:
    """Return the share of ever-retained candidates that some row does not retain.

    Args:
        retained: (M, n).

    Returns:
        0 (the same set in every row) to 1 (no candidate is in all sets); NaN
        when M < 2, n < 2, or no row retains anything.
    """
    rows = complete(retained) > 0
    if len(rows) < 2 or rows.shape[1] < 2 or not rows.any():
        return float("nan")
    ever = rows.any(axis=0)
    return float((ever & ~rows.all(axis=0)).sum() / ever.sum())


def retained_share(retained: ArrayLike) -> float:
    """Return the share of candidates that a row retains, meaned over rows.

    One row and one candidate are enough; missing scores are left out of their row.

    Args:
        retained: (M, n).

    Returns:
        0 to 1; NaN when nothing is scored.
    """
    rows = scored_rows(retained)
    return float(np.nanmean(rows, axis=1).mean()) if rows.size else float("nan")


def choices(scores: ArrayLike, tie_ranks: ArrayLike) -> list[int]:
    """Return the column of the highest score of each row, ties by `seeds.tie_ranks`.

    Args:
        scores: (M, n) without missing scores, n >= 1.
        tie_ranks: (n,).

    Returns:
        M column numbers.
    """
    return [int(column) for column in ranks(scores, tie_ranks).argmin(axis=1)]


def chosen_rejected(scores: ArrayLike, tie_ranks: ArrayLike) -> list[tuple[int, int]]:
    """Return the columns of the highest and the lowest score of each row.

    Args:
        scores: (M, n) without missing scores, n >= 1.
        tie_ranks: (n,); of equal
            scores the lower one ranks first, so it is chosen and not rejected.

    Returns:
        M pairs (chosen, rejected).
    """
    found = ranks(scores, tie_ranks)
    both = zip(found.argmin(axis=1), found.argmax(axis=1), strict=True)
    return [(int(chosen), int(rejected)) for chosen, rejected in both]


def _flip(outcomes: Sequence[Hashable], kind: FlipKind, exhaustive: bool) -> float:
    choice("kind of flip", kind, ("pairwise", "modal"))
    return modal_flip(outcomes) if kind == "modal" else pairwise_flip(outcomes, exhaustive=exhaustive)


def _complete_with(scores: ArrayLike, tie_ranks: ArrayLike) -> tuple[FloatArray, IntArray]:
    """Return the part of scores without missing ones, and the tie ranks of its candidates."""
    found = as_rows(scores)
    rows, columns = complete_part(found)
    return found[np.ix_(rows, columns)], same_places("tie_ranks", tie_ranks, found.shape)[columns]


def top1_flip(
    scores: ArrayLike, tie_ranks: ArrayLike, *, kind: FlipKind = "pairwise", exhaustive: bool = False
) -> float:
    """Return how often the best candidate changes.

    Args:
        scores: (M, n).
        tie_ranks: (n,) of `seeds.tie_ranks`; they decide ties.
        kind: "pairwise" (share of pairs of rows) or "modal" (see `modal_flip`).
        exhaustive: see the module.

    Returns:
        0 (always the same) to 1; NaN when M < 2 or n < 2.

    Raises:
        UsageError: unknown kind.
    """
    part, ties = _complete_with(scores, tie_ranks)
    return _flip(choices(part, ties) if len(ties) >= 2 else [], kind, exhaustive)


def pair_flip(
    scores: ArrayLike, tie_ranks: ArrayLike, *, kind: FlipKind = "pairwise", exhaustive: bool = False
) -> float:
    """Return how often the preference pair (highest, lowest) changes.

    Args, range, undefined and errors are those of `top1_flip`.
    """
    part, ties = _complete_with(scores, tie_ranks)
    return _flip(chosen_rejected(part, ties) if len(ties) >= 2 else [], kind, exhaustive)


def first_slot(scores: ArrayLike, slots: ArrayLike, tie_ranks: ArrayLike) -> float:
    """Return the share of rows whose best candidate stands in slot 0 of its window.

    The chance level is the share of candidates in slots 0: windows over n.

    Args:
        scores: (M, n).
        slots: (M, n) slot of each candidate in its window.
        tie_ranks: (n,) of `seeds.tie_ranks`; they decide ties.

    Returns:
        0 to 1 (the best always stands first); NaN when no row is scored or n < 2.
    """
    found = as_rows(scores)
    rows, columns = complete_part(found)
    places = np.broadcast_to(same_places("slots", slots, found.shape), found.shape)
    part, ties = _complete_with(found, tie_ranks)
    if len(rows) < 1 or len(columns) < 2:
        return float("nan")
    return float(np.mean(places[rows, columns[choices(part, ties)]] == 0))
