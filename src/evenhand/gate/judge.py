"""From finished runs and what is asked of them to a verdict."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.errors import NothingMeasuredError, ResumeError, ScorerError, UsageError
from evenhand.gate.against import Beside, as_input, beside, changes
from evenhand.gate.criteria import READER, Criterion
from evenhand.gate.outcome import Outcome
from evenhand.gate.settings import GateSettings
from evenhand.gate.trust import blocking, missing, told
from evenhand.gate.verdict import Judged, RunVerdict, Verdict
from evenhand.measure.checks import listed
from evenhand.records import RunFolder, read_asked
from evenhand.records.merged import ROWS_NAME, SCORES_NAME
from evenhand.records.slates import NAME as SLATES_NAME
from evenhand.seeds import file_hash
from evenhand.study.analysis import Analysis
from evenhand.study.counted import counted
from evenhand.study.found.analyse import analyse
from evenhand.types import Estimate


def judge(runs: Sequence[str | os.PathLike[str]], settings: GateSettings) -> Verdict:
    """Hold finished runs against criteria; nothing is scored, nothing written into them.

    All folders are opened and held against each other before anything is measured.

    Args:
        runs: run folders, at least one.
        settings: what is asked, and how it is judged.

    Raises:
        ResumeError: a folder holds no run, an unfinished one, one of another version, or
            files that are not those that the run wrote.
        UsageError: no run, or a baseline that cannot be compared with; each difference is named.
        InputError: a baseline without a score.
    """
    folders = [open_finished(run) for run in listed("runs", runs, "run folders")]
    places = [os.path.realpath(folder.path) for folder in folders]
    if twice := [
        str(one.path) for one, place in zip(folders, places, strict=True) if places.count(place) > 1
    ]:
        raise UsageError(f"run {twice[0]} is given twice; name each once")
    if not folders:
        raise UsageError("no run to judge; name a run folder")
    baselines = [open_finished(path) for path in settings.baselines]
    pairs = [beside(one, baselines, settings.vary) if baselines else None for one in folders]
    known: dict[Path, Analysis] = {}
    found = [_judge(folder, pair, settings, known) for folder, pair in zip(folders, pairs, strict=True)]
    return Verdict(tuple(found), settings.on, settings.level)


def open_finished(path: str | os.PathLike[str]) -> RunFolder:
    """Open a run whose files are whole and those that it wrote.

    Raises:
        ResumeError: they are not, or there is no finished run.
    """
    folder = RunFolder.open(path)
    next(folder.recorded(), None)
    outputs = folder.manifest.get("outputs")
    written = {SLATES_NAME: folder.manifest["slates_hash"]}
    written |= outputs if isinstance(outputs, Mapping) else {}
    for name in (SLATES_NAME, SCORES_NAME, ROWS_NAME):
        if written.get(name) != file_hash(folder.path / name):
            raise ResumeError(
                "is not what the run wrote; restore it, or run again into a new folder",
                path=str(folder.path / name),
            )
    return folder


def _analyse(folder: RunFolder, settings: GateSettings) -> Analysis:
    asked = read_asked(folder.path).threshold
    names = [str(one.line.measure) for one in settings.criteria if one.line is not None]
    try:
        return analyse(
            folder,
            measures=list(dict.fromkeys(names)),
            threshold=asked if settings.threshold is None else settings.threshold,
            level=settings.level,
            save=False,
        )
    except UsageError as error:
        raise UsageError(f"{folder.path}: {error}") from None


def _judge(
    folder: RunFolder, pair: Beside | None, settings: GateSettings, known: dict[Path, Analysis]
) -> RunVerdict:
    try:
        analysis = _analyse(folder, settings)
    except ScorerError as error:
        return _without(folder, settings, Outcome.UNSCORED, str(error))
    except NothingMeasuredError as error:
        return _without(folder, settings, Outcome.UNMEASURED, str(error))
    moved: dict[Criterion, Judged] = {}
    if pair is not None:
        before = _baseline(pair, settings, known)
        asked = [one for one in settings.criteria if one.change is not None]
        moved = changes(pair, (before, analysis), asked, settings)
    results = tuple(
        moved[one] if one in moved else _valued(one, analysis, settings) for one in settings.criteria
    )
    problem = missing(analysis, settings)
    return RunVerdict(
        str(folder.path),
        facts(folder, analysis, None if pair is None else str(pair.folder.path)),
        blocking(results, analysis, settings),
        Outcome.PARTLY if problem else Outcome.PASSED,
        problem,
        told(analysis, settings),
    )


def _baseline(pair: Beside, settings: GateSettings, known: dict[Path, Analysis]) -> Analysis:
    """Return the analysis of a baseline, made once however many runs it is compared with."""
    path = pair.folder.path
    if path not in known:
        try:
            known[path] = _analyse(pair.folder, settings)
        except (ScorerError, NothingMeasuredError) as error:
            raise as_input(path, error) from None
    return known[path]


def _without(folder: RunFolder, settings: GateSettings, end: Outcome, why: str) -> RunVerdict:
    results = tuple(Judged(one, end, reason=why) for one in settings.criteria)
    return RunVerdict(str(folder.path), facts(folder), results, end, why)


def facts(
    folder: RunFolder, analysis: Analysis | None = None, baseline: str | None = None
) -> dict[str, Any]:
    """Return what travels with the numbers of a run, as plain values by name.

    Args:
        folder: the run. analysis: of it; without one, what is counted is left out.
        baseline: the folder it is compared with.
    """
    settings = folder.settings
    scorer: Mapping[str, Any] = settings.get("scorer", {})
    width = settings.get("width")
    found: dict[str, Any] = {
        "scorer": scorer.get("name"),
        "revision": scorer.get("revision"),
        "dtype": scorer.get("dtype"),
        "slates": folder.n_slates,
        "M": settings.get("rows"),
        "B": "whole slate" if width is None else width,
        "rule": settings.get("rule"),
        "design": settings.get("design"),
        "seed": settings.get("seed"),
    }
    if analysis is not None:
        fit = analysis.threshold
        found["threshold"] = None if fit is None else list(fit.folds)
        found["threshold_rule"] = None if fit is None else fit.rule
        names = ("missing_scores", "failed_rows", "truncated_tokens")
        found |= {name: analysis.counts.get(name, 0) for name in names}
    if baseline is not None:
        found["baseline"] = baseline
    return found


def _estimates(criterion: Criterion, analysis: Analysis) -> tuple[Estimate | None, Estimate | None]:
    """Return the estimate of a measure and of its noise floor, None where there is none."""
    line = criterion.line
    if line is None:
        read = analysis.reader
        if read is None or read.reader["task"] != READER[criterion.measure]:
            return None, None
        return read.estimates["flip"]["score"], read.estimates["floor"]["score"]
    name, kind = str(line.measure), line.measure.kind
    if kind == "quality":
        return (analysis.shuffled if line.shuffled else analysis.served).get(name), None
    part = analysis.stability if kind == "stability" else analysis.decisions
    return part.get(name), analysis.floor.get(name)


def _valued(criterion: Criterion, analysis: Analysis, settings: GateSettings) -> Judged:
    """Return what the value of a measure says."""
    found, noise = _estimates(criterion, analysis)
    if found is None or not found.n:
        undefined = len(analysis.slate_ids) if found is None else found.undefined
        reason = _unmeasured(criterion, analysis)
        return Judged(criterion, Outcome.INCONCLUSIVE, undefined=undefined, reason=reason)
    bounds = (found.low, found.high) if settings.on == "bound" else (found.mean, found.mean)
    floor = math.nan if noise is None else noise.mean
    outcome, reason = criterion.decide(*bounds), ""
    if found.n < settings.min_slates:
        outcome = Outcome.INCONCLUSIVE
        reason = (
            f"{counted(found.n, 'slate')} with a value, fewer than the {settings.min_slates} asked for"
        )
    elif math.isnan(bounds[0]):
        reason = "one slate has no interval; give more slates, or decide on the mean"
    elif not criterion.remark and criterion.decide(floor, floor) is Outcome.FAILED:
        # Noise is part of the value: one that passes where the noise alone would not is no pass.
        outcome = Outcome.INCONCLUSIVE if outcome is Outcome.PASSED else outcome
        reason = (
            "the noise floor alone is beyond the bound: one presentation, scored twice, moves as far"
        )
    return Judged(
        criterion,
        outcome,
        found.mean,
        found.low,
        found.high,
        found.n,
        found.undefined,
        floor,
        reason=reason,
    )


def _unmeasured(criterion: Criterion, analysis: Analysis) -> str:
    """Return why no slate of a run has a value."""
    slates = counted(len(analysis.slate_ids), "slate")
    if criterion.line is None:
        return (
            f"no reader with the task {READER[criterion.measure]!r} has read this run; let one: "
            "evenhand report RUN --reader MODEL"
        )
    bare = analysis.counts.get("slates_without_grades", 0)
    if criterion.line.measure.kind == "quality" and bare:
        return f"no value: {bare} of {slates} without grades"
    return (
        f"no value on any of {slates} (design {analysis.settings.get('design')}, M "
        f"{analysis.settings.get('rows')})"
    )
