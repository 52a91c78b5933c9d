"""What a report says of a reader: who it is, whether it reads, how its outputs flip."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from evenhand.report.digits import NONE, count, number
from evenhand.study.analysis import ReaderAnalysis
from evenhand.types import Estimate

Fact = tuple[str, str]

# By value of `ReaderAnalysis.estimates`: its label and how to read it.
READER_WORDS: dict[str, tuple[str, str]] = {
    "flip": ("output flip", "share of pairs of presentations with another verdict or answer"),
    "flip_modal": ("output flip (modal)", "share of presentations without the most common output"),
    "floor": ("noise floor of the output", "the same presentation scored twice"),
    "served": ("reader right, served", "answers: exact match after normalisation"),
    "shuffled": ("reader right, shuffled", "mean over random presentations"),
    "f1_served": ("answer F1, served", "shared words after normalisation"),
    "f1_shuffled": ("answer F1, shuffled", "mean over random presentations"),
    "correct_flip": (
        "correctness flip",
        "share of slates right in some presentations, wrong in others",
    ),
    "correct_flip_pairwise": ("correctness flip (pairwise)", "share of pairs of which one is right"),
    "correct_flip_modal": ("correctness flip (modal)", "share of the rarer of right and wrong"),
}


def _who(reader: ReaderAnalysis) -> Fact:
    top, cut = reader.reader["top"], reader.reader["thresholds"]
    reads = "what is retained" if top is None else f"the top {top}"
    if top is not None and cut is not None:
        reads += " of what is retained"
    return str(reader.reader["name"]), f"{reader.reader['task']}, reads {reads}"


def _fit(reader: ReaderAnalysis) -> Fact:
    word = {True: "fit", False: "unfit", None: "unknown"}[reader.fitness.fit]
    return f"{word}:", reader.fitness.reason


def _interval(estimate: Estimate | None) -> Fact:
    if estimate is None or not estimate.n:
        return NONE, ""
    known = math.isfinite(estimate.low)
    return number(estimate.mean), f"[{number(estimate.low)}, {number(estimate.high)}]" if known else ""


def _majority(reader: ReaderAnalysis) -> Fact:
    return number(reader.fitness.majority), reader.fitness.majority_label


def _distribution(counts: Mapping[str, int]) -> Fact:
    total = sum(counts.values())
    if not total:
        return NONE, ""
    return ", ".join(f"{label} {count(value)}" for label, value in counts.items()), ""


def _missing(reader: ReaderAnalysis) -> Fact:
    return count(reader.counts["missing"]), f"of {count(reader.counts['readings'])}"


def _reread(reader: ReaderAnalysis) -> Fact:
    return count(reader.counts["reread_changed"]), f"of {count(reader.counts['reread'])}"


# By label: the value and its remark.
READER_FACTS: dict[str, Callable[[ReaderAnalysis], Fact]] = {
    "reader": _who,
    "fitness": _fit,
    "right with gold evidence": lambda one: _interval(one.fitness.accuracy),
    "right without evidence": lambda one: _interval(one.fitness.accuracy_bare),
    "F1 with gold evidence": lambda one: _interval(one.fitness.f1),
    "F1 without evidence": lambda one: _interval(one.fitness.f1_bare),
    "most common gold label": _majority,
    "gold labels": lambda one: _distribution(one.fitness.gold),
    "labels given with gold evidence": lambda one: _distribution(one.fitness.outputs),
    "labels given, shuffled": lambda one: _distribution(one.outputs),
    "missing readings": _missing,
    "changed when read again": _reread,
}
