"""From a task to the value of a measure, where that takes more than a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from evenhand.measure import order, pool, quality, selection, variance
from evenhand.measure.rows import defined_mean
from evenhand.measure.task import Task
from evenhand.types import FloatArray


def tau_psi(task: Task) -> float:
    """Return the Kendall distance of rows, in the variant that is asked for."""
    every = task.exhaustive and task.options["pairs"] == "auto"
    if task.options["ties"] == "strict":
        return order.tau_psi_strict(task.random, task.placed("positions"), exhaustive=every)
    return order.tau_psi(task.random, exhaustive=every)


def top_instability(task: Task) -> float:
    """Return 1 - rank-biased overlap of the tops, at the cutoff or 10."""
    depth, p = task.cutoff or 10, task.options["p"]
    return order.top_instability(task.random, task.ties, k=depth, p=p, exhaustive=task.exhaustive)


def share(part: Literal["slot", "window", "residual"]) -> Callable[[Task], float]:
    """Return what computes one share of the movement within candidates."""

    def compute(task: Task) -> float:
        slots, windows = task.placed("slots"), task.placed("window_of")
        corrected = task.options["df"] == "corrected"
        return variance.slate_share(part, task.random, slots, windows, corrected=corrected)

    return compute


def flip(function: Callable[..., float]) -> Callable[[Task], float]:
    """Return what computes a flip of choices, of the kind that is asked for."""

    def compute(task: Task) -> float:
        kind = task.options["kind"]
        return function(task.random, task.ties, kind=kind, exhaustive=task.exhaustive)

    return compute


def pool_psi(task: Task) -> float:
    """Return the movement of those that stay when a member is exchanged."""
    shown, kind = task.matrix.random_presentations, task.options["kind"]
    return pool.pool_psi(task.random, task.matrix.canonical, shown, kind)


def top_set(task: Task) -> float:
    """Return the change of the set of the best, at the cutoff or 10."""
    return pool.top_set_flip(task.random, task.matrix.canonical, task.ties, k=task.cutoff or 10)


def ranking(task: Task) -> float:
    """Return a ranking measure of the rows that are judged."""
    return defined_mean(quality.quality(task.name, task.slate, task.judged))


def set_values(kind: quality.SetKind) -> Callable[[Task], float]:
    """Return what computes a measure of retained sets of the rows that are judged."""

    def compute(task: Task) -> float:
        rel = task.options["rel"]
        return defined_mean(quality.set_quality(kind, task.slate, task.judged, task.cut, rel=rel))

    return compute


def _correct(task: Task, rows: FloatArray) -> FloatArray:
    if task.slate.grades is None:
        return np.full(len(rows), np.nan)
    return selection.gold_correct(rows, task.slate.gains(), task.ties)


def correct_flip(task: Task) -> float:
    """Return how far it depends on the row whether the best candidate has the top grade."""
    correct = _correct(task, task.random)
    kind = task.options["kind"]
    return selection.correctness_flip(correct, kind=kind, exhaustive=task.exhaustive)


def gold_accuracy(task: Task) -> float:
    """Return the share of rows whose best candidate has the top grade."""
    return defined_mean(_correct(task, task.judged))
