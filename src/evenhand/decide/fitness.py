"""Whether a reader reads: a constant one never flips, and that convinces nobody."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.decide.prompts import Task, check_task
from evenhand.decide.threshold import relevant
from evenhand.decide.verdicts import as_label, majority_class
from evenhand.measure.checks import listed, of_kind, whole
from evenhand.measure.stats import estimate
from evenhand.types import Estimate, Slate

ENOUGH = "NOT_ENOUGH_INFO"


@dataclass(frozen=True, slots=True)
class Judged:
    """What a reader made of one slate with its gold evidence and with none.

    Attributes:
        label: gold verdict; None for answers.
        output: its outcome with gold evidence, None = missing.
        right, right_bare: 1 or 0 with gold evidence and with none; NaN = unknown.
        f1, f1_bare: token F1 likewise; NaN for verdicts.
    """

    label: str | None
    output: str | None
    right: float
    right_bare: float
    f1: float = math.nan
    f1_bare: float = math.nan


@dataclass(frozen=True, slots=True)
class Fitness:
    """How good a reader is when it is given what it needs.

    Attributes:
        accuracy: share right with gold evidence (answers: exact match).
        accuracy_bare: with no evidence at all.
        f1, f1_bare: token F1 likewise, answers only.
        majority: share of the most common gold label: a constant reader's
            accuracy; NaN for answers. majority_label: that label.
        gold, outputs: how often each label is gold, and is given with gold evidence.
        fit: above the majority and better with evidence than without, one of them
            beyond chance; False where either fails; None where it is not known.
        reason: why.
    """

    accuracy: Estimate
    accuracy_bare: Estimate
    f1: Estimate | None
    f1_bare: Estimate | None
    majority: float
    majority_label: str
    gold: Mapping[str, int]
    outputs: Mapping[str, int]
    fit: bool | None
    reason: str


def gold_columns(
    slate: Slate, task: Task, *, top: int | None, min_grade: int = 1
) -> tuple[int, ...] | None:
    """Return the gold evidence of a slate: its relevant candidates in canonical order.

    Of more than `top` those of the highest grades are taken. A claim on which
    there is not enough information may have none; then nothing is its gold evidence.

    Args:
        slate: the slate.
        task: whose gold is needed: answers or verdict.
        top: most candidates; None = all.
        min_grade: lowest grade that counts as relevant.

    Returns:
        Canonical indices; None where the slate has no gold, no grades, or nothing
        relevant to go with its gold.

    Raises:
        UsageError: unknown task, or top or min_grade under 1.
    """
    check_task(task)
    if top is not None:
        whole("top of a reader", top)
    whole("min_grade", min_grade)
    found = relevant(slate, min_grade)
    label = None if slate.verdict is None else as_label(slate.verdict)
    if found is None or (label is None if task == "verdict" else not slate.answers):
        return None
    columns = np.flatnonzero(found)
    if not columns.size and label != ENOUGH:
        return None
    best = columns[np.argsort(-slate.gains()[columns], kind="stable")][:top]
    return tuple(int(column) for column in np.sort(best))


def fitness(
    task: Task,
    judged: Sequence[Judged],
    *,
    seed: int = 0,
    level: float = 0.95,
    draws: int = 2000,
) -> Fitness:
    """Return how fit a reader is, over the slates with gold evidence.

    A verdict reader is unfit if its accuracy with gold evidence is not above the share of
    the most common gold label, or not above its accuracy without evidence; an answer
    reader if its token F1 is not higher with gold evidence than without. Another one is
    fit if the interval of that rise excludes 0 or, for verdicts, the interval of its
    accuracy lies above that share; else it is not known.

    Args:
        task: what it reads for.
        judged: one per slate with gold; only those read both ways count.
        seed, level, draws: of the intervals.

    Raises:
        UsageError: unknown task, something else than Judged, or as `measure.stats.estimate`.
    """
    check_task(task)
    given = listed("judged", judged, "Judged, one a slate")
    of_kind("judged", given, Judged)
    both = [one for one in given if not math.isnan(one.right + one.right_bare)]

    def mean(name: str) -> Estimate:
        values = np.array([getattr(one, name) for one in both], dtype=np.float64)
        return estimate(values, seed=seed, level=level, draws=draws)

    labels = [one.label for one in both if one.label is not None]
    label, share = majority_class(labels) if labels else ("", math.nan)
    accuracy, bare = mean("right"), mean("right_bare")
    answers = task == "answer"
    f1, f1_bare = (mean("f1"), mean("f1_bare")) if answers else (None, None)
    better = np.array([one.f1 - one.f1_bare if answers else one.right - one.right_bare for one in both])
    rise = estimate(better, seed=seed, level=level, draws=draws)
    fit, reason = _judgement(accuracy, share, rise, "F1" if answers else "accuracy")
    return Fitness(
        accuracy, bare, f1, f1_bare, share, label,
        dict(sorted(Counter(labels).items())),
        {} if answers else dict(sorted(Counter(str(one.output) for one in both).items())),
        fit, reason,
    )  # fmt: skip


def _judgement(
    accuracy: Estimate, majority: float, rise: Estimate, what: str
) -> tuple[bool | None, str]:
    if not rise.n:
        return None, "no slate has gold and gold evidence, so nothing tells whether it reads"
    if accuracy.mean <= majority:
        return False, (
            f"with gold evidence it is right on {accuracy.mean:.3f} of the slates, and the most common "
            f"label alone on {majority:.3f}: it does not read, and its steadiness says nothing"
        )
    if rise.mean <= 0:
        return False, (
            f"gold evidence changes its {what} by {rise.mean:+.3f}: it does not read, and its "
            "steadiness says nothing"
        )
    if rise.low > 0:
        return True, (
            f"gold evidence raises its {what} by {rise.mean:.3f} [{rise.low:.3f}, {rise.high:.3f}]"
        )
    if accuracy.low > majority:
        return True, (
            f"with gold evidence it is right on {accuracy.mean:.3f} [{accuracy.low:.3f}, "
            f"{accuracy.high:.3f}] of the slates, the most common label alone on {majority:.3f}"
        )
    within = "" if math.isnan(rise.low) else f" [{rise.low:.3f}, {rise.high:.3f}]"
    return None, (
        f"gold evidence raises its {what} by {rise.mean:.3f}{within}, which may be chance; more slates "
        "with gold would tell"
    )
