"""What is learned from a run: the tables and curves a report shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from evenhand.types import Estimate, FloatArray


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
    severity: Literal["note", "warning", "error"]
    message: str


@dataclass(frozen=True, slots=True)
class ThresholdFit:
    """How the retained sets were cut.

    Attributes:
        rule: "f1" (cross-fitted), "quantile" (no grades), "fixed".
        folds: the threshold applied to each fold of slates.
        min_grade: lowest grade that counts as relevant; None without grades.
        revision: what the thresholds belong to: scorer revision and surface.
    """

    rule: Literal["f1", "quantile", "fixed"]
    folds: tuple[float, ...]
    min_grade: int | None
    revision: str


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
            tokens, escaped places, undefined slates, ...
        per_slate: by measure name, (slates,) values in slate order.
        slot_curve: x = slot, y["score"] = mean score at that slot.
        overlap_curve: x = threshold, y = overlap, overlap_without_empty, retained.
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
