"""What a measure by name is computed from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from evenhand.errors import UsageError
from evenhand.measure import decision
from evenhand.seeds import tie_ranks
from evenhand.types import FloatArray, IntArray, ScoreMatrix, Slate

Rows = Literal["served", "shuffled"]


@dataclass(frozen=True, slots=True)
class Task:
    """What a measure is computed from: one slate, its scores, and the options."""

    matrix: ScoreMatrix
    slate: Slate
    threshold: float | None
    rows: Rows
    name: str
    cutoff: int | None
    options: Mapping[str, Any]

    @property
    def random(self) -> FloatArray:
        """The (M, n) scores of the random rows."""
        return self.matrix.random

    @property
    def exhaustive(self) -> bool:
        """Whether means over pairs of rows include each row with itself."""
        return self.matrix.plan.exhaustive

    @property
    def ties(self) -> IntArray:
        """The (n,) places that order equal scores."""
        return tie_ranks(self.slate.id, self.slate.ids)

    @property
    def cut(self) -> float:
        """The option `t`, else the threshold that was handed over."""
        found = self.options["t"] if self.options["t"] is not None else self.threshold
        if found is None:
            raise UsageError(f"{self.name} needs a threshold; hand one over or write it as (t=0.5)")
        return float(found)

    @property
    def retained(self) -> FloatArray:
        """The (M, n) retained sets of the random rows."""
        return decision.retained_sets(self.random, self.cut)

    def placed(self, places: str) -> IntArray:
        """Return the (M, n) positions or slots of the random rows' presentations."""
        found = [getattr(shown, places)() for shown in self.matrix.random_presentations]
        return np.array(found, dtype=np.int64).reshape(self.random.shape)

    @property
    def judged(self) -> FloatArray:
        """The (R, n) rows that quality is asked of."""
        return self.matrix.canonical[None] if self.rows == "served" else self.random
