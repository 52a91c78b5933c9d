"""The arms of stage 2: what each shows, what it is trained for and on which labels.

A name is a kind, and for some a value after a hyphen: "across-4" is OC-SFT with
companion mixing at lambda 4, "single-tokens" is single-order with twice the steps.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from common import ISOLATED, SURFACE

from evenhand.train.settings import Weights
from evenhand.train.step import Objective
from evenhand.train.views import Views
from evenhand.types import Surface

# Shown in training by the multi-channel arm, and kept back to be tested on.
MARKERS = ("numeric", "letters")
HELD_OUT_MARKERS = ("random",)

WITHIN = Views(mix="within", count=2, widths=(10,), surface=SURFACE)
ACROSS = replace(WITHIN, mix="across")
SINGLE = Views(mix="across", count=1, widths=(10,), surface=SURFACE)
# The paper's: canonical contiguous windows, each shown once.
CANONICAL = replace(SINGLE, mix="within", first="canonical")
PARALLEL = replace(SURFACE, visibility="parallel")


@dataclass(frozen=True)
class Arm:
    """One arm: views and objective, T of its labels, steps as a factor, share of the labels."""

    views: Views
    objective: Objective = field(default_factory=Objective)
    orders: int = 1
    steps: float = 1.0
    weights: Weights = field(default_factory=lambda: Weights(method="full"))
    rate: float = 1.0
    share: float = 1.0

    @property
    def surface(self) -> Surface:
        return self.views.surface


def _single(value: str) -> Arm:
    return Arm(CANONICAL, steps=2.0 if value == "tokens" else 1.0)


def _consistent(views: Views, weight: float, **changes) -> Arm:
    return Arm(views, Objective(consistency=weight, **changes))


def _many(count: float, weight: float = 10.0) -> Arm:
    """N views, lambda by pair, as many windows in all as with two."""
    views = replace(ACROSS, count=int(count))
    return Arm(views, Objective(consistency=weight, per_pair=True), steps=2 / count)


def _channels(value: str) -> Arm:
    weight = float(value or 10)
    views = replace(
        ACROSS, count=4, markers=MARKERS, skeletons=("score",),
        varies=("companions", "marker", "skeleton"),
    )  # fmt: skip
    pairs = tuple((name, weight) for name in views.varies)
    return Arm(views, Objective(channels=pairs), steps=0.5)


def _low_rank(value: str) -> Arm:
    rank = int(value)
    weights = Weights(rank=rank, alpha=2 * rank, dropout=0.0)
    return replace(_consistent(ACROSS, 10.0), weights=weights, rate=5.0)


KINDS = {
    "single": _single,
    "averaged": lambda value: Arm(CANONICAL, orders=int(value or 10)),
    "shuffled": lambda value: Arm(SINGLE),
    "augmentation": lambda value: Arm(ACROSS, Objective(anchor="all")),
    "debias": lambda value: Arm(ACROSS, Objective(anchor="all", weighting="position")),
    "within": lambda value: _consistent(WITHIN, float(value)),
    "across": lambda value: _consistent(ACROSS, float(value)),
    "noanchor": lambda value: _consistent(ACROSS, float(value or 10), anchor="none"),
    "anchorall": lambda value: _consistent(ACROSS, float(value or 10), anchor="all"),
    "ema": lambda value: _consistent(ACROSS, 10.0, mean_teacher=float(value or 0.99)),
    "kl": lambda value: _consistent(ACROSS, 10.0, base_kl=float(value or 0.1)),
    "views": lambda value: _many(float(value)),
    "dropout": lambda value: replace(
        _consistent(replace(ACROSS, varies=("dropout",)), float(value or 10)),
        weights=Weights(rank=16, alpha=32, dropout=0.05), rate=5.0,
    ),
    "channels": _channels,
    "widths": lambda value: _consistent(
        replace(ACROSS, widths=(4, 10, 20), varies=("width",)), float(value or 10)
    ),
    "jaccard": lambda value: Arm(ACROSS, Objective(jaccard=float(value or 0.1))),
    "threshold": lambda value: _consistent(
        ACROSS, 10.0, weighting="threshold", temperature=float(value or 0.2)
    ),
    "isolated": lambda value: Arm(replace(SINGLE, surface=ISOLATED)),
    "parallel": lambda value: _consistent(replace(ACROSS, surface=PARALLEL), float(value or 10)),
    "lora": _low_rank,
    "labels": lambda value: replace(
        _consistent(ACROSS, 10.0), share=1 / float(value), steps=1 / float(value)
    ),
}  # fmt: skip


def arm(name: str) -> Arm:
    kind, _, value = name.partition("-")
    if kind not in KINDS:
        raise SystemExit(f"unknown arm {name}; known kinds are {', '.join(KINDS)}")
    return KINDS[kind](value)
