"""How far each row is from the canonical one, and what a change of members does.

Other measures compare the random rows with each other; these compare each of
them with the canonical row, over the candidates that both show and score (the
survivors). Under the `membership` design that is Pool-PSI: one member is
exchanged for the reserve, which is the last candidate of the slate and not
shown in the canonical row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from evenhand.errors import UsageError
from evenhand.measure.checks import came, choice, cut_value, floats, of_kind, same_places, whole
from evenhand.measure.order import kendall_distance
from evenhand.measure.rows import as_rows, defined_mean, ranks
from evenhand.types import BoolArray, FloatArray, Presentation

PoolKind = Literal["both", "replaced", "dropped"]


def _rows_and(scores: ArrayLike, reference: ArrayLike) -> tuple[FloatArray, FloatArray]:
    rows, base = as_rows(scores), floats("the canonical row", reference)
    if base.shape != rows.shape[1:]:
        raise UsageError(f"a canonical row of shape {base.shape} for {rows.shape[1]} candidates")
    return rows, base


def exchanges(shown: Presentation) -> frozenset[str]:
    """Return how a presentation exchanges one member for the reserve.

    Returns:
        "replaced" (the reserve stands in the member's place) or "dropped" (the
        others move up, the reserve is last); both where the last member went,
        which is the same; nothing for any other presentation.
    """
    reserve = len(shown) - 1
    if len(shown.omitted) != 1 or shown.omitted == (reserve,):
        return frozenset()
    (gone,) = shown.omitted
    place = shown.order.index(reserve)
    others = [i for i in shown.order if i != reserve]
    if others != sorted(others):
        return frozenset()
    places = {"replaced": gone, "dropped": reserve - 1}
    return frozenset(kind for kind, wanted in places.items() if place == wanted)


def canonical_psi(scores: ArrayLike, reference: ArrayLike) -> float:
    """Return how far the rankings of the rows are from that of the canonical row.

    The mean over rows of the Kendall distance to the canonical row: the share of
    pairs of survivors that swap, a pair tied in only one of the two counting one
    half.

    Args:
        scores: (M, n).
        reference: (n,) the canonical row.

    Returns:
        0 (every row ranks the survivors as the canonical row does) to 1
        (reversed); NaN when no row has two survivors.

    Raises:
        UsageError: the shapes do not match.
    """
    rows, base = _rows_and(scores, reference)
    return defined_mean([kendall_distance(row, base) for row in rows])


def pool_psi(
    scores: ArrayLike,
    reference: ArrayLike,
    shown: Sequence[Presentation],
    kind: PoolKind = "both",
) -> float:
    """Return Pool-PSI: how far the ranking of those who stay moves when one member goes.

    `canonical_psi` over the rows that exchange one member for the reserve.

    Args:
        scores: (M, n); NaN where a candidate is not shown.
        reference: (n,) the canonical row.
        shown: the presentation of each row.
        kind: "replaced", "dropped", or "both": every such row once.

    Returns:
        0 (the survivors keep their order) to 1 (reversed); NaN when there is no
        such row, so for every other design, or no row has two survivors.

    Raises:
        UsageError: the kind is unknown or the shapes do not match.
    """
    choice("kind", kind, ("both", "replaced", "dropped"))
    rows, base = _rows_and(scores, reference)
    if not isinstance(shown, Sequence) or len(shown) != len(rows):
        given = len(shown) if isinstance(shown, Sequence) else came(shown)
        raise UsageError(f"{given} presentations for {len(rows)} rows; one each is needed")
    of_kind("shown", shown, Presentation)
    found = [exchanges(one) for one in shown]
    wanted = [bool(kinds) if kind == "both" else kind in kinds for kinds in found]
    return canonical_psi(rows[np.array(wanted, dtype=bool)], base)


def score_change(scores: ArrayLike, reference: ArrayLike) -> float:
    """Return how far scores are from those of the canonical row.

    The mean over rows of the mean |score - canonical score| over the survivors.

    Args:
        scores: (M, n).
        reference: (n,) the canonical row.

    Returns:
        0 (no score moves) upwards, in units of the score; NaN when no row has
        two survivors.

    Raises:
        UsageError: the shapes do not match.
    """
    rows, base = _rows_and(scores, reference)
    return defined_mean([_change(row, base, np.ones(len(base), dtype=np.bool_)) for row in rows])


def retained_delta(scores: ArrayLike, reference: ArrayLike, threshold: float) -> float:
    """Return `score_change` of the candidates that the canonical row retains.

    Args:
        scores: (M, n).
        reference: (n,) the canonical row.
        threshold: lowest score that is retained.

    Returns:
        0 upwards, in units of the score; NaN when no row has two survivors, or
        none of them is retained.

    Raises:
        UsageError: the shapes do not match.
    """
    rows, base = _rows_and(scores, reference)
    cut = cut_value("threshold", threshold)
    return defined_mean([_change(row, base, base >= cut) for row in rows])


def _change(row: FloatArray, base: FloatArray, among: BoolArray) -> float:
    survivors = ~(np.isnan(row) | np.isnan(base))
    asked = survivors & among
    if survivors.sum() < 2 or not asked.any():
        return float("nan")
    return float(np.abs(row[asked] - base[asked]).mean())


def top_set_flip(
    scores: ArrayLike, reference: ArrayLike, tie_ranks: ArrayLike, *, k: int = 10
) -> float:
    """Return how often the top-k set of the survivors is not that of the canonical row.

    Both tops are taken among the survivors: the member that went and the reserve
    that came are no flip by themselves.

    Args:
        scores: (M, n).
        reference: (n,) the canonical row.
        tie_ranks: (n,) of `seeds.tie_ranks`; they decide ties.
        k: size of the set.

    Returns:
        0 (the same set in every row) to 1; NaN when no row has more than k
        survivors: there the set is everything.

    Raises:
        UsageError: k < 1, or the shapes do not match.
    """
    k = whole("k of a top set", k)
    rows, base = _rows_and(scores, reference)
    ties = same_places("tie_ranks", tie_ranks, rows.shape)
    flips = []
    for row in rows:
        survivors = np.flatnonzero(~(np.isnan(row) | np.isnan(base)))
        if len(survivors) <= k:
            continue
        tops = ranks(np.stack([row, base])[:, survivors], ties[survivors]) < k
        flips.append(float((tops[0] != tops[1]).any()))
    return defined_mean(flips)
