"""Which lambda and checkpoint to ship: on quality alone, and on quality and stability.

Both rules look at the trials within one standard error of the best quality. With d
the difference to the best on each held-out slate, a trial is within when
mean(d) <= sd(d) / sqrt(n), sd with divisor n - 1: the error is that of the paired
difference, as all trials saw the same slates.

- ``paper``: of these the largest lambda.
- ``ours``: of these the lowest tau-PSI; ties go to the larger overlap, then to the
  smaller lambda.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from evenhand.errors import UsageError
from evenhand.measure.checks import finite
from evenhand.records.files import write_whole
from evenhand.train.evaluate import COLLAPSED
from evenhand.train.judged import Judged, Selection
from evenhand.train.trials import VALUES, Trial, same_slates
from evenhand.types import BoolArray, FloatArray

LEAST_SLATES = 10
# Two means of the same terms differ in the last digits.
_SAME = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    """A trial on the slates that all share.

    Attributes:
        values: (slates,) by name. means: over the slates where any trial has a value.
        fault: why it cannot be trusted, or None.
    """

    trial: Trial
    values: dict[str, FloatArray]
    means: dict[str, float]
    fault: str | None


@dataclass(frozen=True, slots=True)
class _Gap:
    """How far a trial is under the best quality."""

    difference: float
    error: float

    @property
    def within(self) -> bool:
        """Whether it is at most one standard error."""
        return self.difference <= self.error + _SAME


def paired_gap(best: FloatArray, other: FloatArray) -> tuple[float, float]:
    """Return the mean difference best - other and its standard error, sd / sqrt(n).

    Args:
        best, other: (n,) quality of the same slates, n >= 2, none missing.
    """
    gaps = best - other
    moved = gaps - gaps[0]  # equal differences have an error of exactly 0
    mean = float(moved.mean() + gaps[0])
    return mean, float(moved.std(ddof=1) / np.sqrt(len(gaps)))


def select(trials: Sequence[Trial], *, baseline: float | Trial | None = None) -> Selection:
    """Choose a trial by both rules, or say why none can be chosen.

    A trial is out when its scores have collapsed (mean spread under .02) or values
    are missing: scores not given, or a slate without a value where another trial has
    one. Nothing is chosen when no trial is left, when fewer than 10 slates have a
    quality, or when the best quality is not above the baseline.

    Args:
        trials: all over the same held-out slates.
        baseline: quality to beat: a number (chance), or the trial of an untrained scorer.

    Raises:
        UsageError: no trials, one twice, or other slates or settings; a baseline that is
            no number and no such trial.
    """
    ids = same_slates(trials)
    seen = _seen(trials, ids)
    quality = np.array([one.values["shuffled"] for one in seen])
    counted = ~np.isnan(quality).all(axis=0)
    sound = [one for one in seen if one.fault is None]
    floor = _floor(baseline, trials[0], ids, counted)
    best = min(sound, key=_best_first, default=None)
    refused = _refusal(int(counted.sum()), best, seen, floor)
    if refused is not None or best is None:
        judged = tuple(_unjudged(one, refused or "") for one in seen)
        return Selection(
            None, None, None, refused, int(counted.sum()), int((~counted).sum()), floor, judged
        )
    gaps = [_gap(best, one, counted) for one in seen]
    within = [one for one, gap in zip(seen, gaps, strict=True) if gap is not None and gap.within]
    paper, ours = min(within, key=_paper_first), min(within, key=_ours_first)
    judged = tuple(_judged(one, gap, paper, ours) for one, gap in zip(seen, gaps, strict=True))
    of = dict(zip(map(id, seen), judged, strict=True))
    return Selection(
        of[id(best)], of[id(paper)], of[id(ours)], None, int(counted.sum()), int((~counted).sum()),
        floor, judged,
    )  # fmt: skip


def write_selection(path: str | os.PathLike[str], selection: Selection) -> None:
    """Write a selection as JSON, whole or not at all.

    Raises:
        ResumeError: the system refuses to write.
    """
    text = json.dumps(selection.to_dict(), indent=2, allow_nan=False, ensure_ascii=True)
    write_whole(Path(path), (text + "\n").encode("ascii"))


def _seen(trials: Sequence[Trial], ids: Sequence[str]) -> list[_Seen]:
    values = [trial.on(ids) for trial in trials]
    known: dict[str, BoolArray] = {
        name: np.asarray(~np.isnan([own[name] for own in values]).all(axis=0)) for name in VALUES
    }
    found = []
    for trial, own in zip(trials, values, strict=True):
        means = {name: _mean(own[name][known[name]]) for name in VALUES}
        found.append(_Seen(trial, own, means, _fault(trial, own, means, known)))
    return found


def _mean(values: FloatArray) -> float:
    """Return the mean, rounded once, so that the same values in any order tie; NaN for none."""
    return math.fsum(values) / len(values) if len(values) else float("nan")


def _fault(
    trial: Trial, values: dict[str, FloatArray], means: dict[str, float], known: dict[str, BoolArray]
) -> str | None:
    if trial.missing:
        return f"{trial.missing} scores are missing"
    for name in VALUES:
        if not known[name].any():
            return f"{name} is undefined on every slate"
        lacking = int(np.isnan(values[name][known[name]]).sum())
        if lacking:
            return f"{name} is missing on {lacking} slates where another trial has it"
    if means["spread"] < COLLAPSED:
        return f"collapsed: scores of a slate spread {means['spread']:.4f}, under {COLLAPSED}"
    return None


def _floor(
    baseline: float | Trial | None, first: Trial, ids: Sequence[str], counted: BoolArray
) -> float | None:
    """Return the quality to beat."""
    if baseline is None:
        return None
    if not isinstance(baseline, Trial):
        return finite("baseline", baseline)
    same_slates([first, replace(baseline, name=f"baseline {baseline.name}")])
    values = baseline.on(ids)["shuffled"][counted]
    if np.isnan(values).any():
        raise UsageError(
            f"the baseline {baseline.label} has no quality on {int(np.isnan(values).sum())} slates "
            "where a trial has one; look at it again on the same slates"
        )
    return _mean(values)


def _refusal(slates: int, best: _Seen | None, seen: Sequence[_Seen], floor: float | None) -> str | None:
    if slates < LEAST_SLATES:
        return f"{slates} held-out slates have a quality; at least {LEAST_SLATES} are needed"
    if best is None:
        return "no trial can be trusted: " + "; ".join(f"{s.trial.label}: {s.fault}" for s in seen)
    if floor is not None and not best.means["shuffled"] > floor + _SAME:
        return (
            f"the best quality, {best.means['shuffled']:.4f} of {best.trial.label}, is not above the "
            f"baseline {floor:.4f}"
        )
    return None


def _best_first(one: _Seen) -> tuple[float, float, int, str]:
    return -one.means["shuffled"], one.trial.weight, one.trial.step, one.trial.name


def _paper_first(one: _Seen) -> tuple[float, float, int, str]:
    return -one.trial.weight, -one.means["shuffled"], one.trial.step, one.trial.name


def _ours_first(one: _Seen) -> tuple[float, float, float, int, str]:
    trial = one.trial
    return one.means["psi"], -one.means["overlap"], trial.weight, trial.step, trial.name


def _gap(best: _Seen, one: _Seen, counted: BoolArray) -> _Gap | None:
    if one.fault is not None:
        return None
    return _Gap(*paired_gap(best.values["shuffled"][counted], one.values["shuffled"][counted]))


def _unjudged(one: _Seen, refused: str) -> Judged:
    why = f"out: {one.fault}" if one.fault else f"not judged: {refused}"
    return _said(one, None, why, why)


def _judged(one: _Seen, gap: _Gap | None, paper: _Seen, ours: _Seen) -> Judged:
    if gap is None:
        return _unjudged(one, "")
    if gap.within:
        return _said(one, gap, _why_paper(one, paper), _why_ours(one, ours))
    why = (
        f"out: quality is {gap.difference:.4f} under the best, more than one standard error of the "
        f"paired difference ({gap.error:.4f})"
    )
    return _said(one, gap, why, why)


def _said(one: _Seen, gap: _Gap | None, paper: str, ours: str) -> Judged:
    trial, nan = one.trial, float("nan")
    difference, error = (nan, nan) if gap is None else (gap.difference, gap.error)
    within = gap is not None and gap.within
    return Judged(
        trial.name, trial.weight, trial.step, one.means, difference, error, within, paper, ours
    )


def _why_paper(one: _Seen, choice: _Seen) -> str:
    if one is choice:
        return "chosen: the largest lambda within one standard error of the best quality"
    own, other = one.trial.weight, choice.trial.weight
    if own != other:
        return f"kept, not chosen: lambda {own:g} is smaller than {other:g} of the choice"
    if one.means["shuffled"] != choice.means["shuffled"]:
        return "kept, not chosen: the choice has the same lambda and a higher quality"
    return "kept, not chosen: same lambda and quality; the choice is earlier, or first by name"


def _why_ours(one: _Seen, choice: _Seen) -> str:
    psi, other = one.means["psi"], choice.means["psi"]
    if one is choice:
        return f"chosen: the lowest tau-PSI, {psi:.4f}, within one standard error of the best quality"
    if psi != other:
        return f"kept, not chosen: tau-PSI {psi:.4f} against {other:.4f} of the choice"
    if one.means["overlap"] != choice.means["overlap"]:
        return (
            f"kept, not chosen: the same tau-PSI, overlap {one.means['overlap']:.4f} against "
            f"{choice.means['overlap']:.4f} of the choice"
        )
    if one.trial.weight != choice.trial.weight:
        return "kept, not chosen: the same tau-PSI and overlap, and a larger lambda than the choice"
    return "kept, not chosen: equal in all; the choice is earlier, or first by name"
