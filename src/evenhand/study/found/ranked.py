"""What a reader must know of scores that are places in a ranking, and of rows that were mended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.study.analysis import Finding
from evenhand.study.counted import counted

_EXCERPT = 200


def ranked(
    scorer: Mapping[str, Any], counts: Mapping[str, int], remarks: Sequence[str]
) -> tuple[Finding, ...]:
    """Return findings on a scorer that gives an order alone, and on rows with a remark.

    Args:
        scorer: what records say of it; `order_only` is read.
        counts: `remarked_rows`, `remarked_slates`, `rows` and `slates` are read.
        remarks: a few of what rows that have all scores say was dropped or mended.
    """
    found = []
    if scorer.get("order_only"):
        found.append(
            Finding(
                "order_only",
                "note",
                "The scorer writes rankings: its scores are places, and only their order means "
                "something. Measures of scores and of sets cut at a score are left out; ask for one by "
                "name, or give a threshold, to cut at a place.",
            )
        )
    if rows := counts.get("remarked_rows", 0):
        slates = counted(counts.get("remarked_slates", 0), "slate")
        said = "; ".join(remark[:_EXCERPT] for remark in remarks)
        found.append(
            Finding(
                "remarked",
                "warning",
                f"{rows} of {counted(counts.get('rows', 0), 'row')}, in {slates}, have all scores only "
                f"after something was dropped or repaired: {said}. The numbers include them.",
            )
        )
    return tuple(found)
