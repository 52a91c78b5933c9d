"""How a gate judges, whatever it is asked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from evenhand.errors import UsageError
from evenhand.gate.criteria import SHORT, Criterion
from evenhand.measure.checks import choice, finite, inside, listed, of_kind, whole

On = Literal["bound", "mean"]


@dataclass(frozen=True, slots=True)
class GateSettings:
    """What runs are held against.

    Attributes:
        criteria: at least one; none bounds the same thing twice from one side.
        baselines: runs to compare with, one for each set of slates.
        on: "bound": the whole interval must lie on the good side, "mean": the mean.
        level: coverage of the intervals.
        threshold: keep candidates at or above it; None = as each run was audited.
        max_missing: share of missing scores up to which a run counts as complete.
        min_slates: a criterion with a value on fewer is inconclusive.
        strict: an unsteady scorer makes everything inconclusive.
        vary: settings in which a baseline may differ.
        junit: where the JUnit file goes; None = nowhere.

    Raises:
        UsageError: a value is out of its range, no criterion, two that bound one thing, or
            a change without a baseline and the other way round, `vary` without one.
    """

    criteria: tuple[Criterion, ...]
    baselines: tuple[Path, ...] = ()
    on: On = "bound"
    level: float = 0.95
    threshold: float | None = None
    max_missing: float = 0.0
    min_slates: int = 1
    strict: bool = False
    vary: tuple[str, ...] = ()
    junit: Path | None = None

    def __post_init__(self) -> None:
        of_kind("criteria", listed("criteria", self.criteria, "criteria"), Criterion)
        choice("on", self.on, ("bound", "mean"))
        inside("level", self.level)
        whole("min-slates", self.min_slates)
        if not 0 <= finite("max-missing", self.max_missing) < 1:
            raise UsageError(f"max-missing is a share under 1, got {self.max_missing}")
        if self.threshold is not None:
            finite("threshold", self.threshold)
        _require_coherent(self.criteria, bool(self.baselines), self.vary)


def _require_coherent(criteria: tuple[Criterion, ...], baseline: bool, vary: tuple[str, ...]) -> None:
    if not criteria:
        short = ", ".join(f"--{name}" for name in SHORT)
        raise UsageError(
            f"nothing to judge: give a criterion, {short} or --require MEASURE<=NUMBER, on the command "
            "line, in [tool.evenhand.gate] of pyproject.toml or in [gate] of evenhand.toml"
        )
    require_distinct(criteria)
    changes = [str(one) for one in criteria if one.change is not None]
    if changes and not baseline:
        raise UsageError(f"'{changes[0]}' needs a run to compare with; name it with --baseline")
    if vary and not baseline:
        raise UsageError(
            f"vary {', '.join(vary)} says in what a baseline may differ, and there is none; name one "
            "with --baseline, or leave vary out"
        )
    if baseline and not changes:
        raise UsageError(
            "a baseline is named and nothing is compared with it; add --max-drop MEASURE=NUMBER or "
            "--max-rise MEASURE=NUMBER, or leave it out"
        )


def require_distinct(criteria: tuple[Criterion, ...]) -> None:
    """Refuse two criteria that bound one measure from one side; name both.

    Raises:
        UsageError: there are such two.
    """
    known: dict[object, Criterion] = {}
    for one in criteria:
        if one.key in known:
            raise UsageError(f"'{known[one.key]}' and '{one}' bound one thing twice; keep one")
        known[one.key] = one
