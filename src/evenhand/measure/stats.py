"""From per-slate values to an estimate: mean, interval, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from evenhand.errors import UsageError
from evenhand.measure.checks import floats, listed, resampling
from evenhand.seeds import generator
from evenhand.types import Estimate, FloatArray

# Resampled slate numbers held in memory at once.
_BLOCK = 2_000_000
_NAN = float("nan")


def bootstrap_means(values: ArrayLike, *, draws: int = 10_000, seed: int = 0) -> FloatArray:
    """Return means of slates drawn with replacement.

    Args:
        values: (n,) one defined value per slate, n >= 1.
        draws: how many means.
        seed: of the generator; the same seed and n draw the same slates, so two
            measures of the same slates are resampled together.

    Returns:
        (draws,) float64, none outside the range of the values.

    Raises:
        UsageError: no value, one that is missing or no number, or draws < 1.
    """
    resampling(draws, seed, 0.5)
    sample = floats("values", values)
    if sample.ndim != 1 or not sample.size or np.isnan(sample).any():
        raise UsageError(
            f"a bootstrap draws from defined values, one per slate or more; got shape {sample.shape}"
            + (" with NaN among them" if np.isnan(sample).any() else "")
        )
    return _bootstrap([sample], draws=draws, seed=seed)[0]


def _bootstrap(samples: Sequence[FloatArray], *, draws: int, seed: int) -> list[FloatArray]:
    """Return the (draws,) means of each of several samples of one size; one draw serves all."""
    n = len(samples[0])
    rng = generator(seed, "", "bootstrap")
    step = max(1, _BLOCK // n)
    # Around the first value, so that equal values give exactly that mean.
    shifted = [sample - sample[0] for sample in samples]
    means: list[list[FloatArray]] = [[] for _ in samples]
    for start in range(0, draws, step):
        index = rng.integers(0, n, size=(min(step, draws - start), n))
        for found, values in zip(means, shifted, strict=True):
            found.append(values[index].mean(axis=1))
    return [
        _within(np.concatenate(found) + sample[0], sample)
        for found, sample in zip(means, samples, strict=True)
    ]


def _within(means: ArrayLike, sample: FloatArray) -> FloatArray:
    """Return means kept in the range of their sample: the last digit may fall outside."""
    return np.clip(np.asarray(means, dtype=np.float64), sample.min(), sample.max())


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
    return estimates([values], seed=seed, draws=draws, level=level)[0]


def estimates(
    columns: Sequence[ArrayLike], *, seed: int = 0, draws: int = 10_000, level: float = 0.95
) -> list[Estimate]:
    """Return the `estimate` of each of many measures; those of one size share their draws.

    Args:
        columns: per measure (slates,) values.
        seed: of the bootstrap.
        draws: bootstrap samples.
        level: coverage of the interval.

    Raises:
        UsageError: as `estimate`.
    """
    resampling(draws, seed, level)
    arrays = [floats("values", values) for values in listed("columns", columns, "values by slate")]
    for found in arrays:
        if found.ndim != 1:
            raise UsageError(f"an estimate needs one value per slate, got shape {found.shape}")
    defined = [found[~np.isnan(found)] for found in arrays]
    bounds: dict[int, tuple[float, float]] = {}
    tail = (1 - level) / 2
    for size in sorted({len(sample) for sample in defined if len(sample) > 1}):
        same = [place for place, sample in enumerate(defined) if len(sample) == size]
        resampled = _bootstrap([defined[place] for place in same], draws=draws, seed=seed)
        for place, means in zip(same, resampled, strict=True):
            low, high = np.quantile(means, [tail, 1 - tail])
            bounds[place] = (float(low), float(high))
    return [
        Estimate(
            _mean(sample),
            *bounds.get(place, (_NAN, _NAN)),
            len(sample),
            len(found) - len(sample),
            level,
        )
        for place, (found, sample) in enumerate(zip(arrays, defined, strict=True))
    ]


def _mean(sample: FloatArray) -> float:
    if not len(sample):
        return _NAN
    return float(_within((sample - sample[0]).mean() + sample[0], sample))
