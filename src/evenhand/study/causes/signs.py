"""What the records of one channel's run show of how a scorer works.

The numbers that `study.causes.fingerprint` reads. A change is a mean |score - canonical
score|, in units of the spread (sd within a canonical row), so that it means the
same on every scale of scores.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from evenhand.measure.order import is_constant, tied_pairs
from evenhand.measure.rows import defined_mean
from evenhand.records import Recorded
from evenhand.study.causes.slotfit import SlotFit, ratio
from evenhand.types import BoolArray, FloatArray, Presentation

# Enough to tell a few grades from real numbers.
_MOST_LEVELS = 1000
_END = 1e-6
# With fewer rows a fit of slots explains noise as well.
_MANY = 4


@dataclass(frozen=True, slots=True)
class Signs:
    """What one channel's run shows; NaN where the run cannot tell.

    Attributes:
        slates, rows: slates with a varied row, and all varied rows.
        change: of all varied rows. repeat_change: of the repeat row.
        slot_change: of candidates that kept their companions and left their slot.
        companion_change: of candidates that kept their slot and the width of their
            window, and got other companions.
        by_slot: share of the variance within windows that the slot alone explains.
        slot_share: share of a candidate's own movement that its slot explains.
        first_share: the same of standing first or not; first_gain: what that adds.
        later_noise: what neither candidate nor slot explains of the scores of all
            rows but the first, the canonical one (root mean square).
        returned: share of the moved scores of the repeat row that another
            candidate had in another row.
        echoed: share of windows that give, slot by slot, the scores of an earlier
            window with other candidates.
        ends: share of windows with lowest score 0 and highest 1.
        uneven: largest distance of a window's sum of scores from the usual one,
            over the usual size of its scores.
        levels, scores: distinct and all scores of the canonical rows.
        tied: share of tied pairs in the canonical row.
        constant: share of slates whose candidates never differ.
    """

    slates: int = 0
    rows: int = 0
    change: float = math.nan
    repeat_change: float = math.nan
    slot_change: float = math.nan
    companion_change: float = math.nan
    by_slot: float = math.nan
    slot_share: float = math.nan
    first_share: float = math.nan
    first_gain: float = math.nan
    later_noise: float = math.nan
    returned: float = math.nan
    echoed: float = math.nan
    ends: float = math.nan
    uneven: float = math.nan
    levels: int = 0
    scores: int = 0
    tied: float = math.nan
    constant: float = math.nan


def _mean_change(row: FloatArray, base: FloatArray, among: BoolArray | None = None) -> float:
    known = ~(np.isnan(row) | np.isnan(base))
    if among is not None:
        known &= among
    return float(np.abs(row[known] - base[known]).mean()) if known.any() else math.nan


def _companions(shown: Presentation) -> list[frozenset[int]]:
    """Return the members of each candidate's window, nothing where it is not shown."""
    found: list[frozenset[int]] = [frozenset()] * len(shown)
    for window in shown.windows:
        members = frozenset(window)
        for candidate in window:
            found[candidate] = members
    return found


def kept_apart(shown: Presentation, base: Presentation) -> tuple[BoolArray, BoolArray]:
    """Return which candidates changed only their slot, and which only their companions.

    Args:
        shown: a varied presentation.
        base: the canonical one.

    Returns:
        Two (n,) masks: same companions at another slot; the same slot of a window
        of the same width with other companions.
    """
    now, before = _companions(shown), _companions(base)
    places = zip(now, before, shown.slots(), base.slots(), strict=True)
    rows = [(a == b, len(a) == len(b), s == t, bool(a and b)) for a, b, s, t in places]
    slot = [same and not still and both for same, _, still, both in rows]
    company = [not same and wide and still and both for same, wide, still, both in rows]
    return np.array(slot, dtype=np.bool_), np.array(company, dtype=np.bool_)


@dataclass(slots=True)
class SignTally:
    """Collects `Signs` over the records of one run."""

    rows: int = 0
    varied: int = 0
    slates: int = 0
    spreads: list[float] = field(default_factory=list)
    changes: dict[str, list[float]] = field(
        default_factory=lambda: {"all": [], "repeat": [], "slot": [], "companion": []}
    )
    fit: SlotFit = field(default_factory=SlotFit)
    later: SlotFit = field(default_factory=SlotFit)
    returned: list[int] = field(default_factory=lambda: [0, 0])
    echoed: list[int] = field(default_factory=lambda: [0, 0])
    ends: list[np.bool_ | bool] = field(default_factory=list)
    sums: list[tuple[float, float]] = field(default_factory=list)
    levels: set[float] = field(default_factory=set)
    scores: int = 0
    tied: list[float] = field(default_factory=list)
    constant: int = 0

    def add(self, record: Recorded) -> None:
        """Take in one slate."""
        matrix = record.matrix
        base = matrix.canonical
        known = base[~np.isnan(base)]
        self.slates += 1
        self.constant += int(is_constant(matrix.scores))
        self.scores += known.size
        self.levels.update(known.tolist()[: _MOST_LEVELS - len(self.levels)])
        self.spreads.append(float(known.std()) if known.size > 1 else math.nan)
        self.tied.append(tied_pairs(np.stack([base, base])))
        self._add_changes(record, base)
        self._add_windows(record)
        self._add_fit(record)

    def _add_changes(self, record: Recorded, base: FloatArray) -> None:
        matrix = record.matrix
        canonical = matrix.plan.presentations[0]
        found: dict[str, list[float]] = {"all": [], "slot": [], "companion": []}
        for row, shown in zip(matrix.random, matrix.random_presentations, strict=True):
            if shown == canonical or np.isnan(row).all():
                continue
            slot, company = kept_apart(shown, canonical)
            found["all"].append(_mean_change(row, base))
            found["slot"].append(_mean_change(row, base, slot))
            found["companion"].append(_mean_change(row, base, company))
        self.rows += len(found["all"])
        self.varied += bool(found["all"])
        for name, values in found.items():
            self.changes[name].append(defined_mean(values))
        self.changes["repeat"].append(_mean_change(matrix.repeat, base))
        others = matrix.scores[[r for r, k in enumerate(matrix.plan.kinds) if k != "repeat"]]
        for candidate in np.flatnonzero(np.abs(matrix.repeat - base) > 0):
            elsewhere = np.delete(others, candidate, axis=1)
            self.returned[0] += bool((elsewhere == matrix.repeat[candidate]).any())
            self.returned[1] += 1

    def _add_windows(self, record: Recorded) -> None:
        seen: dict[bytes, set[tuple[int, ...]]] = {}
        for window, values in _windows(record):
            if np.ptp(values) == 0:
                continue
            earlier = seen.setdefault(values.tobytes(), set())
            self.echoed[0] += bool(earlier - {window})
            self.echoed[1] += 1
            earlier.add(window)
            self.ends.append(abs(values.min()) < _END and abs(values.max() - 1) < _END)
            self.sums.append((float(values.sum()), float(np.abs(values).sum())))

    def _add_fit(self, record: Recorded) -> None:
        plan, scores = record.matrix.plan, record.matrix.scores
        if scores.shape[1] < 2 or np.isnan(scores).any():
            return
        asked = [row for row, kind in enumerate(plan.kinds) if kind != "repeat"]
        for fit, rows in ((self.fit, asked), (self.later, list(range(1, len(plan))))):
            if len(rows) >= (2 if fit is self.fit else _MANY):
                fit.add(scores[rows], [plan.presentations[row] for row in rows])

    @property
    def signs(self) -> Signs:
        """What was seen so far."""
        spread = defined_mean(self.spreads)
        changes = {name: _in_spreads(defined_mean(v), spread) for name, v in self.changes.items()}
        fit = self.fit
        return Signs(
            slates=self.varied,
            rows=self.rows,
            change=changes["all"],
            repeat_change=changes["repeat"],
            slot_change=changes["slot"],
            companion_change=changes["companion"],
            by_slot=ratio(fit.within_by_slot, fit.within),
            slot_share=ratio(fit.moved_by_slot, fit.moved),
            first_share=ratio(fit.moved_by_first, fit.moved),
            first_gain=_in_spreads(defined_mean(fit.gains), spread),
            later_noise=_in_spreads(self.later.noise, spread),
            returned=ratio(*self.returned),
            echoed=ratio(*self.echoed),
            ends=defined_mean(map(float, self.ends)),
            uneven=_uneven(self.sums),
            levels=len(self.levels),
            scores=self.scores,
            tied=defined_mean(self.tied),
            constant=ratio(self.constant, self.slates),
        )


def _in_spreads(change: float, spread: float) -> float:
    if math.isnan(change) or change == 0:
        return change
    return change / spread if spread > 0 else math.copysign(math.inf, change)


def _windows(record: Recorded) -> Iterator[tuple[tuple[int, ...], FloatArray]]:
    """Yield the candidates and scores by slot of every complete window of two or more."""
    plan = record.matrix.plan
    for scores, shown in zip(record.matrix.scores, plan.presentations, strict=True):
        for window in shown.windows:
            values = scores[list(window)]
            if len(window) > 1 and not np.isnan(values).any():
                yield window, values


def _uneven(sums: list[tuple[float, float]]) -> float:
    if not sums:
        return math.nan
    totals, sizes = np.array(sums).T
    return ratio(float(np.abs(totals - np.median(totals)).max()), float(sizes.mean()))


def signs_of(records: Iterable[Recorded]) -> Signs:
    """Return what the records of one run show, read once as a stream."""
    tally = SignTally()
    for record in records:
        tally.add(record)
    return tally.signs
