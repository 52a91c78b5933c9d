"""What a run of labels holds, how good the labels are and what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.errors import NothingMeasuredError, ScorerError
from evenhand.measure.quality import ranking_quality
from evenhand.measure.silver import silver_beta_pooled
from evenhand.measure.stats import estimate
from evenhand.records import RunFolder
from evenhand.train.label_table import parts_of
from evenhand.train.scales import over_orders
from evenhand.types import Estimate, FloatArray, Slate

MEASURE = "nDCG@10"


@dataclass(frozen=True, slots=True)
class LabelReport:
    """What a run of labels holds, how good the labels are and what they cost.

    Attributes:
        path: the folder. teacher: its facts. settings: orders, width, rule, seed.
        slates, candidates: how many. missing: labels that are not there.
        missing_slates: ids of the slates that lack any; training refuses them.
        missing_parts: files that hold them; without these, the run labels them again.
        complete: slates that lack no label; quality and steadiness are theirs alone.
        per_order: nDCG@10 of the labels of each order, the mean over graded slates.
        single: nDCG@10 of one order, averaged: of the mean over orders, per slate.
        silver_beta: pooled over slates. corrected: for finite T and n. NaN under two orders.
        prompts, tokens: in all.
    """

    path: str
    teacher: dict[str, Any]
    settings: dict[str, Any]
    slates: int
    candidates: int
    missing: int
    missing_slates: tuple[str, ...]
    missing_parts: tuple[str, ...]
    complete: int
    per_order: tuple[float, ...]
    single: Estimate
    averaged: Estimate
    silver_beta: float
    corrected: float
    prompts: int
    tokens: int


def label_report(folder: RunFolder) -> LabelReport:
    """Return what a finished run of labels holds.

    Raises:
        ResumeError: a part is missing or damaged.
        NothingMeasuredError: there are no candidates.
        ScorerError: every label is missing; quotes the first failure.
    """
    tally = _Tally()
    for index, (part, slates) in enumerate(parts_of(folder)):
        tally.add(folder.part_path(index).name, part, slates)
    tally.require_labels(folder.settings["teacher"]["name"])
    settings, cost = folder.settings, folder.manifest["cost"]
    several = settings["orders"] > 1
    return LabelReport(
        str(folder.path), dict(sorted(settings["teacher"].items())),
        {name: settings[name] for name in ("orders", "width", "rule", "seed")},
        folder.n_slates, tally.asked // settings["orders"], tally.missing, tuple(tally.slates),
        tuple(tally.parts), folder.n_slates - len(tally.slates), tally.per_order(settings["orders"]),
        estimate([np.mean(one[:-1]) for one in tally.quality]),
        estimate([one[-1] for one in tally.quality]),
        silver_beta_pooled(tally.scores) if several else float("nan"),
        silver_beta_pooled(tally.scores, corrected=True) if several else float("nan"),
        cost["prompts"], cost["tokens"],
    )  # fmt: skip


class _Tally:
    """Adds up the labels of a run, part by part."""

    def __init__(self) -> None:
        self.asked = self.missing = 0
        self.slates: list[str] = []
        self.parts: list[str] = []
        self.first: str | None = None
        self.scores: list[FloatArray] = []
        self.quality: list[FloatArray] = []

    def add(self, name: str, part: Any, slates: list[Slate]) -> None:
        """Count the labels of one part and judge them, the mean over orders as a last row."""
        lines, failures = part.column("scores").to_pylist(), part.column("failure").to_pylist()
        orders = len(lines) // len(slates)
        rows = [
            np.array(lines[i * orders : (i + 1) * orders], dtype=np.float64).reshape(orders, len(slate))
            for i, slate in enumerate(slates)
        ]
        lacking = [slate.id for slate, own in zip(slates, rows, strict=True) if np.isnan(own).any()]
        self.asked += sum(own.size for own in rows)
        self.missing += int(sum(np.isnan(own).sum() for own in rows))
        self.slates += lacking
        self.parts += [name] if lacking else []
        self.first = self.first or next((one for one in failures if one is not None), None)
        # Without a label a candidate ranks last: that would be quality of the failure.
        whole = [pair for pair in zip(slates, rows, strict=True) if not np.isnan(pair[1]).any()]
        self.scores += [own for _, own in whole]
        both = [np.vstack([own, over_orders(own)[0]]) for _, own in whole]
        if whole:
            self.quality += ranking_quality([MEASURE], [slate for slate, _ in whole], both)[MEASURE]

    def per_order(self, orders: int) -> tuple[float, ...]:
        """Return the mean quality of each order over the slates where it is defined."""
        values = np.array([one[:-1] for one in self.quality]).reshape(-1, orders)
        known = [column[~np.isnan(column)] for column in values.T]
        return tuple(float(column.mean()) if column.size else float("nan") for column in known)

    def require_labels(self, teacher: str) -> None:
        """Refuse a run without a single label."""
        if not self.asked:
            raise NothingMeasuredError("there is nothing to label: the slates hold no candidates")
        if self.missing == self.asked:
            raise ScorerError(
                f"{teacher} gave none of {self.asked} labels, the first failure: "
                f"{self.first or 'it gave no reason'}. Mend it and label into another folder"
            )
