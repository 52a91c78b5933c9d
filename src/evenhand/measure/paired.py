"""Two systems on the same slates: difference, interval, tests, effect sizes, power.

The mean is over slates within a collection, then over collections: every
collection counts the same. With training seeds a system's value on a slate is
the mean over its seeds. The difference is always b - a.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evenhand.errors import UsageError
from evenhand.measure.effect import (
    cohens_dz,
    detectable,
    group_count,
    paired_differences,
    rank_biserial,
    weighted_mean,
    weights_of,
)
from evenhand.measure.resample import (
    FEW_COLLECTIONS,
    bootstrap_differences,
    bootstrap_p,
    sign_flip_p,
)
from evenhand.types import FloatArray, IntArray

_NAN = float("nan")


@dataclass(frozen=True, slots=True)
class Paired:
    """What paired values say about the difference of two systems.

    Attributes:
        mean_a, mean_b: over the complete pairs. difference: mean_b - mean_a.
        low, high: percentile bootstrap interval of the difference. level: its coverage.
        p_bootstrap: two-sided, of the same draws. p_permutation: of sign flips;
            exact: whether all of them were looked at.
        p: the one to report. test: which of the two it is.
        dz: Cohen's dz, the difference over the sd of the paired differences.
        rank_biserial: matched pairs, -1 to 1.
        detectable: smallest true difference found with the asked power.
        n: complete pairs. missing: pairs left out because a value is missing.
        resampled: what the bootstrap drew.
        withheld: why interval and p-values are NaN; empty when they are not.
    """

    mean_a: float
    mean_b: float
    difference: float
    low: float
    high: float
    level: float
    p_bootstrap: float
    p_permutation: float
    exact: bool
    p: float
    test: str
    dz: float
    rank_biserial: float
    detectable: float
    n: int
    missing: int
    resampled: str
    withheld: str = ""


@dataclass(frozen=True, slots=True)
class PairedOptions:
    """How paired values are compared.

    Attributes:
        draws: of bootstrap and of sign flips. seed: of both.
        level: coverage of the interval; 1 - level is the alpha of `detectable`.
        power: of `detectable`.
        max_missing: largest share of pairs with a missing value under which
            interval and p-values are given, from the complete pairs.

    Raises:
        UsageError: a value is out of its range.
    """

    draws: int = 20_000
    seed: int = 0
    level: float = 0.95
    power: float = 0.8
    max_missing: float = 0.0

    def __post_init__(self) -> None:
        if self.draws < 1:
            raise UsageError(f"draws must be at least 1, got {self.draws}")
        for name in ("level", "power"):
            if not 0 < getattr(self, name) < 1:
                raise UsageError(f"{name} must lie between 0 and 1, got {getattr(self, name)}")
        if not 0 <= self.max_missing < 1:
            raise UsageError(f"max_missing is a share under 1, got {self.max_missing}")


def paired(
    a: ArrayLike,
    b: ArrayLike,
    collections: ArrayLike | None = None,
    options: PairedOptions = PairedOptions(),
) -> Paired:
    """Compare two systems on the same slates.

    Pairs in which any value is NaN are left out and counted. Interval and
    p-values are withheld (NaN) where their share is over `max_missing`, and where
    fewer than two pairs are complete.

    The p-value to report is the exact permutation test's where at most 16 slates
    differ and slates are all that is resampled; else the bootstrap's.

    Args:
        a: (slates,) or (training seeds, slates) values of the first system.
        b: the same of the second, slates in the same columns; seeds may differ
            in number and are resampled where a system has at least two.
        collections: (slates,) which collection each slate is of; None = one.
        options: draws, seed, level, power, missing share.

    Returns:
        The comparison; `difference` is NaN where no pair is complete.

    Raises:
        UsageError: the shapes do not match, or a value is infinite.
    """
    first, second = _lines(a), _lines(b)
    labels = np.zeros(first.shape[1], dtype=int) if collections is None else np.asarray(collections)
    if first.shape[1] != second.shape[1] or labels.shape != (first.shape[1],):
        raise UsageError(
            f"{first.shape[1]} slates of the first, {second.shape[1]} of the second and "
            f"{labels.shape} labels of collections; all three need the same slates"
        )
    complete = ~np.isnan(np.concatenate([first, second])).any(axis=0)
    first, second = first[:, complete], second[:, complete]
    if np.isinf(first).any() or np.isinf(second).any():
        raise UsageError("a value is infinite, so there is no mean difference; use NaN to leave it out")
    _, codes = np.unique(labels[complete], return_inverse=True)
    missing = len(complete) - first.shape[1]
    reason = _why_withheld(first.shape[1], missing, options.max_missing)
    return _compared(first, second, codes, missing, reason, options)


def _lines(values: ArrayLike) -> FloatArray:
    found = np.asarray(values, dtype=np.float64)
    if found.ndim == 1:
        found = found[None]
    if found.ndim != 2 or not len(found):
        raise UsageError(
            f"paired values are (slates,) or (training seeds, slates), got shape {found.shape}"
        )
    return found


def _why_withheld(n: int, missing: int, most: float) -> str:
    if missing and missing / (n + missing) > most:
        return (
            f"{missing} of {n + missing} pairs lack a value, more than the {most:.0%} allowed "
            "(max_missing)"
        )
    return f"{n} complete pairs; a test needs at least 2" if n < 2 else ""


def _compared(
    a: FloatArray, b: FloatArray, codes: IntArray, missing: int, reason: str, options: PairedOptions
) -> Paired:
    n = a.shape[1]
    differences = paired_differences(a, b)
    weights = weights_of(codes)
    low = high = p_bootstrap = p_permutation = _NAN
    exact = False
    if not reason:
        single = len(a) == len(b) == 1
        pair = (np.zeros((1, n)), differences[None]) if single else (a, b)
        drawn = bootstrap_differences(*pair, codes, draws=options.draws, seed=options.seed)
        tail = (1 - options.level) / 2
        low, high = map(float, np.quantile(drawn, [tail, 1 - tail]))
        p_bootstrap = bootstrap_p(drawn)
        units = _units(differences, codes)
        p_permutation, exact = sign_flip_p(units, draws=options.draws, seed=options.seed)
    over_slates_only = group_count(codes) < FEW_COLLECTIONS and len(a) == len(b) == 1
    by_flips = exact and over_slates_only
    return Paired(
        mean_a=weighted_mean(a.mean(axis=0), weights),
        mean_b=weighted_mean(b.mean(axis=0), weights),
        difference=weighted_mean(differences, weights),
        low=low,
        high=high,
        level=options.level,
        p_bootstrap=p_bootstrap,
        p_permutation=p_permutation,
        exact=exact,
        p=p_permutation if by_flips else p_bootstrap,
        test="" if reason else "permutation" if by_flips else "bootstrap",
        dz=cohens_dz(differences, codes),
        rank_biserial=rank_biserial(differences),
        detectable=_NAN if reason else detectable(a, b, codes, options.level, options.power),
        n=n,
        missing=missing,
        resampled="" if reason else _resampled(codes, len(a), len(b)),
        withheld=reason,
    )


def _units(differences: FloatArray, codes: IntArray) -> FloatArray:
    """Return what each unit that flips its sign adds: collections where they are resampled."""
    added = np.asarray(differences * weights_of(codes), dtype=np.float64)
    if group_count(codes) < FEW_COLLECTIONS:
        return added
    return np.bincount(codes, added).astype(np.float64)


def _resampled(codes: IntArray, seeds_a: int, seeds_b: int) -> str:
    count = group_count(codes)
    words = "slates" if count == 1 else f"slates within each of {count} collections"
    if count >= FEW_COLLECTIONS:
        words = f"{count} collections, then slates within each"
    seeds = " and ".join(str(s) for s in (seeds_a, seeds_b) if s > 1)
    return words + (f", and training seeds ({seeds})" if seeds else "")
