"""Companions that say nothing about the query: fillers, and candidates of other slates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenhand.errors import UsageError
from evenhand.measure.checks import integer
from evenhand.seeds import generator
from evenhand.study.rows.given import slates_of
from evenhand.types import Candidate, IntArray, Slate

FILLER = "(empty)"

# Candidates of other slates from which the one of the closest length is taken.
_POOL = 64


def length(candidate: Candidate) -> int:
    """Return the characters of a candidate's title and text."""
    return len(candidate.title) + len(candidate.text)


def stand_in(
    slate: Slate, window: Sequence[int], slot: int, others: Sequence[Candidate], what: str
) -> Slate:
    """Return a slate of one window: a candidate at its slot, others around it.

    The candidate keeps its id and grade; the others get ids of their own and no
    grade.

    Args:
        slate: where the candidate comes from.
        window: canonical indices of its window. slot: its own.
        others: the candidates of the other slots, in slot order.
        what: names the reading in the slate's id.
    """
    target = slate.candidates[window[slot]]
    around = [
        Candidate(f"{what} {place} beside {target.id}", other.text, other.title)
        for place, other in enumerate(others)
    ]
    candidates = (*around[:slot], target, *around[slot:])
    grades = slate.grades
    if grades is not None:
        grades = {target.id: grades[target.id]} if target.id in grades else {}
    return Slate(f"{slate.id} | {what} | {target.id}", slate.query, candidates, grades)


def filled(slate: Slate, window: Sequence[int], slot: int) -> Slate:
    """Return a candidate at its slot, every other slot holding the text `FILLER`."""
    return stand_in(slate, window, slot, [Candidate("filler", FILLER)] * (len(window) - 1), "filler")


class Donors:
    """Lends candidates of other slates, of about the length of those they replace.

    For each companion a sample of candidates of other slates is drawn, seeded by
    the slate and the candidate read; the one closest in length stands in. Texts
    that the slate holds itself, and texts used in the same window, are passed over.
    """

    def __init__(self, slates: Sequence[Slate], seed: int = 0) -> None:
        """Take the slates that lend to each other, and the seed of the draws.

        Raises:
            UsageError: no list of slates, or a seed that is no whole number.
        """
        slates, seed = slates_of(slates), integer("seed", seed)
        self._seed = seed
        self._pool = [(slate.id, one) for slate in slates for one in slate.candidates]
        self._lent = self._replaced = 0

    @property
    def length_ratio(self) -> float:
        """Characters lent over characters replaced; NaN before anything was lent."""
        return self._lent / self._replaced if self._replaced else float("nan")

    def require_enough(self, slates: Sequence[Slate], widths: Sequence[int]) -> None:
        """Refuse slates for whose windows the others hold too few texts; nothing is drawn.

        Args:
            slates: that borrow. widths: candidates of the widest window of each.

        Raises:
            UsageError: names the first of them, what it needs and what there is.
        """
        texts = {one.text for _, one in self._pool}
        for slate, width in zip(slates, widths, strict=True):
            there = len(texts - {one.text for one in slate.candidates})
            if there < width - 1:
                raise UsageError(
                    f"slate {slate.id!r}: its windows of {width} need {width - 1} unrelated texts, and "
                    f"the other slates hold {there}; unrelated companions need more slates, of other "
                    "candidates, or a smaller width"
                )

    def unrelated(self, slate: Slate, window: Sequence[int], slot: int) -> Slate:
        """Return a candidate at its slot, candidates of other slates in the other slots.

        Raises:
            UsageError: the other slates hold too few other texts.
        """
        target = window[slot]
        rng = generator(self._seed, slate.id, "unrelated companions", target)
        taken = {one.text for one in slate.candidates}
        lent = []
        for index in window:
            if index != target:
                one = self._closest(slate, slate.candidates[index], taken, rng)
                taken.add(one.text)
                lent.append(one)
        return stand_in(slate, window, slot, lent, "unrelated")

    def _closest(
        self, slate: Slate, companion: Candidate, taken: set[str], rng: np.random.Generator
    ) -> Candidate:
        wanted = length(companion)
        drawn = rng.integers(len(self._pool), size=_POOL)
        sample = self._usable(slate, drawn, taken)
        # A small or one-sided pool may need all of it.
        sample = sample or self._usable(slate, rng.permutation(len(self._pool)), taken)
        if not sample:
            raise UsageError(
                f"slate {slate.id!r}: the other slates hold no text left to stand in for a companion; "
                "unrelated companions need more slates, of other candidates"
            )
        found = min(sample, key=lambda one: abs(length(one) - wanted))
        self._lent += length(found)
        self._replaced += wanted
        return found

    def _usable(self, slate: Slate, drawn: IntArray, taken: set[str]) -> list[Candidate]:
        lenders = (self._pool[i] for i in drawn)
        return [one for owner, one in lenders if owner != slate.id and one.text not in taken]
