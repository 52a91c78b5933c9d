"""What is learned from a run: the tables and curves a report shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from evenhand.decide.fitness import Fitness
from evenhand.decide.preference import JudgeSummary
from evenhand.decide.reading import InputOrder
from evenhand.types import Estimate, FloatArray

# Beyond this share of its size a score has moved; below it is float noise.
MOVED = 1e-4
# Under this label mass the grades say little of what the model would answer.
LOW_MASS = 0.5

Severity = Literal["note", "warning", "error"]
# The gravest first.
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a reader must know before trusting the numbers.

    Attributes:
        code: a stable short name, e.g. "unsteady", "collapse", "low_label_mass".
        severity: "note" (context), "warning" (read numbers with care),
            "error" (the numbers do not say what they seem to).
        message: what was seen, what it means, what to do.
    """

    code: str
    severity: Severity
    message: str


def gravity(finding: Finding) -> int:
    """Return the place of a finding's severity, 0 for the gravest: a sort key."""
    return SEVERITIES.index(finding.severity)


def gravest_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings by severity, those of one severity in their order."""
    return tuple(sorted(findings, key=gravity))


def mean_of(estimates: Mapping[str, Estimate], name: str) -> float:
    """Return the mean of a measure by name; NaN where it was not measured."""
    return estimates[name].mean if name in estimates else float("nan")


@dataclass(frozen=True, slots=True)
class ThresholdFit:
    """How the retained sets were cut.

    Attributes:
        rule: "f1" (cross-fitted), "quantile" (nothing to fit on), "fixed".
        folds: the threshold applied to each fold of slates.
        min_grade: lowest grade that counts as relevant; None without grades.
        revision: what the thresholds belong to: scorer revision and surface.
        reason: why the rule is "quantile"; empty otherwise.
    """

    rule: Literal["f1", "quantile", "fixed"]
    folds: tuple[float, ...]
    min_grade: int | None
    revision: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Cost:
    """Mean price of a slate, over the rows of one presentation each."""

    prompts_per_slate: float
    tokens_per_slate: float


@dataclass(frozen=True, slots=True)
class Curve:
    """A named curve: x and, by column name, y values of equal length."""

    x: FloatArray
    y: Mapping[str, FloatArray]


@dataclass(frozen=True, slots=True)
class ReaderAnalysis:
    """What a reader makes of a run.

    Attributes:
        reader: name, revision, task, top, thresholds, min_grade.
        estimates: by name of `reader_analysis.VALUES`, then by input order: "score" is what would
            be served, "canonical" the control, the same set always in the same order.
            flip, flip_modal: the verdict or normalised answer changes between random
            rows. floor: it changes between the canonical row and its repeat. served,
            shuffled: accuracy (answers: exact match) of the canonical row and mean over
            random rows; f1_*: token F1 likewise. correct_flip: right in some random
            rows and wrong in others; its pairwise and modal forms.
        own_order: share of random rows where the two input orders of the same set
            give different outcomes: the reader's own order dependence.
        fitness: whether it reads.
        counts: slates, readings, missing, blank (rows without scores), empty (nothing
            to read), cut, reread, reread_changed.
        outputs: how often each outcome is given over random rows in score order;
            verdicts only.
        reasons: a few of the failures.
        findings: what to know before trusting the numbers.
        per_slate: by "name, order", (slates,) values; NaN = undefined.
    """

    reader: Mapping[str, Any]
    estimates: Mapping[str, Mapping[InputOrder, Estimate]]
    own_order: Estimate
    fitness: Fitness
    counts: Mapping[str, int]
    outputs: Mapping[str, int]
    reasons: tuple[str, ...]
    findings: tuple[Finding, ...]
    slate_ids: tuple[str, ...]
    per_slate: Mapping[str, FloatArray]


@dataclass(frozen=True, slots=True)
class Analysis:
    """Everything computed from one run.

    Attributes:
        scorer: name, revision, scale, order_free, surface (plain values).
        settings: the manifest's settings (M, width, rule, design, seed, ...).
        stability: estimate by measure name over the random rows.
        floor: the same measures between canonical and repeat row.
        served: quality of the canonical row. shuffled: mean over random rows.
        decisions: overlap, set flip, both-empty share, retained share, flips.
        counts: slates, failed rows, missing scores, empty texts, truncated
            tokens, escaped places, ...
        per_slate: by measure name, (slates,) values in slate order.
        slot_curve: x = slot, y["score"] = mean score at that slot.
        overlap_curve: x = threshold, y = overlap, overlap_without_empty, retained.
        reader: what a reader makes of the run; None where none has read it.
        judge: what it makes of slates of two candidates in both orders; None without any.
        threshold_high: how sets were cut for `F1(rel=2)` and `Overlap(rel=2)`; None
            where no grade is above 1 or the threshold is not fitted.
    """

    scorer: Mapping[str, Any]
    settings: Mapping[str, Any]
    slate_ids: tuple[str, ...]
    stability: Mapping[str, Estimate]
    floor: Mapping[str, Estimate]
    served: Mapping[str, Estimate]
    shuffled: Mapping[str, Estimate]
    decisions: Mapping[str, Estimate]
    threshold: ThresholdFit | None
    cost: Cost
    counts: Mapping[str, int]
    findings: tuple[Finding, ...]
    per_slate: Mapping[str, FloatArray]
    slot_curve: Curve
    overlap_curve: Curve
    reader: ReaderAnalysis | None = None
    threshold_high: ThresholdFit | None = None
    judge: JudgeSummary | None = None
