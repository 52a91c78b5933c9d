"""Rows that an order-free scorer need not be asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.types import Scored, Shown, Surface

_ARRAYS = ("scores", "grades", "label_mass", "truncated", "escaped")


def needed(rows: Sequence[Shown]) -> list[Shown]:
    """Return the rows that show a candidate for the first time under their surface.

    For an order-free scorer they tell all: the canonical row in most designs, one
    more where that leaves a candidate out, one for each surface. Repeat rows are
    never among them.

    Args:
        rows: one slate in all rows of its plan, in row order.
    """
    seen: dict[Surface, set[int]] = {}
    found = []
    for one in rows:
        if one.kind == "repeat":
            continue
        surface, order = one.presentation.surface, one.presentation.order
        if surface not in seen or not seen[surface].issuperset(order):
            found.append(one)
            seen.setdefault(surface, set()).update(order)
    return found


def reused(shown: Shown, asked: Sequence[tuple[Shown, Scored]]) -> Scored:
    """Return the scores of a row from rows that were asked, at no cost.

    Args:
        shown: the row; all its candidates are shown in `asked` under its surface.
        asked: rows of the same slate with their scores, in row order. Of a
            candidate that several of them show, the first counts.
    """
    presentation = shown.presentation
    sources = [pair for pair in asked if pair[0].presentation.surface == presentation.surface]
    for one, scored in sources:
        if one.presentation.omitted == presentation.omitted:
            return replace(scored, prompts=0, tokens=0)
    masked = [(one.presentation.included(), scored) for one, scored in sources]
    arrays: dict[str, Any] = {name: _joined(name, presentation.included(), masked) for name in _ARRAYS}
    failures = [scored.failure for _, scored in sources if scored.failure is not None]
    return Scored(
        **arrays,
        failure=failures[0] if failures else None,
        query_escaped=max((scored.query_escaped for _, scored in sources), default=0),
    )


def _joined(
    name: str, wanted: NDArray[np.bool_], sources: Sequence[tuple[NDArray[np.bool_], Scored]]
) -> NDArray[Any] | None:
    """Return one array of a row, candidate by candidate from the sources that show it."""
    values = [(seen, getattr(scored, name)) for seen, scored in sources]
    if any(value is None for _, value in values):
        return None
    result: NDArray[Any] = values[0][1].copy()
    # From the last to the first, so that the first source has the last word.
    for seen, value in reversed(values):
        result[seen] = value[seen]
    result[~wanted] = np.nan if result.dtype.kind == "f" else 0
    return result
