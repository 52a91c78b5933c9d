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
from evenhand.records import RunFolder
from evenhand.study.analyse import threshold_revision
from evenhand.types import FloatArray


def advise_run(folder: RunFolder, *, min_grade: int = 1, **options: Any) -> Advice:
    """Return the threshold advised for a finished run, with its trade-off curve.

    Memory holds the scores of the run, not its texts.

    Args:
        folder: a finished run.
        min_grade: lowest grade that counts as relevant.
        options: floor, most, points, regions and seed of `decide.advisor.advise`.

    Raises:
        ResumeError: the run is not finished.
        NothingMeasuredError: no score is there.
        UsageError: an option is out of range.
    """
    slates = [
        SlateScores(
            record.slate.id,
            record.matrix.canonical,
            record.matrix.random,
            relevant(record.slate, min_grade),
            record.matrix.plan.exhaustive,
        )
        for record in folder.recorded()
    ]
    return advise(slates, revision=threshold_revision(folder.settings), **options)


def match_run(folder: RunFolder, reference: RunFolder, threshold: float | dict[str, float]) -> Matched:
    """Return the threshold at which a run keeps the share that a reference run keeps.

    Shares are of the canonical rows. Scores of the two may be on different scales.

    Args:
        folder: the run to be cut. reference: a run over the same slates.
        threshold: of the reference, one for all slates or one by slate id.

    Raises:
        UsageError: the runs hold other slates, or a slate has no threshold.
    """
    return match_reference(_canonical(folder), _canonical(reference), threshold)


def _canonical(folder: RunFolder) -> dict[str, FloatArray]:
    return {record.slate.id: record.matrix.canonical for record in folder.recorded()}


def store_advice(path: str | os.PathLike[str], advice: Advice) -> Path:
    """Write an advised threshold with the scorer revision it belongs to.

    Raises:
        UsageError: nothing was advised; the reason is given.
    """
    if advice.threshold is None:
        raise UsageError(f"no threshold is advised: {advice.reason}")
    at = advice.index
    overlap = float("nan") if at is None else float(advice.curve.overlap_without_empty[at])
    note = f"floor {advice.floor:.3f}, overlap without empty pairs {overlap:.3f}"
    if np.isfinite(advice.held_out_f1):
        note += f", held-out F1 {advice.held_out_f1:.3f}"
    return write_threshold(path, StoredThreshold(advice.threshold, advice.revision, "advisor", note))
