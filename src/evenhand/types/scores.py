"""What comes back: scores, matrices of scores, decisions, estimates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.errors import UsageError
from evenhand.types.arrays import FloatArray, IntArray, RowKind
from evenhand.types.presentation import Plan, Presentation

# A float32 sum of probabilities may exceed 1 by this much.
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """What a scorer gives for one Shown, in canonical order.

    Attributes:
        scores: (n,) float64; NaN = missing.
        grades: (n, G) grade probabilities, or None.
        label_mass: (n,) probability of the G grades in the full vocabulary, or None.
        prompts: prompts this cost. tokens: tokens read, all prompts together.
        truncated: (n,) tokens cut from each candidate, or None when not known.
        escaped: (n,) places escaped in each candidate's text, or None.
        failure: why scores are missing, or what was dropped or mended to have them all;
            None when nothing is to be said.
        query_escaped: places escaped in the query.

    Raises:
        UsageError: a shape, count or probability is not what it must be.
    """

    scores: FloatArray
    grades: FloatArray | None = None
    label_mass: FloatArray | None = None
    prompts: int = 0
    tokens: int = 0
    truncated: IntArray | None = None
    escaped: IntArray | None = None
    failure: str | None = None
    query_escaped: int = 0

    def __post_init__(self) -> None:
        scores = np.asarray(self.scores, dtype=np.float64)
        object.__setattr__(self, "scores", scores)
        if scores.ndim != 1:
            raise UsageError(f"scores must be one number per candidate, got shape {scores.shape}")
        for name in ("grades", "label_mass", "truncated", "escaped"):
            value = getattr(self, name)
            if value is not None and len(value) != len(scores):
                raise UsageError(f"{name} holds {len(value)} rows for {len(scores)} candidates")
        if self.grades is not None and np.ndim(self.grades) != 2:
            raise UsageError(f"grades must be (n, G), got shape {np.shape(self.grades)}")
        self._check_mass()
        for name in ("prompts", "tokens", "query_escaped"):
            count = getattr(self, name)
            if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 0:
                raise UsageError(f"{name} must be a whole number of at least 0, got {count!r}")
        if self.failure is not None and not isinstance(self.failure, str):
            raise UsageError(f"failure must be a text or None, got {self.failure!r}")

    def _check_mass(self) -> None:
        if self.label_mass is None:
            return
        mass = np.asarray(self.label_mass, dtype=np.float64)
        wrong = mass[(mass < 0) | (mass > 1 + _ROUNDING)]
        if mass.ndim != 1 or wrong.size:
            came = f"shape {mass.shape}" if mass.ndim != 1 else f"{wrong[0]}"
            raise UsageError(f"label_mass must be one probability per candidate, got {came}")

    @classmethod
    def failed(cls, n: int, failure: str, *, prompts: int = 0, tokens: int = 0) -> Scored:
        """Return n missing scores with the reason."""
        return cls(np.full(n, np.nan), prompts=prompts, tokens=tokens, failure=failure)


@dataclass(frozen=True, slots=True, eq=False)
class ScoreMatrix:
    """Scores (rows, n) of one slate in canonical columns; NaN = missing."""

    scores: FloatArray
    plan: Plan

    def __post_init__(self) -> None:
        scores = np.asarray(self.scores, dtype=np.float64)
        object.__setattr__(self, "scores", scores)
        if scores.ndim != 2 or len(scores) != len(self.plan):
            raise UsageError(f"scores of shape {scores.shape} for {len(self.plan)} rows")

    @property
    def random(self) -> FloatArray:
        """The (M, n) scores of the random rows."""
        rows: FloatArray = self.scores[self.plan.rows("random")]
        return rows

    @property
    def canonical(self) -> FloatArray:
        """The (n,) scores of the canonical row; NaN when there is none."""
        return self._single("canonical")

    @property
    def repeat(self) -> FloatArray:
        """The (n,) scores of the repeat row; NaN when there is none."""
        return self._single("repeat")

    def _single(self, kind: RowKind) -> FloatArray:
        rows = self.plan.rows(kind)
        if not rows:
            return np.full(self.scores.shape[1], np.nan)
        row: FloatArray = self.scores[rows[0]]
        return row

    @property
    def random_presentations(self) -> tuple[Presentation, ...]:
        """The presentations of the random rows."""
        return tuple(self.plan.presentations[row] for row in self.plan.rows("random"))


@dataclass(frozen=True, slots=True)
class Decision:
    """What a consumer put out for one row of one slate."""

    slate_id: str
    row: int
    consumer: str
    value: str | tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over slates with its interval.

    Attributes:
        mean: over the slates where the measure is defined; NaN when none.
        low, high: bounds of the interval; NaN when n < 2.
        n: slates with a value. undefined: slates without one.
        level: coverage of the interval.
    """

    mean: float
    low: float
    high: float
    n: int
    undefined: int
    level: float = 0.95
