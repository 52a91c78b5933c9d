"""The numbers of a run that findings are made from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evenhand.study.analysis import Curve, ThresholdFit
from evenhand.types import Estimate


@dataclass(frozen=True, slots=True)
class Facts:
    """The numbers that findings are made from.

    Attributes:
        scorer: name, scale, order_free. counts: as in `Analysis`.
        stability, floor, decisions: estimates by measure name.
        threshold: how retained sets were cut, or None. threshold_reason: why it
            is not the F1 rule; empty when it is.
        repeat_difference: largest |canonical - repeat| score; NaN = no repeat row.
        random_difference: largest |canonical - random| score.
        label_mass: mean probability of the grades; NaN = not known.
        low_mass_share: share of scores whose label mass is under `LOW_MASS`.
        reasons: a few of the failures. overlap_curve: as in `Analysis`.
    """

    scorer: Mapping[str, Any] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    stability: Mapping[str, Estimate] = field(default_factory=dict)
    floor: Mapping[str, Estimate] = field(default_factory=dict)
    decisions: Mapping[str, Estimate] = field(default_factory=dict)
    threshold: ThresholdFit | None = None
    threshold_reason: str = ""
    repeat_difference: float = math.nan
    random_difference: float = math.nan
    label_mass: float = math.nan
    low_mass_share: float = math.nan
    reasons: tuple[str, ...] = ()
    overlap_curve: Curve | None = None

    def count(self, name: str) -> int:
        """Return a count, 0 when it was not taken."""
        return int(self.counts.get(name, 0))

    def share(self, part: str, whole: str) -> float:
        """Return one count over another, 0 when there is nothing to divide."""
        return self.count(part) / self.count(whole) if self.count(whole) else 0.0
