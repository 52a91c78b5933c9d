"""The bundled demo slates, written for this package (see DATASHEET.md beside this file)."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources

from evenhand.errors import UsageError
from evenhand.types import Slate, slate_from_dict

__all__ = ["demo_slates"]


@cache
def _packaged() -> tuple[Slate, ...]:
    """Read the packaged file once; slates are frozen, so they can be shared."""
    text = resources.files(__name__).joinpath("slates.jsonl").read_text(encoding="utf-8")
    # Only "\n" ends a line: str.splitlines would also cut at separators inside a JSON string.
    return tuple(slate_from_dict(json.loads(line)) for line in text.split("\n") if line.strip())


def demo_slates(limit: int | None = None) -> list[Slate]:
    """Return the bundled slates, graded 0 to 3, in their fixed order.

    Args:
        limit: how many to return, counted from the first; None means all. The
            first six cover six topics; among them are one in German, one claim
            to verify and one comparison.

    Returns:
        A new list of slates with 12 candidates each, every candidate graded.

    Raises:
        UsageError: limit is not an integer from 1 to the number of slates.
    """
    slates = _packaged()
    if limit is None:
        return list(slates)
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= len(slates):
        raise UsageError(
            f"limit={limit!r}: there are {len(slates)} demo slates; "
            f"give an integer from 1 to {len(slates)}, or None for all"
        )
    return list(slates[:limit])
