"""What a reader noticed: kept things to know about, counted and named.

Errors stop a read; what is harmless is counted here, warned about once, and
travels beside the slates.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator

from evenhand.errors import UsageError
from evenhand.types import Slate

NOTES: dict[str, str] = {
    "cut_text": "candidates whose text was cut to the collection's length",
    "empty_text": "candidates without text, kept",
    "excluded": "pairs of the exclusion list, dropped from candidates and grades",
    "no_candidates": "slates without candidates, kept",
    "order_contradicts_score": "slates whose list contradicts its scores; the list was kept",
    "query_not_judged": "queries of the run without judgments, left out",
    "query_not_retrieved": "judged queries that the run lacks, kept without candidates",
    "rank_contradicts_score": "queries whose rank column contradicts the scores; the scores order them",
    "repeated_judgment": "judgments that stand twice with the same grade, counted once",
    "repeated_line": "repeated lines of a query and candidate; the highest score was kept",
    "seeded_order": "slates put in a seeded order, as asked or as their form needs",
}
EXAMPLES = 1000


class InputWarning(UserWarning):
    """Input was accepted although something in it is odd."""


class ReadReport:
    """Counts of what a reader noticed, with the first examples of each kind.

    Kinds are the keys of `NOTES`. At most `EXAMPLES` examples are held a kind.
    """

    def __init__(self) -> None:
        self._examples: dict[str, list[str]] = {}
        self._counts: dict[str, int] = {}

    def add(self, kind: str, example: str) -> None:
        """Count one more of `kind`.

        Raises:
            UsageError: the kind is not in `NOTES`.
        """
        if kind not in NOTES:
            raise UsageError(f"unknown note {kind!r}; known are {sorted(NOTES)}")
        self._counts[kind] = self._counts.get(kind, 0) + 1
        held = self._examples.setdefault(kind, [])
        if len(held) < EXAMPLES:
            held.append(example)

    def count(self, kind: str) -> int:
        """Return how many of `kind` were noticed; 0 when none."""
        return self._counts.get(kind, 0)

    def examples(self, kind: str) -> tuple[str, ...]:
        """Return the first of `kind`, in reading order."""
        return tuple(self._examples.get(kind, ()))

    def merge(self, other: ReadReport) -> ReadReport:
        """Return a new report that holds the notes of both, these first."""
        merged = ReadReport()
        for report in (self, other):
            for kind, count in report._counts.items():
                merged._counts[kind] = merged._counts.get(kind, 0) + count
                held = merged._examples.get(kind, []) + report._examples[kind]
                merged._examples[kind] = held[:EXAMPLES]
        return merged

    def to_dict(self) -> dict[str, int]:
        """Return the counts by kind, kinds sorted."""
        return dict(sorted(self._counts.items()))

    def lines(self, kinds: Iterable[str] | None = None) -> list[str]:
        """Return one line a kind: its count, its meaning, its first examples."""
        shown = sorted(self._counts) if kinds is None else [kind for kind in kinds if self.count(kind)]
        return [
            f"{self._counts[kind]} {NOTES[kind]}: {name_some(self._examples[kind], self._counts[kind])}"
            for kind in shown
        ]

    def warn(self, place: str, kinds: Iterable[str]) -> None:
        """Give one InputWarning for the noticed ones among `kinds`, if any."""
        lines = self.lines(kinds)
        if lines:
            warnings.warn(f"{place}: " + "; ".join(lines), InputWarning, stacklevel=3)

    def __str__(self) -> str:
        return "\n".join(self.lines())


class Slates:
    """The slates of one source, read anew each time they are iterated.

    Attributes:
        report: what was noticed; complete when a pass is through.
    """

    def __init__(
        self, read: Callable[[ReadReport], Iterator[Slate]], report: ReadReport | None = None
    ) -> None:
        """Wrap `read`, which yields the slates of one pass and adds to the report it gets."""
        self._read = read
        self._before = report or ReadReport()
        self.report = self._before

    def __iter__(self) -> Iterator[Slate]:
        report = self._before.merge(ReadReport())
        self.report = report
        for slate in self._read(report):
            if not slate.candidates:
                report.add("no_candidates", slate.id)
            for candidate in slate.candidates:
                if not candidate.text.strip():
                    report.add("empty_text", f"{slate.id}/{candidate.id}")
            yield slate


def name_some(names: Iterable[str], total: int, most: int = 5) -> str:
    """Return the first names, comma-separated, and how many more there are."""
    shown = [str(name) for name in names][:most]
    more = total - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
