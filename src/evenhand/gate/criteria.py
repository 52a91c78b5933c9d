"""What a gate asks: a measure, a relation and a bound, and when an interval meets it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from evenhand.errors import UsageError
from evenhand.gate.outcome import Outcome
from evenhand.measure.checks import came, finite
from evenhand.study.against.lines import Line, choose_lines

Relation = Literal["<=", ">=", "<", ">"]
Change = Literal["drop", "rise"]

# The short options: what each is short for.
SHORT: Mapping[str, tuple[str, Relation]] = {
    "max-tau-psi": ("tauPSI", "<="),
    "min-overlap": ("Overlap", ">="),
    "max-pair-flip": ("PairFlip", "<="),
    "min-ndcg": ("nDCG@10", ">="),
}
# What a reader makes of a run, and the task it must have had.
READER = {"AnswerFlip": "answer", "VerdictFlip": "verdict"}
# Measures that may lie outside 0 to 1. Of the others a bound out there decides nothing.
UNBOUNDED = frozenset(
    {
        "ScoreSpread",
        "OrderSD",
        "RankSpread",
        "Residual",
        "SlotShare",
        "WindowShare",
        "ResidualShare",
        "ScoreChange",
        "RetainedDelta",
        "Margin",
    }
)
# Closer to its bound than this, a value differs from it by float noise alone.
SAME = 1e-9

_REQUIRED = re.compile(r"\s*(?P<measure>[^<>]+?)\s*(?P<relation><=|>=|<|>)\s*(?P<bound>[^<>=\s]+)\s*")


@dataclass(frozen=True, slots=True)
class Criterion:
    """One thing a run must meet.

    Attributes:
        measure: its name as in a report; quality says of which rows it is.
        relation, bound: what its value, or its change, must meet.
        change: "drop" or "rise" from the baseline; None = the value itself.
        line: the measure; None for the flips of a reader.
    """

    measure: str
    relation: Relation
    bound: float
    change: Change | None = None
    line: Line | None = None

    def __str__(self) -> str:
        of = "" if self.change is None else f"{self.change} of "
        return f"{of}{self.measure} {self.relation} {self.bound:.10g}"

    @property
    def key(self) -> tuple[str, Change | None, bool]:
        """What it bounds, and from which side: two criteria of one key contradict or repeat."""
        return self.measure, self.change, self.relation in ("<", "<=")

    def met_by(self, value: float) -> bool:
        """Return whether a number meets it; float noise beside the bound counts as the bound."""
        beyond = value - self.bound if self.relation in ("<", "<=") else self.bound - value
        return beyond <= SAME if self.relation in ("<=", ">=") else beyond < -SAME

    def decide(self, low: float, high: float) -> Outcome:
        """Return what an interval says: all of it good, all of it bad, or neither.

        Args:
            low, high: its bounds; a mean is given twice.

        Returns:
            PASSED, FAILED, or INCONCLUSIVE, also where a bound is NaN.
        """
        if math.isnan(low) or math.isnan(high):
            return Outcome.INCONCLUSIVE
        met = {self.met_by(low), self.met_by(high)}
        if len(met) == 2:
            return Outcome.INCONCLUSIVE
        return Outcome.PASSED if met == {True} else Outcome.FAILED

    @property
    def remark(self) -> str:
        """What is odd about it: a bound from the side where the better values lie; else empty."""
        low_is_good = _low_is_good(self.line)
        if low_is_good is None:
            return ""
        asks_low = self.relation in ("<", "<=")
        if self.change == "drop":
            asks_low = not asks_low
        if asks_low is low_is_good:
            return ""
        better = "lower" if low_is_good else "higher"
        return f"'{self}' bounds {self.measure} where it is good: {better} is better"


def _low_is_good(line: Line | None) -> bool | None:
    if line is None:
        return True
    if line.measure.kind == "quality":
        return False
    stable = line.measure.entry.stable
    return None if stable is None else stable == 0


def parse_criterion(text: str) -> Criterion:
    """Return the criterion that a text states, e.g. "tauPSI<=0.12" or "nDCG@10, shuffled >= 0.4".

    Quality is of the canonical row, as served, unless the name ends in ", shuffled".

    Raises:
        UsageError: no measure of the grammar, no relation, or a bound that is no number or can
            decide nothing.
    """
    found = _REQUIRED.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise UsageError(
            f"cannot read {came(text)} as a criterion; write a measure, one of <= >= < > and a number, "
            'for example "tauPSI<=0.12" or "Overlap(t=0.5)>=0.8"'
        )
    return criterion(found["measure"], found["relation"], _number(found["bound"], text))


def criterion(measure: str, relation: str, bound: float, change: Change | None = None) -> Criterion:
    """Return a criterion from its parts.

    Args:
        measure: in the grammar of `measure.registry`, or AnswerFlip or VerdictFlip.
        relation: "<=", ">=", "<" or ">".
        bound: a finite number.
        change: "drop" or "rise" from the baseline.

    Raises:
        UsageError: as `parse_criterion`.
    """
    if relation not in ("<=", ">=", "<", ">"):
        raise UsageError(f"unknown relation {came(relation)}; known are <=, >=, < and >")
    bound = finite(f"the bound of {measure}", bound)
    name, line = _measured(measure)
    head = name if line is None else line.measure.head
    if change is not None and bound < 0:
        raise UsageError(f"the largest {change} of {name} must be at least 0, got {bound:g}")
    if change is not None and line is None:
        raise UsageError(f"{name} is not compared with a baseline; bound its value with --require")
    if head not in UNBOUNDED and not 0 <= bound <= 1:
        raise UsageError(
            f"{name} lies between 0 and 1, so a bound of {bound:g} decides nothing; write a share"
        )
    return Criterion(name, relation, bound, change, line)  # type: ignore[arg-type]


def parse_change(change: Change, text: str) -> Criterion:
    """Return the criterion of "MEASURE=NUMBER", the largest change from the baseline allowed.

    Raises:
        UsageError: it is not written so, or as `parse_criterion`.
    """
    measure, equals, bound = text.rpartition("=") if isinstance(text, str) else ("", "", "")
    if not (measure.strip() and equals and bound.strip()):
        raise UsageError(f"takes MEASURE=NUMBER, for example nDCG@10=0.01, got {came(text)}")
    return criterion(measure, "<=", _number(bound, text), change)


def _measured(text: str) -> tuple[str, Line | None]:
    if text.strip() in READER:
        return text.strip(), None
    # Of quality there are two lines; the first is of what would be served.
    line = choose_lines([text.strip()])[0]
    return line.label, line


def _number(text: str, within: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"the bound of {came(within)} must be a number, got {text!r}") from None
