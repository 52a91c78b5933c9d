"""The teacher of silver labels: what is recorded of it, how it is asked, human grades as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from evenhand.errors import EvenhandError, ScorerError, UsageError, require_count
from evenhand.measure.checks import came
from evenhand.score.facts import scorer_facts
from evenhand.train.labels import graded
from evenhand.types import Scale, Scored, Scorer, Shown, Surface

GRADES = "grades"


@dataclass(frozen=True, slots=True)
class GradesTeacher:
    """Human grades as a scorer: grade / highest, clipped to [0, 1]; unjudged is 0.

    A slate without grades has no scores. Nothing is read, so it costs nothing.

    Attributes:
        highest: the grade that is worth 1.

    Raises:
        UsageError: highest is no whole number of at least 1.
    """

    highest: int = 3
    name: str = field(default=GRADES, init=False)
    scale: Scale = field(default="unit", init=False)
    order_free: bool = field(default=True, init=False)
    channels: frozenset[str] = field(default=frozenset(), init=False)
    max_window: int | None = field(default=None, init=False)
    default_window: int | None = field(default=None, init=False)
    surface: Surface = field(default=Surface(), init=False)

    def __post_init__(self) -> None:
        require_count("highest", self.highest)

    @property
    def revision(self) -> str:
        """What changes the scores of a slate: the grade that is worth 1."""
        return f"{GRADES} over {self.highest}"

    def score(self, shown: Sequence[Shown]) -> list[Scored]:
        """Return the grades of each slate, whatever its presentation."""
        return [
            Scored.failed(len(one.slate), "the slate has no grades")
            if one.slate.grades is None
            else Scored(graded(one.slate, self.highest).labels)
            for one in shown
        ]


def grades_teacher(options: Mapping[str, Any] | None = None) -> GradesTeacher:
    """Return human grades as a teacher.

    Args:
        options: `highest` alone.

    Raises:
        UsageError: an unknown option, or one out of range.
    """
    unknown = sorted(set(options or {}) - {"highest"})
    if unknown:
        raise UsageError(f"{GRADES!r}: unknown options {unknown}; known are ['highest']")
    return GradesTeacher(**(options or {}))


def require_teacher(teacher: object) -> None:
    """Refuse what is no scorer.

    Raises:
        UsageError: says how to open or wrap one.
    """
    if not isinstance(teacher, Scorer) or isinstance(teacher, type):
        raise UsageError(
            f"a teacher is a scorer, got {came(teacher)}: open one by name with "
            "evenhand.open_scorer(name), or wrap a function f(query, texts) with evenhand.scorer(f)"
        )


def teacher_facts(teacher: Scorer) -> dict[str, Any]:
    """Return what identifies a teacher in records: plain values by name."""
    known = scorer_facts(teacher)
    order_only = getattr(teacher, "order_only", None)
    if order_only is not None:
        known["order_only"] = order_only
    facts = getattr(teacher, "facts", None)
    if isinstance(facts, Mapping) and "remedies" in facts:
        known["remedies"] = list(facts["remedies"])
    return known


def ask_teacher(teacher: Scorer, rows: Sequence[Sequence[Shown]]) -> list[list[Scored]]:
    """Return the scores of some slates, each shown in several orders, in one call.

    An order-free teacher is asked once a slate; its other orders cost nothing.

    Args:
        teacher: who is asked.
        rows: one list a slate, one Shown an order, all under one surface.

    Raises:
        ScorerError: the teacher raised, or gave something that is no scores.
        EvenhandError: as the teacher raised it.
    """
    asked = [list(own[:1] if teacher.order_free else own) for own in rows]
    flat = [one for own in asked for one in own]
    found = iter(_checked(teacher, flat, _scored(teacher, flat)))
    answers = [[next(found) for _ in own] for own in asked]
    return [
        [*got, *(replace(got[0], prompts=0, tokens=0) for _ in range(len(own) - len(got)))]
        for own, got in zip(rows, answers, strict=True)
    ]


def _scored(teacher: Scorer, shown: Sequence[Shown]) -> Any:
    try:
        return teacher.score(list(shown))
    except EvenhandError:
        raise
    except Exception as error:
        raise ScorerError(
            f"{teacher.name} failed on slates {shown[0].slate.id!r} to {shown[-1].slate.id!r}: "
            f"{type(error).__name__}: {error}. What was labelled before is kept; run again to go on."
        ) from error


def _checked(teacher: Scorer, shown: Sequence[Shown], answers: Any) -> list[Scored]:
    if not isinstance(answers, Sequence) or len(answers) != len(shown):
        count = len(answers) if isinstance(answers, Sequence) else f"a {type(answers).__name__}"
        raise ScorerError(f"{teacher.name} gave {count} answers for {len(shown)} presentations")
    for one, scored in zip(shown, answers, strict=True):
        who = f"{teacher.name}, slate {one.slate.id!r}, order {one.row}"
        if not isinstance(scored, Scored) or len(scored.scores) != len(one.slate):
            raise ScorerError(
                f"{who}: got {came(scored)}, need a Scored with {len(one.slate)} scores; "
                "a missing score is NaN, never left out"
            )
        if np.isinf(scored.scores).any():
            raise ScorerError(f"{who}: a score is infinite; it must be finite, or NaN when missing")
    return list(answers)
