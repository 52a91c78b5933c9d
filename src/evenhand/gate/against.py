"""A run beside its baseline: how far a measure moved over the same slates."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evenhand.errors import InputError, UsageError
from evenhand.gate.criteria import Criterion
from evenhand.gate.outcome import Outcome
from evenhand.gate.settings import GateSettings
from evenhand.gate.verdict import Judged
from evenhand.measure.paired import Paired, PairedOptions, paired
from evenhand.records import RunFolder
from evenhand.study.against.contenders import Contender, contenders, open_run
from evenhand.study.against.lines import Line, Studied
from evenhand.study.analysis import Analysis
from evenhand.study.counted import counted
from evenhand.study.found.cuts import require_one_rule
from evenhand.types import BoolArray


@dataclass(frozen=True, slots=True)
class Beside:
    """A run and the baseline it is compared with, opened and found comparable.

    Attributes:
        baseline, run: each one run.
    """

    baseline: Contender
    run: Contender

    @property
    def folder(self) -> RunFolder:
        """The records of the baseline."""
        return self.baseline.runs[0][0].folder


def beside(folder: RunFolder, baselines: Sequence[RunFolder], vary: Sequence[str]) -> Beside:
    """Return the run with the baseline over its slates.

    Raises:
        UsageError: no baseline is over the same slates, several are, one is the run
            itself, or the two differ in a setting; each difference is named.
    """
    place = os.path.realpath(folder.path)
    if any(os.path.realpath(one.path) == place for one in baselines):
        raise UsageError(
            f"{folder.path} is its own baseline, so no change would ever be seen; name another run"
        )
    own = open_run(folder).parts if len(baselines) > 1 else None
    fitting = [one for one in baselines if own is not None and open_run(one).parts == own]
    if len(fitting) > 1:
        names = " and ".join(str(one.path) for one in fitting)
        raise UsageError(
            f"{names} are both over the slates of {folder.path}; name one baseline of them"
        )
    chosen = fitting[0] if fitting else baselines[0]
    found = contenders({"baseline": [chosen], "run": [folder]}, vary)
    return Beside(found[0], found[1])


def as_input(path: Path, error: Exception) -> InputError:
    """Return the error of a baseline in which there is nothing to compare with."""
    return InputError(f"cannot be a baseline: {error}", path=str(path))


def changes(
    pair: Beside,
    analyses: tuple[Analysis, Analysis],
    criteria: Sequence[Criterion],
    settings: GateSettings,
) -> dict[Criterion, Judged]:
    """Return what each criterion of change says.

    Args:
        pair: the two runs. analyses: of the baseline and of the run.
        criteria: those with a change.
        settings: how to judge.

    Raises:
        UsageError: retained sets would be compared that were cut by different rules.
    """
    base, run = (
        Studied(contender, ((analysis,),), (_incomplete(contender, analysis)[None],))
        for contender, analysis in zip((pair.baseline, pair.run), analyses, strict=True)
    )
    lines = [one.line for one in criteria if one.line is not None]
    require_one_rule((base, run), lines)
    pairs = zip(criteria, lines, strict=True)
    return {one: _judged(one, line, base, run, settings) for one, line in pairs}


def _incomplete(contender: Contender, analysis: Analysis) -> BoolArray:
    """Return (slates,) whether a slate lacks any score."""
    if not analysis.counts.get("missing_scores", 0):
        return np.zeros(len(analysis.slate_ids), dtype=bool)
    records = contender.runs[0][0].folder.recorded()
    return np.array([bool(record.missing.any()) for record in records], dtype=bool)


def _judged(
    criterion: Criterion, line: Line, base: Studied, run: Studied, settings: GateSettings
) -> Judged:
    if not (base.compares(line, named=True) and run.compares(line, named=True)):
        reason = "stable by construction: its agreement is no merit to compare"
        return Judged(criterion, Outcome.INCONCLUSIVE, reason=reason)
    found, undefined = _paired(line, base, run, settings)
    sign = -1.0 if criterion.change == "drop" else 1.0
    low, high = sorted((sign * found.low, sign * found.high))
    value = sign * found.difference
    bounds = (low, high) if settings.on == "bound" else (value, value)
    enough = found.n >= settings.min_slates and not _too_few(found) and not math.isnan(bounds[0])
    outcome = criterion.decide(*bounds) if enough else Outcome.INCONCLUSIVE
    known = [floor for floor in (base.floor(line), run.floor(line)) if not math.isnan(floor)]
    return Judged(
        criterion,
        outcome,
        value + 0.0,
        low + 0.0,
        high + 0.0,
        found.n,
        undefined + found.missing,
        max(known, default=math.nan),
        found.mean_a,
        found.mean_b,
        _reason(found, undefined, settings) if not enough else "",
    )


def _paired(line: Line, base: Studied, run: Studied, settings: GateSettings) -> tuple[Paired, int]:
    """Return the paired change and how many slates are no pair, the measure being undefined."""
    order = list(base.contender.runs[0][0].parts)
    before, after = base.values(line, 0, order)[0], run.values(line, 0, order)[0]
    lacking = base.lacking(0, order) | run.lacking(0, order)
    undefined = np.isnan(before) & np.isnan(after) & ~lacking
    before[lacking] = after[lacking] = np.nan
    options = PairedOptions(level=settings.level, max_missing=settings.max_missing)
    return paired(before[~undefined], after[~undefined], options=options), int(undefined.sum())


def _too_few(found: Paired) -> bool:
    """Whether the pairs that are there may say nothing: too many lack a score in either run."""
    return not found.n or (found.n > 1 and math.isnan(found.low))


def _reason(found: Paired, undefined: int, settings: GateSettings) -> str:
    if not found.n and not found.missing:
        return f"no slate has a value in both runs ({undefined} undefined)"
    if _too_few(found):
        return found.withheld
    if found.n < settings.min_slates:
        return f"{counted(found.n, 'pair')} of slates, fewer than the {settings.min_slates} asked for"
    return "one pair of slates has no interval; give more slates, or decide on the mean"
