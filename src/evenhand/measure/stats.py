"""From per-slate values to an estimate: mean, interval, and what is missing."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from evenhand.errors import UsageError
from evenhand.seeds import generator
from evenhand.types import Estimate, FloatArray

# Resampled slate numbers held in memory at once.
_BLOCK = 2_000_000


def bootstrap_means(values: ArrayLike, *, draws: int = 10_000, seed: int = 0) -> FloatArray:
    """Return means of slates drawn with replacement.

    Args:
        values: (n,) one defined value per slate, n >= 1.
        draws: how many means.
        seed: of the generator; the same seed and n draw the same slates, so two
            measures of the same slates are resampled together.

    Returns:
        (draws,) float64.
    """
    sample = np.asarray(values, dtype=np.float64)
    n = len(sample)
    rng = generator(seed, "", "bootstrap")
    step = max(1, _BLOCK // n)
    # Around the first value, so that equal values give exactly that mean.
    shifted = sample - sample[0]
    sizes = [min(step, draws - start) for start in range(0, draws, step)]
    means: list[FloatArray] = [
        shifted[rng.integers(0, n, size=(size, n))].mean(axis=1) for size in sizes
    ]
    return np.asarray(np.concatenate(means) + sample[0], dtype=np.float64)


def estimate(values: ArrayLike, *, seed: int = 0, draws: int = 10_000, level: float = 0.95) -> Estimate:
    """Return the mean over slates and its percentile bootstrap interval.

    Args:
        values: (slates,) one value per slate; NaN = undefined, left out and counted.
        seed: of the bootstrap.
        draws: bootstrap samples.
        level: coverage of the interval, 0 < level < 1.

    Returns:
        The estimate; its mean is NaN when no value is defined, its bounds are
        NaN when fewer than 2 are.

    Raises:
        UsageError: values not one-dimensional, draws < 1 or level outside (0, 1).
    """
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1:
        raise UsageError(f"an estimate needs one value per slate, got shape {found.shape}")
    if draws < 1 or not 0 < level < 1:
        raise UsageError(f"needs draws >= 1 and 0 < level < 1, got draws={draws}, level={level}")
    defined = found[~np.isnan(found)]
    undefined = len(found) - len(defined)
    if len(defined) < 1:
        return Estimate(float("nan"), float("nan"), float("nan"), 0, undefined, level)
    mean = float((defined - defined[0]).mean() + defined[0])
    if len(defined) < 2:
        return Estimate(mean, float("nan"), float("nan"), 1, undefined, level)
    tail = (1 - level) / 2
    low, high = np.quantile(bootstrap_means(defined, draws=draws, seed=seed), [tail, 1 - tail])
    return Estimate(mean, float(low), float(high), len(defined), undefined, level)
