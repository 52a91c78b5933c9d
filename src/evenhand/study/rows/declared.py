"""What a scorer declares about itself, checked before it is asked anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

from evenhand.errors import UsageError
from evenhand.present.design import DESIGNS
from evenhand.types import Scale, Scorer, Surface

KNOWN_CHANNELS: frozenset[str] = frozenset().union(*(kind.channels for kind in DESIGNS.values()))


def _text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _window(value: object) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 1)


def _channels(value: object) -> bool:
    return isinstance(value, (set, frozenset)) and value <= KNOWN_CHANNELS


_DECLARED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "name": (_text, "a non-empty string"),
    "revision": (_text, "a non-empty string"),
    "scale": (lambda value: value in get_args(Scale), f"one of {', '.join(get_args(Scale))}"),
    "order_free": (lambda value: isinstance(value, bool), "True or False"),
    "channels": (_channels, f"a set of some of {', '.join(sorted(KNOWN_CHANNELS))}"),
    "max_window": (_window, "a whole number of at least 1, or None for no limit"),
    "default_window": (_window, "a whole number of at least 1, or None for the whole slate"),
    "surface": (lambda value: isinstance(value, Surface), "a Surface"),
}


def check_declarations(scorer: Scorer) -> None:
    """Refuse a scorer that says something of itself that no study can use.

    Raises:
        UsageError: names the attribute, what came and what is needed.
    """
    for name, (fits, needed) in _DECLARED.items():
        value = getattr(scorer, name)
        if not fits(value):
            raise UsageError(f"{type(scorer).__name__}.{name} must be {needed}, got {value!r}")
