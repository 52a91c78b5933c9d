"""Agreement of the rankings that one slate gets in different presentations.

Everything is computed from scores. Notation: M rows, n candidates, columns in
canonical order, higher is better. Missing scores follow the rule of the package.

The distance of two rows is the number of candidate pairs that swap plus half
the pairs tied in only one of them. With G_a the 0/1 vector, over ordered pairs
of candidates, of "i scores above j in row a", that number is ||G_a - G_b||^2 / 2.
Summed over all pairs of rows it depends on one matrix only: how many rows put i
above j. So tau-PSI costs one comparison per row and candidate pair, whole
numbers until the last division, and is exactly 0 where the rows agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.errors import UsageError
from evenhand.measure.checks import floats, inside, same_places, whole
from evenhand.measure.rows import as_rows, over_pairs, ranks, without_ties
from evenhand.types import FloatArray

# Comparisons held in memory at once: a few megabytes stay in the cache.
_BLOCK = 4_000_000
# Slates ranked at once: enough to share numpy's overhead, few enough for the cache.
_GROUP = 32


def _times_above(scores: NDArray[Any]) -> FloatArray:
    """Return, for each (i, j), in how many rows i scores above j, flattened."""
    rows, n = scores.shape
    # At most 255 rows a block: a byte holds the count, and adding bytes is fast.
    step = int(min(255, max(1, _BLOCK // max(1, n * n))))
    counts = np.zeros(n * n)
    for start in range(0, rows, step):
        block = scores[start : start + step]
        above = block[:, :, None] > block[:, None, :]
        counts += np.add.reduce(above.view(np.uint8), axis=0, dtype=np.uint8).ravel()
    return counts


def _tau_psi(scores: NDArray[Any], exhaustive: bool) -> float:
    rows, n = scores.shape
    if rows < 2 or n < 2:
        return float("nan")
    above = _times_above(scores)
    distances = float(rows * above.sum() - above.dot(above))
    pairs_of_rows = rows * rows if exhaustive else rows * (rows - 1)
    return distances / float(pairs_of_rows * (n * (n - 1) / 2))


def tau_psi(scores: ArrayLike, *, exhaustive: bool = False) -> float:
    """Return how much the ranking of one slate depends on its presentation.

    The mean, over pairs of rows, of their Kendall distance: the share of
    candidate pairs that swap. A pair tied in only one of the two counts one
    half, a pair tied in both 0, so equal scores are no instability. Without
    ties it equals (1 - mean Kendall tau) / 2.

    Args:
        scores: (M, n), one row per presentation, columns in canonical order.
        exhaustive: the rows are all presentations there are; the mean then runs
            over all pairs of rows, each with itself included, and is (M - 1)/M
            of the mean over distinct pairs.

    Returns:
        0 when all rows agree, about 0.5 when unrelated, 1 when reversed;
        NaN when M < 2 or n < 2.
    """
    return over_pairs(_tau_psi, scores, exhaustive)


def tau_psi_many(stack: ArrayLike, *, exhaustive: bool = False) -> FloatArray:
    """Return `tau_psi` of many slates of equal shape, faster than one by one.

    Args:
        stack: (S, M, n): slates, rows, candidates.
        exhaustive: as in `tau_psi`, for all slates.

    Returns:
        (S,) the values of `tau_psi`, to the last bit.

    Raises:
        UsageError: the stack is not three-dimensional, or holds something that is no score.
    """
    slates = floats("stack", stack)
    if slates.ndim != 3:
        raise UsageError(f"needs an array (slates, rows, candidates), got shape {slates.shape}")
    incomplete = [bool(np.isnan(slate).any()) for slate in slates]
    values = []
    for start in range(0, len(slates), _GROUP):
        group = slates[start : start + _GROUP]
        for slate, levels, slow in zip(group, _levels(group), incomplete[start:], strict=False):
            # Levels know no missing scores, so those slates go by their scores.
            if slow:
                values.append(tau_psi(slate, exhaustive=exhaustive))
            else:
                values.append(_tau_psi(levels, exhaustive))
    return np.array(values, dtype=np.float64)


def _levels(scores: FloatArray) -> NDArray[Any]:
    """Return scores as small integers of the same order: bytes compare faster."""
    dtype = np.uint8 if scores.shape[-1] <= 256 else np.uint32
    order = np.argsort(scores, axis=-1)
    ascending = np.take_along_axis(scores, order, axis=-1)
    steps = np.zeros(scores.shape, dtype=dtype)
    np.cumsum(ascending[..., 1:] != ascending[..., :-1], axis=-1, out=steps[..., 1:])
    levels = np.empty_like(steps)
    np.put_along_axis(levels, order, steps, axis=-1)
    return levels


def tau_psi_strict(scores: ArrayLike, positions: ArrayLike, *, exhaustive: bool = False) -> float:
    """Return tau-PSI of strict rankings, ties broken by presented position.

    The variant of the method's paper (`ties="strict"`): tau-a on rankings. A
    scorer with ties then looks unstable although its scores never move.

    Args:
        scores: (M, n).
        positions: (M, n) presented position of each candidate in each row.
        exhaustive: as in `tau_psi`.

    Returns:
        As `tau_psi`.
    """
    rows = as_rows(scores)
    return tau_psi(
        without_ties(rows, same_places("positions", positions, rows.shape)), exhaustive=exhaustive
    )


def kendall_distance(a: ArrayLike, b: ArrayLike) -> float:
    """Return the Kendall distance of two rows of scores: `tau_psi` of just these.

    Args:
        a: (n,) scores.
        b: (n,) scores of the same candidates.

    Returns:
        0 same order to 1 reversed; NaN with fewer than 2 candidates in common.

    Raises:
        UsageError: the two differ in length, or hold something that is no score.
    """
    first, second = floats("scores", a), floats("scores", b)
    if first.ndim != 1 or first.shape != second.shape:
        raise UsageError(
            f"two rows of the same candidates are needed, got shapes {first.shape} and {second.shape}"
        )
    return tau_psi(np.stack([first, second]))


def _tied_pairs(scores: FloatArray, exhaustive: bool) -> float:
    rows, n = scores.shape
    if rows < 2 or n < 2:
        return float("nan")
    pairs_of_rows = rows * (rows if exhaustive else rows - 1)
    # Some candidates against all at a time: all against all would be n * n numbers at once.
    step = max(1, _BLOCK // (rows * n))
    both = 0
    for start in range(0, n, step):
        same = scores[:, start : start + step, None] == scores[:, None, :]
        tied = same.sum(axis=0, dtype=np.int64)
        both += int((tied * (tied if exhaustive else tied - 1)).sum())
    # Every candidate is tied with itself in every row.
    return float((both - n * pairs_of_rows) / (n * (n - 1) * pairs_of_rows))


def tied_pairs(scores: ArrayLike, *, exhaustive: bool = False) -> float:
    """Return the share of candidate pairs tied in both rows, over pairs of rows.

    It stands beside `tau_psi`, to which such pairs are perfect agreement: a
    scorer that says the same of everything is stable and useless.

    Args:
        scores: (M, n).
        exhaustive: as in `tau_psi`.

    Returns:
        0 (no such pair) to 1 (all scores equal); NaN when M < 2 or n < 2.
    """
    return over_pairs(_tied_pairs, scores, exhaustive)


def exact_ties(scores: ArrayLike) -> float:
    """Return the share of adjacent-rank score gaps that are exactly 0.

    Args:
        scores: (M, n). Missing scores are left out of their row.

    Returns:
        0 (all scores of a row differ) to 1 (all are equal), over the gaps of all
        rows together; NaN when no row holds two scores.
    """
    ascending = np.sort(as_rows(scores), axis=1)
    # Missing scores sort to the end, so a gap exists where its upper end does.
    gaps = ~np.isnan(ascending[:, 1:])
    ties = ascending[:, 1:] == ascending[:, :-1]
    return float(ties[gaps].mean()) if gaps.any() else float("nan")


def is_constant(scores: ArrayLike) -> bool:
    """Return whether no row tells any two candidates apart (a degenerate slate).

    Args:
        scores: (M, n). Missing scores are ignored.

    Returns:
        True when some row holds two scores and all gaps between scores are 0.
    """
    return exact_ties(scores) == 1.0


def _top_instability(scores: FloatArray, k: int, p: float) -> float:
    rows, n = scores.shape
    if rows < 2 or n < 2:
        return float("nan")
    depth = min(k, n)
    rank = ranks(scores, np.zeros(n))
    first, second = np.triu_indices(rows, 1)
    both_within = np.maximum(rank[first], rank[second])
    depths = np.arange(1, depth + 1)
    shared = np.stack([(both_within < d).sum(axis=1) for d in depths], axis=1)
    weights = (1 - p) * p ** (depths - 1.0)
    weights[-1] += p**depth
    # From the disagreement, not as 1 - RBO: equal tops then give exactly 0.
    return float(((1 - shared / depths) @ weights).mean())


def top_instability(
    scores: ArrayLike, tie_ranks: ArrayLike, *, k: int = 10, p: float = 0.9, exhaustive: bool = False
) -> float:
    """Return how much the top of the ranking moves.

    1 - mean over pairs of rows of the extrapolated rank-biased overlap of the
    two top-k lists (Webber, Moffat and Zobel 2010, equation 30, for lists of one
    length): with X_d candidates common to both tops of depth d,

        RBO_ext = X_k / k * p^k + (1 - p) / p * sum_{d=1..k} X_d / d * p^d.

    Args:
        scores: (M, n).
        tie_ranks: (n,) of `seeds.tie_ranks`; they order equal scores.
        k: depth; the number of candidates where that is smaller.
        p: persistence, 0 < p < 1: the weight of depth d falls as p^(d-1).
        exhaustive: as in `tau_psi`.

    Returns:
        0 (the same top-k in the same order in all rows) to 1 (nothing in
        common); NaN when M < 2 or n < 2.

    Raises:
        UsageError: k < 1, or p outside (0, 1).
    """
    k, p = whole("k of the top instability", k), inside("p of the top instability", p)

    def measure(part: FloatArray, every: bool) -> float:
        # A row always agrees with itself, so those pairs only add to the count.
        return _top_instability(part, k, p) * (1 - 1 / max(1, len(part)) if every else 1.0)

    return over_pairs(measure, without_ties(scores, tie_ranks), exhaustive)
