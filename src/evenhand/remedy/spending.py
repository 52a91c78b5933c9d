"""Alpha spent over looks: when a sequential test may stop, and how it then decides.

A candidate is looked at after `first` shows and after each further one, up to `most`.
Of alpha, the chance that a candidate whose mean lies exactly on the boundary is called
settled, look k of m shows may have spent

    alpha(u) = alpha ln(1 + (e - 1) u),    u = m / most,

the Pocock-type spending function of Lan and DeMets (Biometrika 70, 1983). O'Brien-Fleming
spending would leave next to nothing for the first looks, where most of the cost is saved.
The limits follow by integrating over the looks (Armitage, McPherson and Rowe, 1969) for
known variance, and are applied as nominal levels to the p-values of t tests (Jennison and
Turnbull, Group Sequential Methods, 2000).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from evenhand.errors import UsageError, require_count
from evenhand.types import FloatArray

# Gauss-Legendre nodes between the limits of a look: at least so many, and so many for each
# standard deviation of one show, which is how fast the integrands bend.
_NODES = 64
_DENSITY = 6

# Beyond these the sums over nodes and looks would be slow and no decision would change.
MOST_SHOWS = 100
LEAST_ALPHA = 1e-12

# Where the chance of each outcome is tabulated: between, a straight line is off by 1e-5 at most.
DELTAS = np.linspace(-8.0, 8.0, 1601)


def spending(fraction: FloatArray | float, alpha: float) -> FloatArray:
    """Return the alpha spent once a share of the shows has been seen.

    Args:
        fraction: share of `most` shows, in [0, 1].
        alpha: what is spent at 1, in (0, 1).
    """
    return np.asarray(alpha * np.log1p((math.e - 1) * np.asarray(fraction, dtype=np.float64)))


@dataclass(frozen=True, slots=True, eq=False)
class Looks:
    """The limits of a sequential test, by number of shows.

    Attributes:
        first: shows at the first look. most: shows at the last one.
        levels: (most - first + 1,) nominal two-sided level of each look: a candidate is
            settled when its p-value is under it.
        curve: `below` at `DELTAS`.
    """

    first: int
    most: int
    levels: FloatArray
    curve: FloatArray

    def level(self, shows: FloatArray) -> FloatArray:
        """Return the nominal level after (n,) shows; 0 before the first look."""
        place = np.clip(shows, self.first, self.most).astype(np.int64) - self.first
        return np.where(shows < self.first, 0.0, self.levels[place])

    def below(self, delta: FloatArray) -> FloatArray:
        """Return the probability that the procedure ends below the boundary.

        Args:
            delta: distance of the mean from the boundary in standard deviations of one
                show, any shape. Without an end before `most`, the mean decides.

        Returns:
            Same shape, from 1 (far below) over .5 (at 0) to 0.
        """
        return np.asarray(np.interp(delta, DELTAS, self.curve))


@lru_cache(maxsize=64)
def looks(first: int, most: int, alpha: float) -> Looks:
    """Return the looks of a test after `first`, `first` + 1, ... `most` shows.

    Raises:
        UsageError: not 1 <= first <= most, or alpha is outside (0, 1).
    """
    require_count("first", first)
    if most < first:
        raise UsageError(f"most must be at least first ({first}), got {most}")
    if not 0 < alpha < 1:
        raise UsageError(f"alpha must lie between 0 and 1, got {alpha}")
    steps = np.diff(spending(np.arange(first, most + 1) / most, alpha), prepend=0.0)
    scale = math.sqrt(first)
    limit = float(-ndtri(steps[0] / 2)) * scale
    levels, kept, masses = [float(steps[0])], [], []
    nodes, weights = _between(limit)
    inside = np.exp(-((nodes / scale) ** 2) / 2) / (scale * math.sqrt(2 * math.pi)) * weights
    for place, step in enumerate(steps[1:], start=1):
        kept.append(nodes)
        masses.append(inside)
        limit = _limit(nodes, inside, float(step))
        levels.append(float(2 * ndtr(-limit / math.sqrt(first + place))))
        ahead, weights = _between(limit)
        steps_between = np.exp(-((ahead[:, None] - nodes) ** 2) / 2) / math.sqrt(2 * math.pi)
        nodes, inside = ahead, (steps_between @ inside) * weights
    curve = _below(first, np.array(levels), kept, masses)
    return Looks(first, most, np.array(levels), curve)


def _below(
    first: int, levels: FloatArray, nodes: list[FloatArray], masses: list[FloatArray]
) -> FloatArray:
    """Return the probability of ending below the boundary at each of `DELTAS`.

    Args:
        first: shows at the first look. levels: of each look; the last one has no limit.
        nodes, masses: for each look but the last, where between the limits the sum of
            standardised shows is evaluated, and the mass there when the mean is 0.
    """
    limits = np.sqrt(first + np.arange(len(levels))) * -ndtri(levels / 2)
    limits[-1] = 0.0
    total = ndtr((-limits[0] - first * DELTAS) / math.sqrt(first))
    for place, (here, mass) in enumerate(zip(nodes, masses, strict=True)):
        # The mass under mean 0, weighted by the likelihood ratio of delta.
        tilt = np.exp(DELTAS[:, None] * here - (first + place) * DELTAS[:, None] ** 2 / 2)
        ahead = ndtr(-limits[place + 1] - here - DELTAS[:, None])
        total = total + (mass * tilt * ahead).sum(axis=1)
    return np.asarray(total)


def _between(limit: float) -> tuple[FloatArray, FloatArray]:
    count = max(_NODES, math.ceil(_DENSITY * limit))
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return nodes * limit, weights * limit


def _limit(nodes: FloatArray, inside: FloatArray, step: float) -> float:
    """Return the limit that the sum of the next look crosses with probability `step`."""

    def leaving(limit: float) -> float:
        return float(inside @ (ndtr(-limit - nodes) + ndtr(nodes - limit))) - step

    return float(brentq(leaving, 0.0, float(nodes.max()) + 40.0, xtol=1e-12))
