"""What the threshold advisor found, as data and as text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.measure.checks import whole
from evenhand.types import FloatArray

_LINES = 15


@dataclass(frozen=True, slots=True, eq=False)
class TradeOff:
    """What each threshold gives, (T,) each, thresholds rising; NaN = undefined.

    Attributes:
        threshold: lowest score retained.
        f1: mean set-F1 of the canonical rows over slates with grades.
        overlap: mean Jaccard overlap over pairs of random rows.
        overlap_without_empty: the same without pairs that both keep nothing.
        retained: share retained in the random rows.
        density: share of random rows' scores within one bandwidth of the cut.
    """

    threshold: FloatArray
    f1: FloatArray
    overlap: FloatArray
    overlap_without_empty: FloatArray
    retained: FloatArray
    density: FloatArray


@dataclass(frozen=True, slots=True)
class Region:
    """Neighbouring cuts with few scores near them: low to high, and the density there."""

    low: float
    high: float
    density: float


@dataclass(frozen=True, slots=True, eq=False)
class Advice:
    """The advised threshold and the trade-off behind it.

    Attributes:
        threshold: to use, or None where none is advised.
        reason: why this one, or why none.
        floor: least overlap without empty pairs that was asked for.
        curve: all thresholds tried.
        held_out_f1: F1 when picked on one fold and read on the other; NaN
            without grades or where a fold has no pick.
        regions: where few scores lie, the sparsest first.
        bandwidth: how near to the cut counts as near.
        revision: scorer revision and surface that the threshold belongs to.
        keep_all_f1: F1 of keeping everything, what a threshold has to beat.
        slates: how many there are.
        lost: how many of them have no score at all in the canonical row: left out of F1.
    """

    threshold: float | None
    reason: str
    floor: float
    curve: TradeOff
    held_out_f1: float
    regions: tuple[Region, ...]
    bandwidth: float
    revision: str
    keep_all_f1: float = float("nan")
    slates: int = 0
    lost: int = 0

    @property
    def index(self) -> int | None:
        """Where the advised threshold stands in the curve."""
        if self.threshold is None:
            return None
        return int(np.flatnonzero(self.curve.threshold == self.threshold)[0])

    def to_text(self, lines: int = _LINES) -> str:
        """Return the advice and its trade-off curve as plain text.

        Args:
            lines: most thresholds shown: evenly spaced in rank, and the advised one.

        Raises:
            UsageError: lines < 1.
        """
        lines = whole("lines", lines)
        said = "none" if self.threshold is None else f"{_t(self.threshold)}"
        out = [f"advised threshold: {said} ({self.reason})"]
        if self.lost:
            out.append(f"{self.lost} of {self.slates} slates without a canonical row, left out of F1")
        out.append(f"floor on overlap without empty pairs: {self.floor:.3f}")
        out.append(
            f"F1, picked on one half of the slates and read on the other: {_n(self.held_out_f1)}"
        )
        out.append(f"F1 of keeping everything: {_n(self.keep_all_f1)}")
        if self.held_out_f1 <= self.keep_all_f1:
            out.append("held out, the advised threshold is no better than keeping everything")
        out.extend(["", "    threshold     F1  overlap  w/o empty  retained  density"])
        out.extend(self._line(index) for index in self._shown(lines))
        out.append(f"density: share of scores within {_t(self.bandwidth)} of the cut")
        if self.regions:
            out.extend(["", "sparse regions, the sparsest first"])
            out.extend(f"  {_place(one)}: density {_n(one.density, 4)}" for one in self.regions)
        return "\n".join(out) + "\n"

    def _shown(self, lines: int) -> list[int]:
        count = len(self.curve.threshold)
        picked = {int(i) for i in np.linspace(0, count - 1, min(lines, count)).round()}
        if self.index is not None:
            picked.add(self.index)
        return sorted(picked)

    def _line(self, index: int) -> str:
        curve = self.curve
        mark = "*" if index == self.index else " "
        return (
            f"{mark} {_t(curve.threshold[index]):>11}  {_n(curve.f1[index])}    "
            f"{_n(curve.overlap[index])}      {_n(curve.overlap_without_empty[index])}     "
            f"{_n(curve.retained[index])}   {_n(curve.density[index], 4)}"
        )


def _place(region: Region) -> str:
    """Return where a region lies; of a single cut, which has no width, the cut."""
    low, high = _t(region.low), _t(region.high)
    return f"at {low}" if low == high else f"{low} to {high}"


def _t(score: float) -> str:
    """Return a number in units of the scores, with the digits that make a threshold usable."""
    return f"{score:.6g}"


def _n(value: float, digits: int = 3) -> str:
    return f"{value:.{digits}f}" if np.isfinite(value) else "–".rjust(digits + 2)
