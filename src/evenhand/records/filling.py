"""Filling a run: its pending parts are scored by an engine and written as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from evenhand.records.folder import RunFolder
from evenhand.records.tables import Entry
from evenhand.types import Scorer, Slate

# Scores one part: (scorer, number of the part, its slates) -> one entry a slate, in their order.
Work = Callable[[Scorer, int, list[Slate]], Sequence[Entry]]
Parts = Iterable[tuple[int, list[Slate]]]


class Engine(Protocol):
    """Who does the work on the parts of a run, and where."""

    def __call__(
        self, scorer: Scorer, work: Work, parts: Parts
    ) -> Iterator[tuple[int, Sequence[Entry]]]:
        """Yield (number, entries) of every part, in any order, each as soon as it is scored.

        Args:
            scorer: what is asked; an engine whose workers open their own compares it with theirs.
            work: what is done to a part; it can be pickled.
            parts: (number, slates), read as a stream.
        """
        ...


def in_turn(scorer: Scorer, work: Work, parts: Parts) -> Iterator[tuple[int, Sequence[Entry]]]:
    """Score the parts in this process, one after the other: the engine that is used by default."""
    for index, slates in parts:
        yield index, work(scorer, index, slates)


def slates_done(folder: RunFolder) -> int:
    """Return how many slates of a run stand in finished parts."""
    left = (min(folder.part_size, folder.n_slates - i * folder.part_size) for i in folder.pending())
    return folder.n_slates - sum(left)


def fill(
    folder: RunFolder,
    scorer: Scorer,
    work: Work,
    *,
    engine: Engine | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Score the pending parts of a run and write each when it comes; finished ones stay.

    Args:
        folder: of the run, open for writing.
        scorer: what is asked. work: what is done to a part.
        engine: who does it; None = this process, part after part.
        progress: called with (slates done, slates in all), first with what was done before.
    """
    done = slates_done(folder)
    if progress is not None:
        progress(done, folder.n_slates)
    pending = folder.pending()
    if not pending:
        return
    parts = ((index, folder.part_slates(index)) for index in pending)
    for index, entries in (engine or in_turn)(scorer, work, parts):
        folder.write_part(index, entries)
        done += len(entries)
        if progress is not None:
            progress(done, folder.n_slates)
