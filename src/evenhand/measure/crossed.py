"""Companions, inner order and noise apart: variance components of the crossed design.

A slate is shown in C random partitions into windows, each in R random orders
inside the windows, each K times. By the law of total variance the variance of a
candidate's score is

    companions = Var over partitions of its mean over inner orders,
    order      = mean over partitions of its variance over inner orders,
    noise      = its variance when the same prompt is read again,

and the three sum to the variance of one score. What depends on partition and
order jointly counts as order; which window (by index, and by size where the
last one is shorter) moves with the partition and counts as companions.

The estimator is the method of moments of the balanced analysis of variance,
each component from two mean squares. It is unbiased whatever the distribution,
so an estimate of a component that is 0 is as often below 0 as above. Negative
estimates are kept, in every mean and share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evenhand.errors import UsageError
from evenhand.measure.checks import floats, listed, of_kind, resampling
from evenhand.measure.stats import bootstrap_means, estimate
from evenhand.types import BoolArray, Estimate, FloatArray

PARTS = ("companions", "order", "noise")


@dataclass(frozen=True, slots=True)
class Components:
    """Variance components of one slate: means over its candidates, in squared units of the score.

    Attributes:
        companions, order, noise: see the module; NaN when undefined.
        candidates: that entered. left_out: that lacked a score.
    """

    companions: float
    order: float
    noise: float
    candidates: int
    left_out: int = 0

    @property
    def total(self) -> float:
        """Variance of one score around its candidate's mean."""
        return self.companions + self.order + self.noise


@dataclass(frozen=True, slots=True)
class Decomposed:
    """Components pooled over slates, each slate counting once.

    Attributes:
        companions, order, noise, total: means over slates with intervals.
        companions_share, order_share, noise_share: each mean over the mean
            total, so that they sum to 1; NaN when nothing moves.
    """

    companions: Estimate
    order: Estimate
    noise: Estimate
    total: Estimate
    companions_share: Estimate
    order_share: Estimate
    noise_share: Estimate


def components(scores: ArrayLike) -> Components:
    """Return the variance components of one slate.

    Missing scores: a partition in which some row holds no score at all is left
    out first, then each candidate that still lacks one.

    Args:
        scores: (C, R, K, n): partitions, inner orders, repeats, candidates.

    Returns:
        The means over candidates, each part below 0 possible (see the module);
        NaN with fewer than two partitions or no candidate left.

    Raises:
        UsageError: not four-dimensional, or fewer than 2 inner orders or repeats.
    """
    cells = floats("scores", scores)
    if cells.ndim != 4 or cells.shape[1] < 2 or cells.shape[2] < 2:
        raise UsageError(
            "components need scores of shape (partitions, inner orders, repeats, candidates) with at "
            f"least 2 inner orders and 2 repeats, got shape {cells.shape}"
        )
    missing = np.isnan(cells)
    empty: BoolArray = np.any(missing.all(axis=3), axis=(1, 2))
    whole = cells[~empty]
    complete: BoolArray = ~np.any(np.isnan(whole), axis=(0, 1, 2))
    left = int(complete.sum()) if len(whole) >= 2 else 0
    lost = cells.shape[3] - left
    if not left:
        return Components(float("nan"), float("nan"), float("nan"), 0, lost)
    companions, order, noise = (float(part.mean()) for part in _moments(whole[..., complete]))
    return Components(companions, order, noise, left, lost)


def _moments(cells: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return (n,) estimates of companions, order and noise for complete cells (C, R, K, n)."""
    partitions, orders, repeats, _ = cells.shape
    # From the first score, so that what never moves gives exactly 0.
    cells = cells - cells[:1, :1, :1]
    by_order = cells.mean(axis=2)
    by_partition = by_order.mean(axis=1)
    noise = ((cells - by_order[:, :, None]) ** 2).sum(axis=(0, 1, 2))
    noise /= partitions * orders * (repeats - 1)
    inner = repeats * ((by_order - by_partition[:, None]) ** 2).sum(axis=(0, 1))
    inner /= partitions * (orders - 1)
    outer = orders * repeats * ((by_partition - by_partition.mean(axis=0)) ** 2).sum(axis=0)
    outer /= partitions - 1
    return (outer - inner) / (orders * repeats), (inner - noise) / repeats, noise


def pooled(
    slates: Sequence[Components], *, seed: int = 0, draws: int = 10_000, level: float = 0.95
) -> Decomposed:
    """Return components and shares over slates, with bootstrap intervals over slates.

    Args:
        slates: one entry per slate; undefined ones are left out and counted.
        seed: of the bootstrap; all intervals draw the same slates.
        draws: bootstrap samples.
        level: coverage of the intervals.

    Raises:
        UsageError: something else than Components, or as `measure.stats.estimate`.
    """
    slates = listed("slates", slates, "Components, one a slate")
    of_kind("slates", slates, Components)
    columns = {
        name: np.array([getattr(one, name) for one in slates], dtype=np.float64)
        for name in (*PARTS, "total")
    }
    found = {
        name: estimate(values, seed=seed, draws=draws, level=level) for name, values in columns.items()
    }
    shares = {
        f"{name}_share": ratio_estimate(
            columns[name], columns["total"], seed=seed, draws=draws, level=level
        )
        for name in PARTS
    }
    return Decomposed(**found, **shares)


def ratio_estimate(
    numerators: ArrayLike,
    denominators: ArrayLike,
    *,
    seed: int = 0,
    draws: int = 10_000,
    level: float = 0.95,
) -> Estimate:
    """Return a ratio of two means over slates, with its bootstrap interval over slates.

    Not the mean of the ratios: a slate where little moves says little.

    Args:
        numerators: (slates,).
        denominators: (slates,) of the same slates. A slate where either is NaN is
            undefined, left out and counted.
        seed, draws, level: as in `measure.stats.estimate`.

    Returns:
        The estimate; its mean is NaN when the mean denominator is not above 0, its
        bounds also when that of some bootstrap sample is not, or with one slate.

    Raises:
        UsageError: the two differ in shape, or as `measure.stats.estimate`.
    """
    above, below = floats("numerators", numerators), floats("denominators", denominators)
    if above.shape != below.shape or above.ndim != 1:
        raise UsageError(
            f"a ratio needs one pair per slate, got shapes {above.shape} and {below.shape}"
        )
    resampling(draws, seed, level)
    defined = ~(np.isnan(above) | np.isnan(below))
    above, below = above[defined], below[defined]
    n, undefined = len(above), int((~defined).sum())
    nan = float("nan")
    if not n or not below.mean() > 0:
        return Estimate(nan, nan, nan, n, undefined, level)
    mean = float(above.mean() / below.mean())
    if n < 2:
        return Estimate(mean, nan, nan, n, undefined, level)
    tops = bootstrap_means(above, draws=draws, seed=seed)
    bottoms = bootstrap_means(below, draws=draws, seed=seed)
    if not (bottoms > 0).all():
        return Estimate(mean, nan, nan, n, undefined, level)
    low, high = np.quantile(tops / bottoms, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(mean, float(low), float(high), n, undefined, level)
