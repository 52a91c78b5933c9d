"""A scorer that lives in another process: what it says of itself, without its weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evenhand.errors import ScorerError
from evenhand.types import Scale, Scored, Scorer, Shown, Surface

_DECLARED = (
    "name", "revision", "scale", "order_free", "channels", "max_window", "default_window", "surface",
)  # fmt: skip
# What records, reports and verbs read of a scorer beside the protocol.
_TOLD = (
    "dtype", "context", "max_candidate_tokens", "max_candidate_words", "options", "order_only",
    "unseen", "facts", "remedies", "draws", "settles_at", "by_construction", "trained",
)  # fmt: skip


def described(scorer: Scorer) -> dict[str, Any]:
    """Return what a scorer says of itself, by name; what it does not say is left out."""
    known: dict[str, Any] = {name: getattr(scorer, name) for name in _DECLARED}
    known |= {name: getattr(scorer, name) for name in _TOLD if hasattr(scorer, name)}
    inner: Any = scorer
    while "trained" not in known and hasattr(inner, "inner"):
        inner = inner.inner
        known |= {"trained": inner.trained} if hasattr(inner, "trained") else {}
    return known


class Elsewhere:
    """A scorer's description in its place: all its attributes, and no scores.

    Args:
        known: what `described` gave in the process that has the scorer.
    """

    name: str
    revision: str
    scale: Scale
    order_free: bool
    channels: frozenset[str]
    max_window: int | None
    default_window: int | None
    surface: Surface

    def __init__(self, known: dict[str, Any]) -> None:
        self.__dict__.update(known)

    def score(self, shown: Sequence[Shown]) -> list[Scored]:
        """Refuse: only an engine's workers can score.

        Raises:
            ScorerError: always.
        """
        raise ScorerError(f"{self.name} is opened by workers alone; hand their engine to the run")
