"""From the records of a run to its analysis: two passes, a few slates in memory."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from evenhand.decide.threshold import check_threshold, cross_fit
from evenhand.errors import NothingMeasuredError
from evenhand.measure.stats import estimates
from evenhand.records import RunFolder
from evenhand.seeds import content_hash
from evenhand.study.analysis import Analysis, ThresholdFit, gravest_first
from evenhand.study.counted import counted
from evenhand.study.found.consume import saved_reading
from evenhand.study.found.curve import OverlapCurve
from evenhand.study.found.decisions import decision_writer
from evenhand.study.found.diagnose import diagnose
from evenhand.study.found.facts import Facts
from evenhand.study.found.measures import Values, choose, join, measure_batch, with_high
from evenhand.study.found.ranked import ranked
from evenhand.study.found.summary import write_summary
from evenhand.study.found.tally import HIGH, Tally
from evenhand.study.rows.batched import batched
from evenhand.study.rows.failures import gave_none
from evenhand.types import Estimate, FloatArray

_BATCH = 32
# Of these at least one must be defined somewhere: the others say nothing of agreement.
AGREEMENT = frozenset({"tauPSI", "CanonicalPSI", "PoolPSI", "ScoreChange"})


def analyse(
    folder: RunFolder,
    *,
    measures: Sequence[str] | None = None,
    threshold: float | None = None,
    min_grade: int = 1,
    seed: int = 0,
    level: float = 0.95,
    draws: int = 2000,
    save: bool = True,
) -> Analysis:
    """Measure a finished run and write `decisions.parquet` and `summary.json` into it.

    The records are read twice as a stream: once to count and to fit thresholds,
    once to measure. Memory holds the canonical scores of all slates and a few
    whole records.

    Args:
        folder: a finished run.
        measures: measures beside the usual ones.
        threshold: keep candidates at or above it; None = fitted for F1.
        min_grade: lowest grade that counts as relevant in the fit.
        seed: of folds and bootstrap.
        level: coverage of the intervals.
        draws: bootstrap samples.
        save: write the two files; a folder that cannot be written is left alone.

    Raises:
        ResumeError: the run is not finished, or a file is damaged.
        ScorerError: the scorer gave no score at all; its first failure is quoted.
        NothingMeasuredError: no slate gives any defined value of agreement.
        UsageError: a measure is unknown, or the threshold is outside the scores.
    """
    # A threshold that is given is asked for: sets are cut at a place then.
    by_order = threshold is None and bool(folder.settings.get("scorer", {}).get("order_only"))
    design = str(folder.settings.get("design", ""))
    chosen = choose(measures, min_grade, order_only=by_order, design=design)
    tally = Tally(min_grade)
    for record in folder.recorded():
        tally.add(record)
    _require_scores(tally, folder.settings)
    if tally.picks:
        chosen = choose(measures, min_grade, order_only=by_order, design=design, picks=True)
    fit, thresholds, reason = _fit(folder, tally, threshold, seed)
    high = None if by_order else _fit_high(tally, fit, seed)
    with contextlib.ExitStack() as stack:
        writable = save and _writable(folder)
        writer = stack.enter_context(decision_writer(folder.path if writable else None))
        curve = OverlapCurve(*tally.score_range)
        batches, at = [], 0
        for records in batched(folder.recorded(), _BATCH):
            cuts = thresholds[at : at + len(records)]
            values = measure_batch(chosen, records, cuts)
            if high is not None:
                values = with_high(values, records, high[1][at : at + len(records)])
            batches.append(values)
            writer.add(records, cuts)
            for record in records:
                curve.add(record.matrix.random, exhaustive=record.matrix.plan.exhaustive)
            at += len(records)
    values = join(batches)
    _require_stability(values, tally, folder.settings)
    found = _estimates(values, seed=seed, level=level, draws=draws)
    analysis = _assemble(folder, tally, values, found, fit, thresholds, reason, curve)
    analysis = replace(
        analysis,
        reader=saved_reading(folder, seed=seed, level=level, draws=draws),
        threshold_high=None if high is None else high[0],
        judge=tally.judge,
    )
    if writable:
        write_summary(folder.path, analysis)
    return analysis


def _writable(folder: RunFolder) -> bool:
    return os.access(folder.path, os.W_OK)


def _require_scores(tally: Tally, settings: Mapping[str, Any]) -> None:
    asked = tally.counts["scores"]
    if asked and tally.counts["missing_scores"] == asked:
        name = str(settings.get("scorer", {}).get("name", "the scorer"))
        raise gave_none(name, asked, next(iter(tally.reasons), None))
    if math.isnan(tally.score_range[0]):
        raise NothingMeasuredError(_nothing(tally, settings))


def _require_stability(values: Values, tally: Tally, settings: Mapping[str, Any]) -> None:
    agreement = [
        found for name, found in values.stability.items() if name.partition("(")[0] in AGREEMENT
    ]
    if all(np.isnan(found).all() for found in agreement):
        raise NothingMeasuredError(_nothing(tally, settings))


def _nothing(tally: Tally, settings: Mapping[str, Any]) -> str:
    """Return why no slate gave a value, and what to do."""
    counts = tally.counts
    if not counts["slates"]:
        return "nothing was measured: the run has no slates. Check the input."
    slates = counted(counts["slates"], "slate")
    if settings.get("rows") == 1 and counts["missing_scores"] < counts["scores"]:
        return (
            "nothing was measured: with M = 1 a slate has one random row, and agreement needs two. "
            "Run with more rows (--rows 10) into a new folder."
        )
    if counts["missing_scores"]:
        said = "; ".join(tally.reasons) or "the scorer gave no reason"
        return (
            f"nothing was measured: {counted(counts['missing_scores'], 'score')} of {slates} "
            f"{'is' if counts['missing_scores'] == 1 else 'are'} missing ({said}). Mend the scorer and "
            "run into a new folder."
        )
    if counts["empty_slates"] + counts["single_candidate_slates"] == counts["slates"]:
        return (
            f"nothing was measured: of {slates}, {counts['empty_slates']} without candidates and "
            f"{counts['single_candidate_slates']} with one; agreement needs two. Check the input."
        )
    width = settings.get("width")
    return (
        f"nothing was measured: design {settings.get('design')!r} at width "
        f"{'of the whole slate' if width is None else width} gives fewer than two random rows of any "
        "slate; companions change only where a slate is cut into two windows or more. Choose a width "
        "under the number of candidates (--width), or another design, and a new folder."
    )


def threshold_revision(settings: Mapping[str, Any]) -> str:
    """Return what a threshold belongs to: the scorer's revision and the surface it was read with.

    Scores of one scorer under two surfaces, or two wordings of one, are on two scales.
    """
    revision = str(settings.get("scorer", {}).get("revision", ""))
    surface = [settings.get("surface"), settings.get("surface_texts")]
    return f"{revision}+{content_hash(surface)[:8]}"


def _fit(
    folder: RunFolder, tally: Tally, threshold: float | None, seed: int
) -> tuple[ThresholdFit, FloatArray, str]:
    """Return how sets are cut, the threshold of each slate, and why the rule is not F1."""
    revision = threshold_revision(folder.settings)
    if threshold is not None:
        fixed = check_threshold(threshold, tally.canonical)
        thresholds = np.full(len(tally.slate_ids), fixed)
        return ThresholdFit("fixed", (fixed,), None, revision), thresholds, ""
    found = cross_fit(tally.slate_ids, tally.canonical, tally.relevance, seed)
    min_grade = tally.min_grade if found.rule == "f1" else None
    fit = ThresholdFit(found.rule, found.folds, min_grade, revision, found.reason)
    return fit, found.thresholds, found.reason


def _same_relevance(tally: Tally) -> bool:
    """Return whether no candidate has a grade between, so that both cuts would be one."""
    return all(
        one is None or other is None or np.array_equal(one, other)
        for one, other in zip(tally.relevance, tally.high, strict=True)
    )


def _fit_high(tally: Tally, fit: ThresholdFit, seed: int) -> tuple[ThresholdFit, FloatArray] | None:
    """Return the fit for the high grades where there are any and the usual fit is for grade 1."""
    if fit.rule != "f1" or fit.min_grade != 1 or _same_relevance(tally):
        return None
    found = cross_fit(tally.slate_ids, tally.canonical, tally.high, seed)
    if found.rule != "f1":
        return None
    return ThresholdFit("f1", found.folds, HIGH, fit.revision), found.thresholds


def _estimates(
    values: Values, *, seed: int, level: float, draws: int
) -> dict[str, dict[str, Estimate]]:
    """Return the estimates of each part; floor and quality only where anything is defined."""

    def known(part: Mapping[str, FloatArray]) -> Mapping[str, FloatArray]:
        return part if any(not np.isnan(v).all() for v in part.values()) else {}

    parts = {
        "stability": values.stability,
        "decisions": values.decisions,
        "floor": known(values.floor),
        "served": known(values.served),
        "shuffled": known(values.shuffled),
    }
    # All at once: the measures of a run share their bootstrap draws.
    columns = [column for part in parts.values() for column in part.values()]
    found = iter(estimates(columns, seed=seed, level=level, draws=draws))
    return {part: {name: next(found) for name in names} for part, names in parts.items()}


def _assemble(
    folder: RunFolder,
    tally: Tally,
    values: Values,
    estimates: Mapping[str, Mapping[str, Estimate]],
    fit: ThresholdFit,
    thresholds: FloatArray,
    reason: str,
    curve: OverlapCurve,
) -> Analysis:
    settings = dict(folder.settings)
    scorer = {**settings.pop("scorer", {}), "surface": settings.get("surface")}
    facts = Facts(
        scorer=scorer,
        counts=tally.counts,
        stability=estimates["stability"],
        floor=estimates["floor"],
        decisions=estimates["decisions"],
        overlap_curve=curve.curve,
        threshold=fit if "Overlap" in estimates["decisions"] else None,
        threshold_reason=reason,
        repeat_difference=tally.repeat_difference,
        random_difference=tally.random_difference,
        label_mass=tally.label_mass,
        low_mass_share=tally.low_mass_share,
        reasons=tuple(tally.reasons),
    )
    mended = ranked(scorer, tally.counts, tally.remarks)
    return Analysis(
        scorer=scorer,
        settings=settings,
        slate_ids=tuple(tally.slate_ids),
        stability=estimates["stability"],
        floor=estimates["floor"],
        served=estimates["served"],
        shuffled=estimates["shuffled"],
        decisions=estimates["decisions"],
        threshold=fit,
        cost=tally.cost,
        counts=dict(tally.counts),
        findings=gravest_first((*diagnose(facts), *mended)),
        per_slate=_per_slate(values, thresholds),
        slot_curve=tally.slot_curve,
        overlap_curve=curve.curve,
    )


def _per_slate(values: Values, thresholds: FloatArray) -> dict[str, FloatArray]:
    """Return all per-slate values by name; those of other rows carry a suffix."""
    return {
        **values.stability,
        **values.decisions,
        **values.served,
        **{f"{name}, shuffled": found for name, found in values.shuffled.items()},
        **{f"{name}, floor": found for name, found in values.floor.items()},
        "threshold": thresholds,
    }
