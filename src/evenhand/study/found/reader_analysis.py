"""From readings to numbers: flips in both input orders, accuracy, fitness."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.decide.fitness import Fitness, Judged, fitness
from evenhand.measure.outcomes import modal_flip, pairwise_flip
from evenhand.measure.selection import correctness_flip
from evenhand.measure.stats import estimate
from evenhand.study.analysis import Finding, ReaderAnalysis
from evenhand.study.found.readings import FITNESS, ORDERS, REREAD, by_slate
from evenhand.types import Estimate

# Of random rows unless said otherwise.
VALUES = (
    "flip",
    "flip_modal",
    "floor",
    "served",
    "shuffled",
    "f1_served",
    "f1_shuffled",
    "correct_flip",
    "correct_flip_pairwise",
    "correct_flip_modal",
)
_REASONS = 3
_MISSING_SHARE = 0.1

Line = Mapping[str, Any]


def analyse_readings(
    path: Path,
    identity: Mapping[str, Any],
    *,
    seed: int = 0,
    level: float = 0.95,
    draws: int = 2000,
) -> ReaderAnalysis:
    """Return the analysis of a file of readings.

    Args:
        path: the file. identity: what it belongs to.
        seed, level, draws: of the intervals.
    """
    task = identity["reader"]["task"]
    tally = _Tally()
    for lines in by_slate(path):
        tally.add(lines)
    per_slate = {name: np.array(values) for name, values in tally.values.items()}

    def mean(name: str) -> Estimate:
        found = per_slate.get(name, np.empty(0))
        return estimate(found, seed=seed, level=level, draws=draws)

    names = [name for name in VALUES if task == "answer" or not name.startswith("f1")]
    estimates = {name: {order: mean(f"{name}, {order}") for order in ORDERS} for name in names}
    fit = fitness(task, tally.judged, seed=seed, level=level, draws=draws)
    selection = {name: identity[name] for name in ("top", "thresholds", "min_grade")}
    counts = {name: tally.counts[name] for name in _COUNTS}
    return ReaderAnalysis(
        reader={**identity["reader"], **selection},
        estimates=estimates,
        own_order=mean("own_order"),
        fitness=fit,
        counts=counts,
        outputs=dict(sorted(tally.outputs.items())) if task == "verdict" else {},
        reasons=tuple(tally.reasons),
        findings=tuple(_findings(fit, counts, tally.reasons)),
        slate_ids=tuple(tally.slate_ids),
        per_slate=per_slate,
    )


_COUNTS = (
    "slates",
    "readings",
    "missing",
    "blank",
    "empty",
    "cut",
    "reread",
    "reread_changed",
)


class _Tally:
    """What is collected over the lines of each slate; one number per value and slate."""

    def __init__(self) -> None:
        self.slate_ids: list[str] = []
        self.values: dict[str, list[float]] = defaultdict(list)
        self.judged: list[Judged] = []
        self.counts: Counter[str] = Counter()
        self.outputs: Counter[str] = Counter()
        self.reasons: list[str] = []

    def add(self, lines: Sequence[Line]) -> None:
        """Count one slate."""
        self.slate_ids.append(lines[0]["slate"])
        self.counts["slates"] += 1
        rows = [line for line in lines if line["kind"] not in (FITNESS, REREAD)]
        for line in lines:
            self._count(line)
        self._reread(lines, [line for line in lines if line["kind"] == REREAD])
        self.outputs.update(
            line["outcome"]
            for line in rows
            if line["kind"] == "random" and line["order"] == "score" and line["outcome"] is not None
        )
        for order in ORDERS:
            for name, value in _values([line for line in rows if line["order"] == order]).items():
                self.values[f"{name}, {order}"].append(value)
        self.values["own_order"].append(_own_order(rows))
        self._judge({line["order"]: line for line in lines if line["kind"] == FITNESS})

    def _count(self, line: Line) -> None:
        blank = line["input"] is None
        self.counts["blank"] += blank
        if blank or line["kind"] == REREAD:
            return
        self.counts["readings"] += 1
        self.counts["cut"] += line["cut"]
        self.counts["missing"] += line["output"] is None
        self.counts["empty"] += line["texts"] == 0 and line["order"] == "score"
        reason = line["failure"]
        if reason is not None and reason not in self.reasons and len(self.reasons) < _REASONS:
            self.reasons.append(reason)

    def _reread(self, lines: Sequence[Line], again: Sequence[Line]) -> None:
        first = {line["input"]: line["outcome"] for line in lines if line["kind"] != REREAD}
        known = [
            line for line in again if line["outcome"] is not None and first[line["input"]] is not None
        ]
        self.counts["reread"] += len(known)
        self.counts["reread_changed"] += sum(line["outcome"] != first[line["input"]] for line in known)

    def _judge(self, lines: Mapping[str, Line]) -> None:
        if not lines:
            return
        gold, bare = lines["gold"], lines["none"]
        self.judged.append(
            Judged(
                gold["gold"],
                gold["outcome"],
                _number(gold["correct"]),
                _number(bare["correct"]),
                _number(gold["f1"]),
                _number(bare["f1"]),
            )
        )


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _values(lines: Sequence[Line]) -> dict[str, float]:
    """Return the values of one slate in one input order."""
    random = [line for line in lines if line["kind"] == "random"]
    fixed = {line["kind"]: line for line in lines if line["kind"] != "random"}
    every = any(line["exhaustive"] for line in lines)
    outcomes = [line["outcome"] for line in random]
    correct = [line["correct"] for line in random]
    twice = [fixed[kind]["outcome"] for kind in ("canonical", "repeat") if kind in fixed]
    served = fixed.get("canonical", {})
    return {
        "flip": pairwise_flip(outcomes, exhaustive=every),
        "flip_modal": modal_flip(outcomes),
        "floor": pairwise_flip(twice),
        "served": _number(served.get("correct")),
        "shuffled": _mean(correct),
        "f1_served": _number(served.get("f1")),
        "f1_shuffled": _mean([line["f1"] for line in random]),
        "correct_flip": correctness_flip(correct),
        "correct_flip_pairwise": correctness_flip(correct, kind="pairwise", exhaustive=every),
        "correct_flip_modal": correctness_flip(correct, kind="modal"),
    }


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else math.nan


def _own_order(rows: Sequence[Line]) -> float:
    by_row: dict[int, dict[str, str | None]] = defaultdict(dict)
    for line in rows:
        if line["kind"] == "random":
            by_row[line["row"]][line["order"]] = line["outcome"]
    both = [found for found in by_row.values() if None not in (found["score"], found["canonical"])]
    return _mean([float(found["score"] != found["canonical"]) for found in both])


def _findings(fit: Fitness, counts: Mapping[str, int], reasons: Sequence[str]) -> Iterator[Finding]:
    if fit.fit is False:
        yield Finding("unfit_reader", "error", f"The reader is unfit: {fit.reason}.")
    elif fit.fit is None:
        yield Finding("unknown_reader", "warning", f"The reader's fitness is not known: {fit.reason}.")
    if counts["missing"]:
        share = counts["missing"] / counts["readings"]
        yield Finding(
            "missing_readings",
            "error" if share > _MISSING_SHARE else "warning",
            f"{counts['missing']} of {counts['readings']} readings are missing ({'; '.join(reasons)}); "
            "they are left out, never counted as wrong.",
        )
    if counts["reread_changed"]:
        yield Finding(
            "unsteady_reader",
            "warning",
            f"Read a second time, {counts['reread_changed']} of {counts['reread']} inputs gave another "
            "outcome: some of the flips are the reader's own noise.",
        )
