"""Grades that a model wrote as text, parsed strictly: what is not in the form is counted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from evenhand.present.texts import Skeleton
from evenhand.score.prompt import GRADES
from evenhand.score.thoughts import without_thought

OTHER = "line in another form"
UNKNOWN = "unknown marker"
RANGE = "grade that is none of 0 to 3"
REPEATED = "repeated marker"


@dataclass(frozen=True, slots=True)
class Written:
    """What one answer says of a window.

    Attributes:
        grades: grade of each slot; None where the answer holds no valid line for it.
        refused: how many lines were refused, by reason: `OTHER`, `UNKNOWN`, `RANGE`,
            `REPEATED`. Empty lines and one header line are no lines.
    """

    grades: tuple[int | None, ...]
    refused: dict[str, int] = field(default_factory=dict)


def parse_written(text: str, markers: Sequence[str], skeleton: Skeleton) -> Written:
    """Read the filled-in form, a line a slot, whatever the order of the lines.

    A line counts when it is exactly the skeleton's, with a marker of the window and a
    grade from 0 to 3 in plain digits; space at its ends does not matter. Nothing is
    guessed: of two lines for one slot the first stands, and no grade is clamped. What
    stands before "</think>" is thought and no answer; a thought without end is none.

    Args:
        text: the answer. markers: marker of each slot. skeleton: wording of the form.
    """
    slots = {marker: slot for slot, marker in enumerate(markers)}
    pattern = _pattern(skeleton)
    grades: list[int | None] = [None] * len(markers)
    refused: dict[str, int] = {}
    lines = [line.strip() for line in without_thought(text).splitlines() if line.strip()]
    if lines and lines[0] == skeleton.header:
        lines = lines[1:]
    for line in lines:
        reason = _take(pattern.fullmatch(line), slots, grades)
        if reason is not None:
            refused[reason] = refused.get(reason, 0) + 1
    return Written(tuple(grades), refused)


def _pattern(skeleton: Skeleton) -> re.Pattern[str]:
    form = re.escape(skeleton.line.format(marker="\0", grade="\1"))
    return re.compile(form.replace("\0", r"(\S+)").replace("\1", r"(\S.*)"))


def _take(found: re.Match[str] | None, slots: dict[str, int], grades: list[int | None]) -> str | None:
    """Put the grade of a line into its slot, or return why the line is refused."""
    if found is None:
        return OTHER
    slot = slots.get(found[1])
    if slot is None:
        return UNKNOWN
    if found[2] not in GRADES:
        return RANGE
    if grades[slot] is not None:
        return REPEATED
    grades[slot] = GRADES.index(found[2])
    return None
