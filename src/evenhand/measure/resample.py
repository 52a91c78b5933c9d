"""Resampling of paired values: bootstrap over collections, slates and seeds; sign flips.

Values are (seeds, slates): one line per training seed of a system, the same
slates in the same columns for both systems.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from evenhand.errors import UsageError
from evenhand.measure.checks import came, floats, resampling
from evenhand.seeds import generator
from evenhand.types import FloatArray, IntArray

# With fewer collections, drawing collections says little about others: slates only.
FEW_COLLECTIONS = 6
# All 2^16 sign flips are looked at; beyond, some are drawn.
EXACT_UNITS = 16

# Resampled numbers held in memory at once.
_BLOCK = 2_000_000
# Two sums of the same terms differ in the last digits.
_SAME = 1e-12


def bootstrap_differences(
    a: FloatArray, b: FloatArray, collections: IntArray, *, draws: int = 20_000, seed: int = 0
) -> FloatArray:
    """Return resampled mean differences b - a of paired values.

    Each draw takes collections with replacement (only where there are at least
    FEW_COLLECTIONS; else every collection once), then as many slates of each as
    it has, with replacement and the same for both systems, and, of a system with
    two seeds or more, seeds with replacement. Every collection counts the same.

    Args:
        a: (seeds of a, slates) without NaN, at least one slate.
        b: (seeds of b, slates).
        collections: (slates,) 0..K-1, each of them present.
        draws: how many differences.
        seed: of the generator.

    Returns:
        (draws,) float64.

    Raises:
        UsageError: the shapes do not match, or draws < 1.
    """
    resampling(draws, seed, 0.5)
    a, b = floats("values of a", a), floats("values of b", b)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1:] != b.shape[1:] or not a.size or not b.size:
        raise UsageError(f"(seeds, slates) of the same slates are needed, got {a.shape} and {b.shape}")
    if np.shape(collections) != a.shape[1:]:
        raise UsageError(f"collections of shape {np.shape(collections)} for {a.shape[1]} slates")
    rng = generator(seed, "", "paired bootstrap")
    single = len(a) == len(b) == 1
    values = b - a if single else np.concatenate([a, b])
    # Around one value of each line, so that equal differences give exactly that mean.
    shift = values[:, :1]
    groups = [(values - shift)[:, collections == k] for k in range(int(collections.max()) + 1)]
    means = _drawn_means(groups, draws, rng) + shift.T
    if single:
        return means[:, 0]
    return _over_seeds(means[:, len(a) :], rng) - _over_seeds(means[:, : len(a)], rng)


def _drawn_means(groups: list[FloatArray], draws: int, rng: np.random.Generator) -> FloatArray:
    """Return (draws, lines) means over collections of means over drawn slates."""
    count = len(groups)
    total = np.zeros((draws, len(groups[0])))
    for place in range(count):
        taken = np.full(draws, place)
        if count >= FEW_COLLECTIONS:
            taken = rng.integers(0, count, size=draws)
        for k, group in enumerate(groups):
            rows = np.flatnonzero(taken == k)
            total[rows] += _slate_means(group, len(rows), rng)
    return total / count


def _slate_means(values: FloatArray, draws: int, rng: np.random.Generator) -> FloatArray:
    """Return (draws, lines) means over slates drawn with replacement from (lines, slates)."""
    n = values.shape[1]
    step = max(1, _BLOCK // values.size)
    means = np.empty((draws, len(values)))
    for start in range(0, draws, step):
        picks = rng.integers(0, n, size=(min(step, draws - start), n))
        for line, found in enumerate(values):
            means[start : start + step, line] = found[picks].mean(axis=1)
    return means


def _over_seeds(means: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return (draws,) means over seeds, drawn with replacement where there are two or more."""
    draws, seeds = means.shape
    if seeds == 1:
        return means[:, 0]
    picks = rng.integers(0, seeds, size=(draws, seeds))
    return np.asarray(np.take_along_axis(means, picks, axis=1).mean(axis=1), dtype=np.float64)


def _line(name: str, values: ArrayLike) -> FloatArray:
    """Return (k,) numbers, none missing."""
    found = floats(name, values)
    if found.ndim != 1 or np.isnan(found).any():
        raise UsageError(f"{name} must be one line of numbers without NaN, got {came(values)}")
    return found


def bootstrap_p(differences: ArrayLike) -> float:
    """Return the two-sided p-value of resampled differences.

    p = min(1, 2 (1 + min(#{d <= 0}, #{d >= 0})) / (draws + 1)): twice the share of
    draws on the rarer side of 0. It agrees with the percentile interval and is
    never 0.

    Args:
        differences: (draws,) resampled mean differences.

    Returns:
        2 / (draws + 1) to 1.

    Raises:
        UsageError: they are no numbers.
    """
    found = _line("differences", differences)
    rarer = min(int((found <= 0).sum()), int((found >= 0).sum()))
    return min(1.0, 2 * (1 + rarer) / (len(found) + 1))


def sign_flip_p(units: ArrayLike, *, draws: int = 20_000, seed: int = 0) -> tuple[float, bool]:
    """Return the two-sided p-value of the sign-flip permutation test, and whether it is exact.

    If the two systems were alike, each unit (the difference of a slate, or of a
    whole collection) could as well have the other sign. The p-value is the share
    of sign flips whose sum is at least as far from 0 as the one seen: of all 2^m
    flips where at most EXACT_UNITS units are not 0, else (1 + count) / (draws + 1)
    of drawn flips.

    Args:
        units: (m,) what each unit adds to the mean difference, without NaN.
        draws: flips drawn where not all are looked at.
        seed: of the generator.

    Returns:
        (p, exact); p is over 0 and at most 1.

    Raises:
        UsageError: the units are no numbers, or draws < 1.
    """
    resampling(draws, seed, 0.5)
    found = _line("units", units)
    found = found[found != 0]
    m = len(found)
    least = abs(found.sum()) - _SAME * np.abs(found).sum()
    if m <= EXACT_UNITS:
        bits = np.arange(2**m)[:, None] >> np.arange(m)
        return float((np.abs((1 - 2 * (bits & 1)) @ found) >= least).mean()), True
    rng = generator(seed, "", "sign flips")
    step, count = max(1, _BLOCK // m), 0
    for start in range(0, draws, step):
        signs = 1.0 - 2.0 * rng.integers(0, 2, size=(min(step, draws - start), m), dtype=np.int8)
        count += int((np.abs(signs @ found) >= least).sum())
    return (1 + count) / (draws + 1), False
