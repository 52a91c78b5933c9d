"""Agreement of the outcomes of one slate: labels such as answers, verdicts or choices.

`exhaustive` (the rows are all there are) lets means over pairs of rows include
each row with itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np

from evenhand.errors import UsageError
from evenhand.measure.checks import came, finite, listed, whole


def _counts(outcomes: Sequence[Hashable | None]) -> list[int]:
    return sorted(Counter(_known(outcomes)).values())


def _known(outcomes: Sequence[Hashable | None]) -> list[Hashable]:
    """Return the outcomes that are there, refusing what is no list of labels."""
    found = [one for one in listed("outcomes", outcomes, "labels, one a row") if one is not None]
    for one in found:
        try:
            hash(one)
        except TypeError:
            raise UsageError(
                f"an outcome must be a label such as a text or a number, got {came(one)}"
            ) from None
    return found


def pairwise_flip(outcomes: Sequence[Hashable | None], *, exhaustive: bool = False) -> float:
    """Return the share of pairs of rows whose outcomes differ.

    With outcome shares p over M rows: M / (M - 1) * (1 - sum p^2); exhaustive,
    each row with itself included: 1 - sum p^2.

    Args:
        outcomes: one label per row; None = missing, left out.
        exhaustive: see the module.

    Returns:
        0 (always the same) to 1; NaN with fewer than 2 outcomes.
    """
    counts = _counts(outcomes)
    rows = sum(counts)
    if rows < 2:
        return float("nan")
    same = sum(count * (count if exhaustive else count - 1) for count in counts)
    every = rows * (rows if exhaustive else rows - 1)
    return (every - same) / every


def modal_flip(outcomes: Sequence[Hashable | None]) -> float:
    """Return the share of rows without the most common outcome: 1 - max p.

    It is never above `pairwise_flip` times (M - 1) / M, as sum p^2 <= max p; the
    two are different numbers and no formula turns one into the other, except for
    two outcomes (`modal_from_pairwise`).

    Args:
        outcomes: one label per row; None = missing, left out.

    Returns:
        0 (always the same) up to 1 - 1/M; NaN with fewer than 2 outcomes.
    """
    counts = _counts(outcomes)
    rows = sum(counts)
    return (rows - counts[-1]) / rows if rows >= 2 else float("nan")


def modal_from_pairwise(pairwise: float, rows: int | None = None) -> float:
    """Return the modal flip that goes with a pairwise flip between two outcomes.

    With shares p and 1 - p, the pairwise flip without the factor M / (M - 1) is
    s = 2 p (1 - p), so the modal one, min(p, 1 - p), is (1 - sqrt(1 - 2 s)) / 2.

    Args:
        pairwise: pairwise flip of one slate. A mean over slates cannot be turned.
        rows: M, where `pairwise` runs over distinct rows; None where exhaustive.

    Returns:
        0 to 0.5.

    Raises:
        UsageError: more disagreement than two outcomes can have, or rows < 2.
    """
    if rows is not None:
        whole("rows of a pairwise flip", rows, 2)
    pairwise = finite("pairwise", pairwise)
    share = pairwise if rows is None else pairwise * (rows - 1) / rows
    if not 0 <= share <= 0.5 + 1e-12:
        raise UsageError(f"two outcomes cannot have a pairwise flip of {pairwise} over {rows} rows")
    return (1 - float(np.sqrt(max(0.0, 1 - 2 * share)))) / 2


def majority(outcomes: Sequence[Hashable | None]) -> Hashable | None:
    """Return the most common outcome, or None where two are equally common.

    Args:
        outcomes: one label per row; None = missing, left out.

    Returns:
        The outcome; None for a tie by disagreement and where all are missing.
    """
    ranked = Counter(_known(outcomes)).most_common(2)
    if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]
