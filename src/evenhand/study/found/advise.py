"""The threshold advisor and retention matching over finished runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.decide.advice import Advice
from evenhand.decide.advisor import SlateScores, advise
from evenhand.decide.matching import Matched, match_reference
from evenhand.decide.stored import StoredThreshold, write_threshold
from evenhand.decide.threshold import relevant
from evenhand.errors import UsageError
from evenhand.measure.checks import came, whole
from evenhand.records import RunFolder
from evenhand.study.found.analyse import threshold_revision
from evenhand.study.rows.failures import Failures
from evenhand.types import FloatArray

_OPTIONS = ("floor", "most", "points", "regions", "seed")


def advise_run(folder: RunFolder, *, min_grade: int = 1, **options: Any) -> Advice:
    """Return the threshold advised for a finished run, with its trade-off curve.

    Memory holds the scores of the run, not its texts.

    Args:
        folder: a finished run.
        min_grade: lowest grade that counts as relevant.
        options: floor, most, points, regions and seed of `decide.advisor.advise`.

    Raises:
        ResumeError: the run is not finished.
        ScorerError: the scorer gave no score at all; its first failure is quoted.
        NothingMeasuredError: the run asked for no score.
        UsageError: an option is unknown or out of range, or slates have grades, and none
            of them reaches `min_grade`.
    """
    _require_run(folder)
    whole("min_grade", min_grade)
    unknown = sorted(set(options) - set(_OPTIONS))
    if unknown:
        raise UsageError(f"unknown options {unknown}; known are {sorted(_OPTIONS)}")
    _require_grade(folder, min_grade)
    failures = Failures(str(folder.settings.get("scorer", {}).get("name", "the scorer")))
    slates = []
    for record in folder.recorded():
        failures.add_record(record)
        matrix, relevance = record.matrix, relevant(record.slate, min_grade)
        rows, exhaustive = matrix.random.copy(), matrix.plan.exhaustive
        slates.append(
            SlateScores(record.slate.id, matrix.canonical.copy(), rows, relevance, exhaustive)
        )
    failures.require_a_score()
    return advise(slates, revision=threshold_revision(folder.settings), **options)


def _require_run(folder: object) -> None:
    if not isinstance(folder, RunFolder):
        raise UsageError(f"a run folder is needed, got {came(folder)}; open one with RunFolder.open")


def _require_grade(folder: RunFolder, min_grade: int) -> None:
    """Refuse a grade that no candidate has: every threshold would have F1 0."""
    highest = None
    for slate in folder.slates():
        if slate.grades is not None:
            highest = max(int(slate.gains().max(initial=0)), highest or 0)
    if highest is not None and highest < min_grade:
        raise UsageError(
            f"no candidate has a grade of {min_grade} or more, the highest is {highest}: every "
            "threshold would have F1 0, and none can be advised. Choose a lower min_grade"
        )


def match_run(folder: RunFolder, reference: RunFolder, threshold: float | dict[str, float]) -> Matched:
    """Return the threshold at which a run keeps the share that a reference run keeps.

    Shares are of the canonical rows. Scores of the two may be on different scales.

    Args:
        folder: the run to be cut. reference: a run over the same slates.
        threshold: of the reference, one for all slates or one by slate id.

    Raises:
        UsageError: something is no run, the runs hold other slates, or a slate has no threshold.
    """
    _require_run(folder)
    _require_run(reference)
    return match_reference(_canonical(folder), _canonical(reference), threshold)


def _canonical(folder: RunFolder) -> dict[str, FloatArray]:
    return {record.slate.id: record.matrix.canonical for record in folder.recorded()}


def store_advice(path: str | os.PathLike[str], advice: Advice) -> Path:
    """Write an advised threshold with the scorer revision it belongs to.

    Raises:
        UsageError: nothing was advised; the reason is given.
    """
    if not isinstance(advice, Advice):
        raise UsageError(f"an Advice is needed, got {came(advice)}; advise_run gives one")
    if advice.threshold is None:
        raise UsageError(f"no threshold is advised: {advice.reason}")
    at = advice.index
    overlap = float("nan") if at is None else float(advice.curve.overlap_without_empty[at])
    note = f"floor {advice.floor:.3f}, overlap without empty pairs {overlap:.3f}"
    if np.isfinite(advice.held_out_f1):
        note += f", held-out F1 {advice.held_out_f1:.3f}"
    return write_threshold(path, StoredThreshold(advice.threshold, advice.revision, "advisor", note))
