"""What a selection says of each trial, and what it chose."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Judged:
    """A trial and why it was or was not chosen.

    Attributes:
        name, weight, step: of the trial.
        means: of its values over the slates that count.
        difference: mean over slates of the best quality minus its own; NaN when it is out.
        error: standard error of that. within: whether it is one of those to choose from.
        paper, ours: a sentence for each rule.
    """

    name: str
    weight: float
    step: int
    means: Mapping[str, float]
    difference: float
    error: float
    within: bool
    paper: str
    ours: str

    @property
    def label(self) -> str:
        """As reports show it."""
        return f"{self.name} (lambda {self.weight:g}, step {self.step})"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values; undefined is null."""
        return {
            "name": self.name, "lambda": self.weight, "step": self.step,
            "means": {name: _number(value) for name, value in self.means.items()},
            "difference": _number(self.difference), "standard_error": _number(self.error),
            "within": self.within, "paper": self.paper, "ours": self.ours,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Selection:
    """What was chosen by each rule.

    Attributes:
        best: the trial of the best quality. paper, ours: the choices. All None when refused.
        refused: why nothing is chosen, or None.
        slates: held-out slates that count. undefined: those without a value in any trial.
        baseline: the quality to beat, or None.
        trials: every trial, in the order given.
    """

    best: Judged | None
    paper: Judged | None
    ours: Judged | None
    refused: str | None
    slates: int
    undefined: int
    baseline: float | None
    trials: tuple[Judged, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        chosen = {name: getattr(self, name) for name in ("paper", "ours", "best")}
        return {
            **{name: one and _key(one) for name, one in chosen.items()},
            "refused": self.refused, "slates": self.slates, "undefined": self.undefined,
            "baseline": self.baseline, "trials": [one.to_dict() for one in self.trials],
        }  # fmt: skip


def _key(one: Judged) -> dict[str, Any]:
    return {"name": one.name, "lambda": one.weight, "step": one.step}


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
