"""How a measure is written: `Head(option=value, ...)@cutoff`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from evenhand.errors import UsageError

Value = str | int | float

# A whole number above it has no float; NaN and infinity are not below it.
_LARGEST = 1e300

_NEEDS = {
    "number": "a finite number",
    "share": "a number between 0 and 1, both excluded",
    "count": "a whole number from 1",
}


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a measure.

    Attributes:
        takes: the words it may be, or "number" (finite), "share" (0 < x < 1),
            "count" (whole, >= 1).
        default: its value where it is not written.
    """

    takes: tuple[str, ...] | Literal["number", "share", "count"]
    default: Value | None

    def accepts(self, value: object) -> bool:
        """Return whether the value is one that the option takes."""
        if isinstance(self.takes, tuple):
            return value in self.takes
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        if not abs(value) <= _LARGEST:
            return False
        if self.takes == "count":
            return isinstance(value, int) and value >= 1
        return self.takes == "number" or 0 < value < 1

    @property
    def needs(self) -> str:
        """What it takes, in words."""
        return f"one of {sorted(self.takes)}" if isinstance(self.takes, tuple) else _NEEDS[self.takes]


def _broken(text: object) -> UsageError:
    return UsageError(
        f"cannot read {text!r} as a measure; write Head, Head@10 or Head(option=value)@10, "
        "for example nDCG@10 or Overlap(t=0.5)"
    )


def split(text: str) -> tuple[str, dict[str, object], int | None]:
    """Return head, options and cutoff of a written measure.

    Raises:
        UsageError: the text does not follow the grammar.
    """
    cutoff = None
    if not isinstance(text, str):
        raise _broken(text)
    try:
        node = ast.parse(text.strip(), mode="eval").body
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            cutoff = ast.literal_eval(node.right)
            node = node.left
            if not Option("count", None).accepts(cutoff):
                raise UsageError(f"the cutoff of {text!r} must be {_NEEDS['count']}")
        options: dict[str, object] = {}
        if isinstance(node, ast.Call):
            names = [keyword.arg for keyword in node.keywords]
            if node.args or None in names or len(set(names)) < len(names):
                raise _broken(text)
            options = {str(word.arg): ast.literal_eval(word.value) for word in node.keywords}
            node = node.func
    except UsageError:
        raise
    except (SyntaxError, ValueError, TypeError, AttributeError, MemoryError, RecursionError):
        raise _broken(text) from None
    if not isinstance(node, ast.Name):
        raise _broken(text)
    return node.id, options, cutoff


def check_options(
    head: str, given: Mapping[str, object], known: Mapping[str, Option]
) -> tuple[tuple[str, Value], ...]:
    """Return the given options that differ from their defaults, in declared order.

    Raises:
        UsageError: an unknown option, or a value it does not take.
    """
    for name, value in given.items():
        if name not in known:
            raise UsageError(f"{head} has no option {name!r}; known are {sorted(known)}")
        if not known[name].accepts(value):
            raise UsageError(f"option {name!r} of {head} must be {known[name].needs}, got {value!r}")
    kept = []
    for name, option in known.items():
        value = given.get(name, option.default)
        if value != option.default and isinstance(value, (str, int, float)):
            kept.append((name, float(value) if option.takes in ("number", "share") else value))
    return tuple(kept)


def written(head: str, options: Iterable[tuple[str, Value]], cutoff: int | None) -> str:
    """Return the text that `split` reads back into the same parts."""
    inside = ", ".join(f"{name}={value!r}" for name, value in options)
    return head + (f"({inside})" if inside else "") + (f"@{cutoff}" if cutoff is not None else "")
