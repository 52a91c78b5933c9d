"""The windows of a presentation as texts, for scorers that are handed texts."""

from __future__ import annotations

from evenhand.errors import ScorerError
from evenhand.types import Shown


def require_width(shown: Shown, limit: int | None, what: str) -> None:
    """Refuse a window of more candidates than a scorer takes.

    Args:
        limit: most candidates of a window; None = any.
        what: words before the limit, as in "max_documents is".

    Raises:
        ScorerError: there is such a window.
    """
    widest = max(map(len, shown.presentation.windows), default=0)
    if limit is not None and widest > limit:
        raise ScorerError(
            f"slate {shown.slate.id!r}: a window of {widest} candidates, but {what} {limit}. "
            f"Choose a width up to {limit}."
        )


def window_texts(shown: Shown) -> list[list[str]]:
    """Return the texts of each window in slot order; a title stands before its text."""
    texts = [candidate.full_text for candidate in shown.slate.candidates]
    return [[texts[i] for i in window] for window in shown.presentation.windows]
