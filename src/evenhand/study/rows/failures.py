"""Whether a scorer gave any score at all, and what it said where it gave none."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from evenhand.errors import ScorerError
from evenhand.records import Recorded
from evenhand.types import Scored


class Failures:
    """Counts what a scorer gave, and keeps the first reason for what it did not give.

    Attributes:
        scorer: its name. asked, given: scores. first: the first reason, or None.
    """

    def __init__(self, scorer: str) -> None:
        """Start with nothing asked of the scorer of that name."""
        self.scorer = scorer
        self.asked = self.given = 0
        self.first: str | None = None

    def add(self, scores: ArrayLike, reasons: Iterable[str | None] = ()) -> None:
        """Count some scores, NaN = missing, and look for a reason."""
        found = np.asarray(scores, dtype=np.float64)
        self.asked += found.size
        self.given += int((~np.isnan(found)).sum())
        if self.first is None:
            self.first = next((one for one in reasons if one is not None), None)

    def add_record(self, record: Recorded) -> None:
        """Count what the rows of one slate of a run show."""
        self.add(record.matrix.scores[record.matrix.plan.included()], record.failures)

    def add_all(self, scored: Iterable[Scored]) -> None:
        """Count what a scorer answered."""
        for one in scored:
            self.add(one.scores, [one.failure])

    def require_a_score(self) -> None:
        """Refuse a scorer of which every score is missing.

        Raises:
            ScorerError: quotes the first failure.
        """
        if self.asked and not self.given:
            raise gave_none(self.scorer, self.asked, self.first)


def gave_none(scorer: str, asked: int, first: str | None) -> ScorerError:
    """Return the error of a scorer that failed on everything.

    Args:
        scorer: its name. asked: scores asked for.
        first: its first failure, or None.
    """
    said = first or "the scorer gave no reason"
    return ScorerError(
        f"{scorer} gave none of {asked} scores, the first failure: {said}. Mend the scorer and run "
        "again; where records were kept, into a new folder"
    )
