"""Effect sizes of paired differences, and what a study of its size could find.

`codes` are (slates,) collections 0..K-1; every collection counts the same.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from evenhand.measure.resample import FEW_COLLECTIONS
from evenhand.types import FloatArray, IntArray

_NAN = float("nan")
# A difference this small beside the values is the last digit of a float, not a difference.
_SAME = 1e-12


def paired_differences(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return (slates,) differences of the means over seeds; float noise is exactly 0."""
    first, second = a.mean(axis=0), b.mean(axis=0)
    scale = np.maximum(np.abs(first), np.abs(second))
    return np.where(np.abs(second - first) <= _SAME * scale, 0.0, second - first)


def group_count(codes: IntArray) -> int:
    """Return the number of collections."""
    return int(codes.max()) + 1 if codes.size else 0


def weights_of(codes: IntArray) -> FloatArray:
    """Return (slates,) weights of the mean; each collection sums to one over their number."""
    sizes = np.bincount(codes)
    return np.asarray(1 / (len(sizes) * sizes[codes]), dtype=np.float64)


def weighted_mean(values: FloatArray, weights: FloatArray) -> float:
    """Return the sum of values times weights that sum to one; NaN without values."""
    # Around the first value, so that equal values give exactly that mean.
    return float((values - values[0]) @ weights + values[0]) if values.size else _NAN


def cohens_dz(differences: FloatArray, codes: IntArray) -> float:
    """Return the mean difference over the standard deviation of the differences.

    The sd has n - 1 and is about the mean; with several collections both count
    each collection the same.

    Args:
        differences: (slates,).
        codes: (slates,) collection 0..K-1 of each.

    Returns:
        Any number; 0 where all differences are 0; NaN for fewer than 2 slates or
        where all differences are equal but not 0.
    """
    n = len(differences)
    if n < 2:
        return _NAN
    if not differences.any():
        return 0.0
    weights = weights_of(codes)
    mean = weighted_mean(differences, weights)
    spread = math.sqrt(float(((differences - mean) ** 2) @ weights) * n / (n - 1))
    return mean / spread if spread > _SAME * abs(mean) else _NAN


def rank_biserial(differences: FloatArray) -> float:
    """Return the matched-pairs rank-biserial correlation.

    Differences that are not 0 are ranked by size (equal sizes share the mean
    rank): (rank sum of the positive - rank sum of the negative) / all ranks.

    Args:
        differences: (slates,).

    Returns:
        1 (b is higher wherever they differ) to -1; 0 where they differ nowhere;
        NaN without slates.
    """
    if not differences.size:
        return _NAN
    moved = differences[differences != 0]
    if not moved.size:
        return 0.0
    sizes = np.abs(moved)
    # Equal up to the last digits is equal: ranks must not hang on them.
    ranks = stats.rankdata(np.round(sizes / sizes.max(), 12))
    return float((np.sign(moved) * ranks).sum() / ranks.sum())


def detectable(
    a: FloatArray, b: FloatArray, codes: IntArray, level: float = 0.95, power: float = 0.8
) -> float:
    """Return the smallest true difference that a study of this size finds with the given power.

    (z(1 - alpha/2) + z(power)) * se, by normal approximation. Of one collection se
    is sd / sqrt(n), sd of the paired differences. Of K collections it is
    sqrt(sum sd_k^2 / n_k) / K where slates are resampled, and the sd of the K mean
    differences / sqrt(K) where collections are. Seeds of a system with S >= 2 add
    the variance of its seed means / S to se^2.

    Args:
        a: (seeds, slates) without NaN. b: the same of the other system.
        codes: (slates,) collection 0..K-1 of each.
        level: 1 - alpha. power: chance of finding it.

    Returns:
        0 upwards; NaN where a spread needs more slates than there are. It knows no
        test: what an exact test of few slates can never find, `paired` leaves out.
    """
    if a.shape[1] < 2:
        return _NAN
    differences = paired_differences(a, b)
    groups = [differences[codes == k] for k in range(group_count(codes))]
    if len(groups) >= FEW_COLLECTIONS:
        variance = float(np.var([group.mean() for group in groups], ddof=1)) / len(groups)
    elif min(map(len, groups)) < 2:
        return _NAN
    else:
        each = [float(np.var(group, ddof=1)) / len(group) for group in groups]
        variance = sum(each) / len(groups) ** 2
    for lines in (a, b):
        if len(lines) > 1:
            variance += float(np.var(lines @ weights_of(codes), ddof=1)) / len(lines)
    z = stats.norm.ppf(1 - (1 - level) / 2) + stats.norm.ppf(power)
    return float(z) * math.sqrt(variance)
