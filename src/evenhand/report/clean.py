"""Text from outside made safe to show: nothing in it acts, moves or breaks a line."""

from __future__ import annotations

import re
import unicodedata

_NOT_SHOWN = "\ufffd"
_SPACES = re.compile(r"\s+")
# Directional controls reorder what stands around them, line separators split it.
_ACTING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def one_line(text: str, limit: int | None = None) -> str:
    """Return text on one line, without control characters, cut at a limit.

    Runs of white space become one space. Control characters, lone surrogates
    and directional controls become U+FFFD, so that a reader sees that something
    stood there; letters of any script stay as they are.

    Args:
        text: any string.
        limit: most characters, the mark of the cut included; None = no cut.
    """
    kept = "".join(_shown(character) for character in _SPACES.sub(" ", text))
    kept = kept.strip()
    if limit is not None and len(kept) > limit:
        return kept[: max(0, limit - 1)].rstrip() + "…"
    return kept


def _shown(character: str) -> str:
    if character in _ACTING or unicodedata.category(character) in ("Cc", "Cs"):
        return _NOT_SHOWN
    return character


def script_json(text: str) -> str:
    """Return JSON text that is inert inside an HTML script element.

    Every `<`, `>` and `&` and the two Unicode line separators are written as
    JSON escapes, so the value can neither close the element nor end a line.
    """
    replacements = {
        "<": "\\u003c",
        ">": "\\u003e",
        "&": "\\u0026",
        "\u2028": "\\u2028",
        "\u2029": "\\u2029",
    }
    for found, escape in replacements.items():
        text = text.replace(found, escape)
    return text


def markdown_cell(text: str) -> str:
    """Return text that is literal inside a cell of a Markdown table."""
    cleaned = one_line(text)
    for character in "\\`*_[]<>|":
        cleaned = cleaned.replace(character, "\\" + character)
    return cleaned
