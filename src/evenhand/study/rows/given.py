"""Scorers and slates as they come from outside, checked before anything is asked of them."""

from __future__ import annotations

from collections.abc import Iterable

from evenhand.errors import UsageError
from evenhand.measure.checks import came, listed, of_kind, whole
from evenhand.types import Scorer, Slate


def require_scorer(scorer: object) -> None:
    """Refuse what is no scorer.

    Raises:
        UsageError: says how to open or wrap one.
    """
    if not isinstance(scorer, Scorer) or isinstance(scorer, type):
        raise UsageError(
            f"a scorer is needed, got {came(scorer)}: open one by name with "
            "evenhand.open_scorer(name), or wrap a function f(query, texts) with evenhand.scorer(f)"
        )


def slates_of(slates: Iterable[Slate]) -> list[Slate]:
    """Return the slates that an iterable holds.

    Raises:
        UsageError: it is none, or holds something else.
    """
    if isinstance(slates, Slate):
        raise UsageError("a list of slates is needed, got one Slate; put it in a list")
    found = listed("slates", slates, "Slate")
    of_kind("slates", found, Slate)
    return found


def require_width(width: object) -> None:
    """Refuse a width that is no whole number of at least 1, nor None.

    Raises:
        UsageError: it is none.
    """
    if width is not None:
        whole("width", width)
