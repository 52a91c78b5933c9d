"""The one value of a gate: table, JSON, JUnit and exit code are read off it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evenhand.gate.criteria import Criterion
from evenhand.gate.outcome import Outcome, gravest


@dataclass(frozen=True, slots=True)
class Judged:
    """One criterion of one run.

    Attributes:
        criterion: what was asked. outcome: what came of it.
        value: mean over slates, or the change of the mean from the baseline; NaN = none.
        low, high: its interval; NaN = none.
        n: slates (of a change: pairs) with a value. undefined: without one.
        floor: the measure of one presentation scored twice; of a change, how far that is
            from agreement, the larger of the two runs; NaN where there is none.
        before, after: of a change, the means of the baseline and of the run over the pairs.
        reason: why it did not pass, or what is to be known although it did.
    """

    criterion: Criterion
    outcome: Outcome
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    undefined: int = 0
    floor: float = math.nan
    before: float = math.nan
    after: float = math.nan
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """One run.

    Attributes:
        run: its folder, as it was named. facts: scorer, revision, slates, M, B and what
            else travels with a number, plain values by name.
        results: one for each criterion, in the order asked.
        scored: PASSED where all scores are there, PARTLY, UNSCORED or UNMEASURED.
        problem: what is wrong with the scores; empty for PASSED.
        notes: what to know before trusting the numbers.
    """

    run: str
    facts: Mapping[str, Any]
    results: tuple[Judged, ...]
    scored: Outcome = Outcome.PASSED
    problem: str = ""
    notes: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """What stands for the run."""
        return gravest([self.scored, *(one.outcome for one in self.results)])


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a gate found.

    Attributes:
        runs: a verdict for each, in the order named.
        on: whether intervals ("bound") or means ("mean") decided.
        level: coverage of the intervals.
    """

    runs: tuple[RunVerdict, ...]
    on: str
    level: float

    @property
    def outcome(self) -> Outcome:
        """What stands for all runs together."""
        return gravest(run.outcome for run in self.runs)

    @property
    def exit_code(self) -> int:
        """What the process returns."""
        return self.outcome.exit_code

    @property
    def passed(self) -> bool:
        """Whether everything asked was measured and met."""
        return self.outcome is Outcome.PASSED

    def count(self, outcome: Outcome) -> int:
        """Return how many criteria, over all runs, ended so."""
        return sum(one.outcome is outcome for run in self.runs for one in run.results)


def to_dict(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as JSON values; what is not a number is null."""
    return {
        "verdict": verdict.outcome.word,
        "exit_code": verdict.exit_code,
        "on": verdict.on,
        "level": verdict.level,
        "runs": [_run(run) for run in verdict.runs],
    }


def _run(run: RunVerdict) -> dict[str, Any]:
    return {
        "run": run.run,
        "verdict": run.outcome.word,
        "exit_code": run.outcome.exit_code,
        "scored": "all" if run.scored is Outcome.PASSED else run.scored.word,
        "problem": run.problem,
        "facts": dict(run.facts),
        "criteria": [_judged(one) for one in run.results],
        "notes": list(run.notes),
    }


def _judged(one: Judged) -> dict[str, Any]:
    asked = one.criterion
    numbers = {
        name: number(getattr(one, name))
        for name in ("value", "low", "high", "floor", "before", "after")
    }
    return {
        "criterion": str(asked),
        "measure": asked.measure,
        "change": asked.change,
        "relation": asked.relation,
        "bound": asked.bound,
        "verdict": one.outcome.word,
        **numbers,
        "n": one.n,
        "undefined": one.undefined,
        "reason": one.reason,
    }


def number(value: float) -> float | None:
    """Return a number as JSON has it: None where it is not finite."""
    return float(value) if math.isfinite(value) else None
