"""Rankings as text: what a model that writes `[2] > [1] > [3]` has said, and what not.

Nothing is guessed. An id that does not exist is dropped, never moved to the nearest
one; of an id that stands twice the first place counts; a candidate that is not named
has no place. Each of these is counted, so that a table can show it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.errors import UsageError
from evenhand.score.thoughts import without_thought

_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_BETWEEN = re.compile(r"[,;>\s]+")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")
_SIGN = re.compile(r"[A-Z]{1,2}|[+-]?[0-9]+")


@dataclass(frozen=True, slots=True)
class Ranking:
    """What one answer says of a window of n candidates.

    Attributes:
        order: slots in the order of the answer, best first, each once; from 0.
        n: candidates of the window.
        invalid: ids that name no candidate, dropped.
        repeated: ids that had been named before, dropped.
    """

    order: tuple[int, ...]
    n: int
    invalid: int = 0
    repeated: int = 0

    @property
    def missing(self) -> tuple[int, ...]:
        """Slots that the answer does not name, rising."""
        return tuple(sorted(set(range(self.n)) - set(self.order)))

    @property
    def complete(self) -> bool:
        """Whether every candidate is named."""
        return len(self.order) == self.n

    @property
    def clean(self) -> bool:
        """Whether every candidate is named once and nothing else is."""
        return self.complete and not self.invalid and not self.repeated

    @property
    def empty(self) -> bool:
        """Whether candidates were shown and the answer names none of them."""
        return self.n > 0 and not self.order


def parse_ranking(answer: str, markers: int | Sequence[str]) -> Ranking:
    """Return the ranking that an answer writes.

    An id stands in square brackets: `[2] > [1]`, `[2], [1]`, `[2] [1]`, one a line, or
    several in one pair, `[2, 1]` and `[2 > 1]`. A number outside brackets is none, nor
    is a half-open `2]`: lists are numbered and sentences hold numbers. Brackets around
    anything but ids (`[sic]`, `[]`) are text. What stands before `</think>` is thought,
    not said.

    Args:
        answer: what the model wrote.
        markers: n for the ids 1 to n (leading zeros allowed), or the marker of each
            slot without brackets, e.g. ("A", "B", "C"); then digits and one or two
            capital letters are ids, valid or not.

    Raises:
        UsageError: the answer is no text, or markers repeat or are negative.
    """
    if not isinstance(answer, str):
        raise UsageError(f"an answer must be a text, got {type(answer).__name__}")
    slots, pattern = _slots(markers)
    order: dict[int, None] = {}
    invalid = repeated = 0
    for name in _names(without_thought(answer), slots, pattern):
        slot = slots.get(name)
        if slot is None:
            invalid += 1
        elif slot in order:
            repeated += 1
        else:
            order[slot] = None
    return Ranking(tuple(order), len(slots), invalid, repeated)


def _slots(markers: int | Sequence[str]) -> tuple[dict[str, int], re.Pattern[str]]:
    """Return the slot of each marker and the form that ids have."""
    if isinstance(markers, int):
        if isinstance(markers, bool) or markers < 0:
            raise UsageError(f"markers must be a count of at least 0, or names; got {markers!r}")
        return {str(slot + 1): slot for slot in range(markers)}, _NUMBER
    slots = {str(name): slot for slot, name in enumerate(markers)}
    if len(slots) != len(markers):
        raise UsageError(f"markers must differ from each other, got {list(markers)}")
    return slots, _SIGN


def _names(answer: str, slots: dict[str, int], pattern: re.Pattern[str]) -> list[str]:
    """Return the ids of an answer in its order, valid or not."""
    found: list[str] = []
    for inner in _BRACKETS.findall(answer):
        parts = [part for part in _BETWEEN.split(inner.strip()) if part]
        if all(part in slots or pattern.fullmatch(part) for part in parts):
            found += [part if part in slots else _plain(part) for part in parts]
    return found


def _plain(name: str) -> str:
    """Return a number without leading zeros, so that `[03]` is the third; else the name."""
    return name.lstrip("0") if name.isascii() and name.isdigit() else name
