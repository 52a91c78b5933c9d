"""What a reasoning model thought, told apart from what it answered."""

from __future__ import annotations

_THINKING, _THOUGHT = "<think>", "</think>"


def without_thought(text: str) -> str:
    """Return what stands after the thoughts of an answer; "" when it never came to that."""
    _, ended, after = text.rpartition(_THOUGHT)
    return "" if not ended and text.lstrip().startswith(_THINKING) else after
