"""An objective: which terms, with which weights, on the scores of one step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import isfinite
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from evenhand.errors import UsageError
from evenhand.train import objectives

Anchor = Literal["first", "all", "none"]
Error = Literal["squared", "soft_grade"]
Weighting = Literal["none", "threshold", "uncertainty", "position"]


@dataclass(frozen=True, slots=True)
class Objective:
    """The terms of a training loss.

    Attributes:
        anchor: which views carry the label. error: squared, or cross-entropy on the soft grade.
        consistency: lambda of the penalty over all views; with `mean_teacher` of the
            squared distance of every view to the averaged model's scores.
        per_pair: divide lambda by N - 1, for runs whose N differ.
        channels: lambda by channel instead, of the views that vary it.
        jaccard: weight of one minus the soft Jaccard at `threshold`, over `temperature`.
        weighting: of the anchor, by candidate. "threshold": exp(-|y - threshold| / temperature);
            "uncertainty": exp(-doubt / temperature); "position" is DebiasFirst, for slates
            whose canonical order is the first stage's ranking.
        mean_teacher: decay of an averaged model whose scores are the penalty's target; None = no.
        base_kl: weight of the divergence from the base model's grades.
    """

    anchor: Anchor = "first"
    error: Error = "squared"
    consistency: float = 0.0
    per_pair: bool = False
    channels: tuple[tuple[str, float], ...] = ()
    jaccard: float = 0.0
    threshold: float = 0.5
    temperature: float = 0.05
    weighting: Weighting = "none"
    mean_teacher: float | None = None
    base_kl: float = 0.0

    def __post_init__(self) -> None:
        for name, choices in (("anchor", Anchor), ("error", Error), ("weighting", Weighting)):
            if getattr(self, name) not in get_args(choices):
                raise UsageError(f"{name} is one of {get_args(choices)}, got {getattr(self, name)!r}")
        weights = {name: getattr(self, name) for name in ("consistency", "jaccard", "base_kl")}
        for name, value in {**weights, **dict(self.channels)}.items():
            if not (_number(value) and 0 <= value < 1e6):
                raise UsageError(f"{name} is a weight of at least 0, got {value!r}")
        if not _number(self.threshold):
            raise UsageError(f"threshold is a number, got {self.threshold!r}")
        if not (_number(self.temperature) and self.temperature > 0):
            raise UsageError(f"temperature must be above 0, got {self.temperature!r}")
        if not isinstance(self.per_pair, bool):
            raise UsageError(f"per_pair is true or false, got {self.per_pair!r}")
        self._check_together()

    def _check_together(self) -> None:
        if self.channels and self.consistency:
            raise UsageError("give consistency for all views, or channels, not both")
        decay = self.mean_teacher
        if decay is not None and not (_number(decay) and 0 <= decay < 1):
            raise UsageError(f"mean_teacher is a decay in [0, 1), got {decay!r}")
        if decay is not None and not self.consistency:
            raise UsageError(
                "mean_teacher is the target of the consistency penalty; give consistency above 0 too"
            )
        if self.anchor == "none" and not self.penalties:
            raise UsageError("an objective without anchor needs a penalty: nothing would be trained")

    @property
    def penalties(self) -> tuple[str, ...]:
        """The names of the terms that compare views, those of weight 0 left out."""
        found = {
            "consistency": self.consistency,
            "channels": any(weight for _, weight in self.channels),
            "jaccard": self.jaccard,
        }
        return tuple(name for name, weight in found.items() if weight)


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """What the model gave for the candidates of one step, and what they should be.

    Attributes:
        probabilities: (N, C, G) over the grades. labels: (C,) in [0, 1].
        groups: (C,) int64, which slate or window each candidate is of, from 0.
        channels: what views 2.. vary, N - 1 names; () = not told apart.
        weights: (C,) of the anchor, or None.
        teacher: (C,) scores of the averaged model, or None.
        base: (N, C, G) of the base model, or None.
    """

    probabilities: Tensor
    labels: Tensor
    groups: Tensor
    channels: tuple[str, ...] = ()
    weights: Tensor | None = None
    teacher: Tensor | None = None
    base: Tensor | None = None

    @property
    def scores(self) -> Tensor:
        """The (N, C) expected grades over the highest."""
        size = self.probabilities.shape[-1]
        values = torch.arange(size, dtype=self.probabilities.dtype, device=self.probabilities.device)
        return (self.probabilities * values).sum(-1) / (size - 1)


def terms(objective: Objective, step: Step, ramp: float = 1.0) -> dict[str, Tensor]:
    """Return every term of the loss, weighted, and their sum as "loss".

    Args:
        objective: what is trained for. step: what the model gave.
        ramp: factor on everything but the anchor, in [0, 1]: the warm-up of lambda.

    Raises:
        UsageError: the step lacks what the objective needs.
    """
    scores, found = step.scores, {}
    if objective.anchor != "none":
        found["anchor"] = _anchor(objective, step, scores)
    if objective.channels:
        penalty = objectives.channel_consistency(scores, step.channels, objective.channels)
        found["consistency"] = ramp * penalty.mean()
    elif objective.consistency:
        found["consistency"] = (
            ramp * _lambda(objective, len(scores)) * _penalty(objective, step, scores)
        )
    if objective.jaccard:
        error = objectives.soft_jaccard_error(
            scores, step.groups, objective.threshold, objective.temperature
        )
        found["jaccard"] = ramp * objective.jaccard * error
    if objective.base_kl:
        if step.base is None:
            raise UsageError("base_kl needs the base model's grades in the step")
        divergence = objectives.grade_divergence(step.probabilities, step.base).mean()
        found["base_kl"] = ramp * objective.base_kl * divergence
    found["loss"] = torch.stack(list(found.values())).sum()
    return found


def _anchor(objective: Objective, step: Step, scores: Tensor) -> Tensor:
    if objective.error == "squared":
        errors = objectives.squared_error(scores, step.labels)
    else:
        errors = objectives.soft_grade_error(step.probabilities, step.labels)
    chosen = errors[:1] if objective.anchor == "first" else errors
    return objectives.weighted_mean(chosen.mean(dim=0), step.weights)


def _lambda(objective: Objective, views: int) -> float:
    return (
        objective.consistency / (views - 1)
        if objective.per_pair and views > 1
        else objective.consistency
    )


def _penalty(objective: Objective, step: Step, scores: Tensor) -> Tensor:
    if objective.mean_teacher is None:
        return objectives.consistency(scores).mean()
    if step.teacher is None:
        raise UsageError("mean_teacher needs the averaged model's scores in the step")
    return ((scores - step.teacher) ** 2).sum(dim=0).mean()


def objective_from(settings: Mapping[str, Any]) -> Objective:
    """Return an objective from plain values; unknown names are refused.

    Raises:
        UsageError: an unknown name lists the known ones.
    """
    known = {field.name for field in fields(Objective)}
    unknown = sorted(set(settings) - known)
    if unknown:
        raise UsageError(f"unknown settings of an objective {unknown}; known are {sorted(known)}")
    values = dict(settings)
    if "channels" in values:
        if not isinstance(values["channels"], Mapping):
            raise UsageError(f"channels maps a channel to its weight, got {values['channels']!r}")
        values["channels"] = tuple(sorted(values["channels"].items()))
    return Objective(**values)


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)
