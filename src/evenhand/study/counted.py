"""A count and its noun, in the number that fits."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """Return "1 slate" or "3 slates"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
