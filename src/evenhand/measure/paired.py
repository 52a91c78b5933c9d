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
from evenhand.measure.checks import came, finite, floats, inside, integer, listed, whole
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
        low, high: percentile bootstrap interval of the difference, of the complete
            pairs; NaN where too many are missing. level: its coverage.
        p_bootstrap: two-sided, of the same draws. p_permutation: of sign flips;
            exact: whether all of them were looked at.
        p: the one to report. test: which of the two it is.
        dz: Cohen's dz, the difference over the sd of the paired differences.
        rank_biserial: matched pairs, -1 to 1.
        detectable: smallest true difference found with the asked power; NaN where
            none is, see `undetectable`.
        n: complete pairs. missing: pairs left out because a value is missing.
        resampled: what the bootstrap drew; empty without an interval.
        withheld: why the p-values are NaN; empty when they are not.
        undetectable: why no difference, however large, could be found; else empty.
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
    undetectable: str = ""


@dataclass(frozen=True, slots=True)
class PairedOptions:
    """How paired values are compared.

    Attributes:
        draws: of bootstrap and of sign flips. seed: of both.
        level: coverage of the interval; 1 - level is the alpha of `detectable`.
        power: of `detectable`.
        max_missing: largest share of pairs with a missing value at which an interval
            of the complete pairs is given. A p-value is given where none is missing.

    Raises:
        UsageError: a value is out of its range.
    """

    draws: int = 20_000
    seed: int = 0
    level: float = 0.95
    power: float = 0.8
    max_missing: float = 0.0

    def __post_init__(self) -> None:
        whole("draws", self.draws)
        integer("seed", self.seed)
        for name in ("level", "power"):
            inside(name, getattr(self, name))
        if not 0 <= finite("max_missing", self.max_missing) < 1:
            raise UsageError(f"max_missing is a share under 1, got {self.max_missing}")


def require_options(options: object) -> None:
    """Refuse what is no PairedOptions.

    Raises:
        UsageError: shows what came.
    """
    if not isinstance(options, PairedOptions):
        raise UsageError(f"options must be PairedOptions, got {came(options)}")


def paired(
    a: ArrayLike,
    b: ArrayLike,
    collections: ArrayLike | None = None,
    options: PairedOptions = PairedOptions(),
) -> Paired:
    """Compare two systems on the same slates.

    Pairs in which any value is NaN are left out and counted; what is left is no fair
    draw of the slates, so a single one withholds the p-values (NaN), and the interval
    too where their share is over `max_missing`. Fewer than two complete pairs have neither.

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
    require_options(options)
    first, second = _lines(a), _lines(b)
    labels = np.zeros(first.shape[1], dtype=int) if collections is None else _labels(collections)
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
    return _compared(first, second, codes, missing, options)


def _lines(values: ArrayLike) -> FloatArray:
    found = floats("paired values", values, infinite=True)
    if found.ndim == 1:
        found = found[None]
    if found.ndim != 2 or not len(found):
        raise UsageError(
            f"paired values are (slates,) or (training seeds, slates), got shape {found.shape}"
        )
    return found


def _labels(collections: ArrayLike) -> np.ndarray:
    """Return the label of each slate's collection: texts, or whole numbers."""
    found = listed("collections", collections, "labels, one a slate")
    if not all(isinstance(one, str) for one in found):
        for one in found:
            integer("the label of a collection, where they are not all texts,", one)
    return np.array(found)


def _gives_interval(n: int, missing: int, most: float) -> bool:
    return n >= 2 and missing / (n + missing) <= most


def _why_withheld(n: int, missing: int, most: float) -> str:
    """Return why there is no p-value; empty where there is one."""
    if n < 2:
        return f"{n} complete pairs; a test needs at least 2"
    if not missing:
        return ""
    lack = f"{missing} of {n + missing} pairs lack a value"
    if _gives_interval(n, missing, most):
        return f"{lack}; means and interval are of the others"
    return f"{lack}, and no interval: more than the {most:.0%} allowed (max_missing)"


def _compared(
    a: FloatArray, b: FloatArray, codes: IntArray, missing: int, options: PairedOptions
) -> Paired:
    n, single = a.shape[1], len(a) == len(b) == 1
    differences, weights = paired_differences(a, b), weights_of(codes)
    reason = _why_withheld(n, missing, options.max_missing)
    interval = _gives_interval(n, missing, options.max_missing)
    low = high = p_bootstrap = p_permutation = _NAN
    exact = False
    if interval:
        pair = (np.zeros((1, n)), differences[None]) if single else (a, b)
        drawn = bootstrap_differences(*pair, codes, draws=options.draws, seed=options.seed)
        tail = (1 - options.level) / 2
        low, high = map(float, np.quantile(drawn, [tail, 1 - tail]))
        if not reason:
            p_bootstrap = bootstrap_p(drawn)
            units = _units(differences, codes)
            p_permutation, exact = sign_flip_p(units, draws=options.draws, seed=options.seed)
    by_flips = exact and single and group_count(codes) < FEW_COLLECTIONS
    beyond = _out_of_reach(n, options.level) if by_flips else ""
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
        detectable=_NAN if reason or beyond else detectable(a, b, codes, options.level, options.power),
        n=n,
        missing=missing,
        resampled=_resampled(codes, len(a), len(b)) if interval else "",
        withheld=reason,
        undetectable=beyond,
    )


def _out_of_reach(n: int, level: float) -> str:
    """Return why the exact test of n slates can never call a difference significant, if so."""
    alpha, least = round(1 - level, 12), 2.0 ** (1 - n)
    if least <= alpha:
        return ""
    return (
        f"the exact permutation test of {n} slates has no p under {least:.4g}, so no difference can be "
        f"found at {alpha:g}"
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
