"""What identifies a scorer in records, whoever keeps them."""

from __future__ import annotations

from typing import Any

from evenhand.types import Scorer

_DECLARED = ("name", "revision", "scale", "order_free", "max_window")
# What a scorer may tell beside the protocol, as its own attribute or in its `options`.
_OPTIONAL = ("dtype", "max_candidate_tokens", "max_candidate_words", "context")


def scorer_facts(scorer: Scorer) -> dict[str, Any]:
    """Return name, revision, scale, order_free, max_window and what else it tells of its cuts.

    Values are plain: a number, a truth value or a text; what is None is left out.
    """
    known: dict[str, Any] = {name: getattr(scorer, name) for name in _DECLARED}
    for name in _OPTIONAL:
        value = getattr(scorer, name, getattr(getattr(scorer, "options", None), name, None))
        if value is not None:
            known[name] = value if isinstance(value, (bool, int, float)) else str(value)
    return known
