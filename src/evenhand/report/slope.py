"""The picture of one slate in two presentations: two ranked lists and the lines between."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.report.clean import one_line
from evenhand.report.digits import number
from evenhand.report.drill import chip_state, grade_of, most_different, ranked, shown_text
from evenhand.types import BoolArray, FloatArray, Slate

LARGEST = 30
TEXT = 110
LINE = 30


@dataclass(frozen=True, slots=True)
class Entry:
    """One candidate in one of the two lists.

    Attributes:
        place: canonical place from 1. state, retained, relevant: as of a `Chip`.
        first_dropped: the threshold lies just above it.
    """

    place: int
    id: str
    text: str
    score: str
    state: str
    retained: bool
    relevant: bool
    first_dropped: bool


@dataclass(frozen=True, slots=True)
class Link:
    """The line of one candidate: heights in the left and the right list."""

    place: int
    state: str
    left: float
    right: float


@dataclass(frozen=True, slots=True)
class Slope:
    """Two lists of the same candidates, the highest score first, and their links."""

    names: tuple[str, str]
    lists: tuple[tuple[Entry, ...], tuple[Entry, ...]]
    links: tuple[Link, ...]
    height: int


def slope(slate: Slate, rows: FloatArray, threshold: float) -> Slope | None:
    """Return the picture of the two random rows that differ most.

    Args:
        slate: query and candidates.
        rows: (M, n) scores of the random rows.
        threshold: a candidate is retained at or above it.

    Returns:
        None with fewer than 2 rows or candidates, or more than `LARGEST` candidates.
    """
    if len(rows) < 2 or not 2 <= len(slate) <= LARGEST:
        return None
    retained = rows >= threshold
    first, second = most_different(rows, retained)
    orders = ranked(slate, rows[first]), ranked(slate, rows[second])
    changed = retained[first] != retained[second]
    lists = tuple(
        _entries(slate, order, rows[row], retained[row], changed)
        for order, row in zip(orders, (first, second), strict=True)
    )
    left, right = (np.argsort(order) * LINE + LINE / 2 for order in orders)
    states = [entry.state for entry in sorted(lists[0], key=lambda entry: entry.place)]
    links = [Link(i + 1, state, float(left[i]), float(right[i])) for i, state in enumerate(states)]
    # Lines of candidates that change lie on top of the others.
    links.sort(key=lambda link: link.state == "changed")
    names = (f"Presentation {first + 1}", f"Presentation {second + 1}")
    return Slope(names, (lists[0], lists[1]), tuple(links), len(slate) * LINE)


def _entries(
    slate: Slate, order: list[int], scores: FloatArray, retained: BoolArray, changed: BoolArray
) -> tuple[Entry, ...]:
    entries: list[Entry] = []
    for index in order:
        candidate = slate.candidates[index]
        grade = grade_of(slate, candidate)
        above = entries[-1].retained if entries else True
        entries.append(
            Entry(
                index + 1,
                one_line(candidate.id, TEXT),
                shown_text(candidate, TEXT),
                number(scores[index]),
                chip_state(scores[index], retained[index], changed[index]),
                bool(retained[index]),
                bool(grade and grade > 0),
                above and not retained[index],
            )
        )
    return tuple(entries)
