"""How sure a decision is: shrunk standard deviations and the two flip probabilities.

Standard deviations over candidates (Smyth, Statistical Applications in Genetics and
Molecular Biology 3, 2004): candidate i has a variance sigma_i^2 over orders, and d0 s0^2 /
sigma_i^2 is chi-square with d0 degrees of freedom over the candidates of the slate. With the
sample variance s_i^2 of d_i degrees of freedom,

    shrunk_i^2 = (d0 s0^2 + d_i s_i^2) / (d0 + d_i),

on d0 + d_i degrees of freedom, never more than the slate has in all. d0 and s0^2 are fitted
by the first two moments of s_i^2: coarse scores give variances of exactly 0, of which no
logarithm can be taken. They are bounded by d0 > 4, so such a candidate is never thought to
be without noise because two of its scores were equal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from evenhand.remedy.rules import Rule
from evenhand.remedy.spending import Looks
from evenhand.types import BoolArray, FloatArray, IntArray

# Equally likely values of a mean over which the chance of another outcome is averaged.
_QUANTILES = (np.arange(64) + 0.5) / 64

# Draws of the slate for flips of the top k: a probability of .5 is then off by .01.
DRAWS = 2000


@dataclass(frozen=True, slots=True, eq=False)
class Doubt:
    """What adaptive knows of each candidate; all (n,) in canonical order.

    Attributes:
        mean: score given; NaN = missing or not shown.
        standard_error: of the mean, from shrunk standard deviations.
        flip_again: probability that an independent run of the same procedure on the
            same slate decides otherwise about the candidate.
        flip_single: probability that one more single order does.
        shows: prompts whose score of the candidate counts.
        chosen: the decision. settled: it left before `most` shows, or at them.
    """

    mean: FloatArray
    standard_error: FloatArray
    flip_again: FloatArray
    flip_single: FloatArray
    shows: IntArray
    chosen: BoolArray
    settled: BoolArray


@dataclass(frozen=True, slots=True)
class Prior:
    """s0^2 and d0 of the module's formula; df = inf: one variance for all candidates."""

    variance: float
    df: float


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Means over the shows of (n,) candidates: sd of one show, error of the mean, df."""

    mean: FloatArray
    sd: FloatArray
    error: FloatArray
    df: FloatArray
    shows: FloatArray


@dataclass(frozen=True, slots=True)
class Spread:
    """Where the true means of a slate lie: normal, `within` the noise variance at K0."""

    centre: float
    variance: float
    within: float
    n: int


def fit_prior(variances: FloatArray, df: int, least: float = 0.0) -> Prior:
    """Return the prior of the variances of a slate, by the moments of the sampled ones.

    With m and q the means of s^2 and s^4, and R = q / m^2 / (1 + 2 / df): R = (d0 - 2) /
    (d0 - 4), so d0 = (4 R - 2) / (R - 1), and s0^2 = m (d0 - 2) / d0. When R <= 1 the
    sample variances differ no more than by chance, and d0 is infinite.

    Args:
        variances: (n,) sample variances, NaN = missing. df: of each.
        least: s0^2 is at least this.
    """
    known = variances[~np.isnan(variances)]
    mean = float(known.mean()) if known.size else 0.0
    if mean <= least:
        return Prior(least, math.inf)
    ratio = float((known**2).mean()) / mean**2 / (1 + 2 / df)
    if ratio <= 1 + 1e-9:
        return Prior(mean, math.inf)
    free = (4 * ratio - 2) / (ratio - 1)
    return Prior(max(least, mean * (free - 2) / free), free)


def least_variance(rows: FloatArray) -> float:
    """Return the variance that unmoved scores leave possible.

    As if one score more had been seen and had moved by the smallest step between any two
    scores of the slate: about 0 for fine scores, not for coarse ones on a small slate.

    Args:
        rows: (K, n) scores; NaN = missing.

    Returns:
        step^2 / 2 / (n (K - 1) + 1); 0 when all scores are equal.
    """
    values = np.unique(rows[~np.isnan(rows)])
    if len(values) < 2:
        return 0.0
    step = float(np.diff(values).min())
    return float(step**2 / 2 / (rows.shape[1] * (len(rows) - 1) + 1))


def weigh(values: FloatArray, prior: Prior, total: float) -> Evidence:
    """Return means with shrunk standard deviations.

    Args:
        values: (looks, n) scores; NaN where a candidate was not shown or does not count.
        prior: of the variances.
        total: degrees of freedom of the slate, the most that any candidate has.

    Returns:
        NaN mean and 0 shows where a candidate has no score.
    """
    seen = ~np.isnan(values)
    shows = seen.sum(axis=0).astype(np.float64)
    count = np.maximum(shows, 1)
    mean = np.where(shows > 0, np.where(seen, values, 0.0).sum(axis=0) / count, np.nan)
    squares = (np.where(seen, values - mean, 0.0) ** 2).sum(axis=0)
    free = np.maximum(shows - 1, 0)
    if math.isinf(prior.df):
        variance = np.full(len(mean), prior.variance)
    else:
        variance = (prior.df * prior.variance + squares) / (prior.df + free)
    df = np.maximum(1.0, np.minimum(prior.df + free, max(total, 1.0)))
    sd = np.sqrt(variance)
    return Evidence(mean, sd, sd / np.sqrt(count), df, shows)


def fit_spread(evidence: Evidence) -> Spread:
    """Return where the means of a slate lie, from its evidence after the first orders.

    The variance of the observed means less what noise gives them by chance: its share and
    one standard error of it, within (1 + sqrt(2 / (n - 1))); at least 0. Where means differ
    no more than that, they are taken to be one. Under 4 candidates nothing is assumed:
    infinite.
    """
    known = evidence.mean[~np.isnan(evidence.mean)]
    if len(known) < 4:
        return Spread(0.0, math.inf, 0.0, len(known))
    within = float(np.nanmean(evidence.error[~np.isnan(evidence.mean)] ** 2))
    by_chance = within * (1 + math.sqrt(2 / (len(known) - 1)))
    between = max(0.0, float(known.var(ddof=1)) - by_chance)
    return Spread(float(known.mean()), between, within, len(known))


def believed(evidence: Evidence, spread: Spread) -> tuple[FloatArray, FloatArray]:
    """Return (n,) means and variances of what is believed of the true means.

    A high mean after few noisy shows is in part luck: it is pulled to the centre of the
    slate by w = spread / (spread + error^2). The score itself is not pulled.
    """
    if math.isinf(spread.variance):
        return evidence.mean, evidence.error**2
    whole = spread.variance + evidence.error**2
    weight = np.where(whole > 0, spread.variance / np.where(whole > 0, whole, 1.0), 1.0)
    mean = weight * evidence.mean + (1 - weight) * spread.centre
    centre = (spread.variance + spread.within) / max(1, spread.n)
    return mean, weight * evidence.error**2 + (1 - weight) ** 2 * centre


def threshold_flips(
    threshold: float,
    evidence: Evidence,
    spread: Spread,
    looks: Looks,
    *,
    single_threshold: float,
    extra: float,
) -> tuple[FloatArray, FloatArray]:
    """Return (flip_again, flip_single) of a threshold, in closed form.

    Args:
        threshold: of the decision.
        evidence, spread: what is known of the slate.
        looks: of the procedure, whose chance of each outcome is averaged over the
            believed means.
        single_threshold: what single scores are compared with, see `between_levels`.
        extra: variance of single scores beside that of the evidence.

    Returns:
        Two (n,) arrays in [0, 1]; NaN where the mean is missing.
    """
    mean, variance = believed(evidence, spread)
    chosen = evidence.mean >= threshold
    scale = np.sqrt(evidence.sd**2 + variance + extra)
    fixed = scale == 0
    distance = (single_threshold - mean) / np.where(fixed, 1.0, scale)
    under = np.where(fixed, distance > 0, stdtr(evidence.df, distance))
    nodes = stdtrit(evidence.df, _QUANTILES[:, None])
    still = evidence.sd == 0
    delta = (mean + np.sqrt(variance) * nodes - threshold) / np.where(still, 1.0, evidence.sd)
    again = looks.below(delta).mean(axis=0)
    again = np.where(still, evidence.mean < threshold, again)
    missing = np.isnan(evidence.mean)
    flips = [np.where(missing, np.nan, np.where(chosen, p, 1 - p)) for p in (again, under)]
    return flips[0], flips[1]


def between_levels(values: FloatArray, threshold: float) -> float:
    """Return the threshold to hold against a smooth curve in place of coarse scores.

    When fewer than half of the scores are distinct they lie on levels; halfway between
    the neighbouring levels a smooth curve has the share of scores that are chosen.
    """
    known = values[~np.isnan(values)]
    levels = np.unique(known)
    under, over = levels[levels < threshold], levels[levels >= threshold]
    if len(levels) * 2 >= len(known) or not len(under) or not len(over):
        return threshold
    return float(under[-1] + over[0]) / 2


def drawn_flips(
    rule: Rule,
    evidence: Evidence,
    spread: Spread,
    ties: IntArray,
    rng: np.random.Generator,
    *,
    extra: float,
) -> tuple[FloatArray, FloatArray]:
    """Return (flip_again, flip_single) of any rule, from draws of the slate.

    True means are drawn as believed; then, for an independent run, means over as many
    shows as each candidate had here, and single scores.

    Args, range: see `threshold_flips`.
    """
    mean, variance = believed(evidence, spread)
    chosen = rule.chosen(evidence.mean, ties)
    n = len(mean)
    true = mean + np.sqrt(variance) * rng.standard_t(evidence.df, (DRAWS, n))
    again = true + evidence.error * rng.standard_normal((DRAWS, n))
    single = true + np.sqrt(evidence.sd**2 + extra) * rng.standard_normal((DRAWS, n))
    missing = np.isnan(evidence.mean)
    flips = [
        np.where(missing, np.nan, (rule.chosen(drawn, ties) != chosen).mean(axis=0))
        for drawn in (again, single)
    ]
    return flips[0], flips[1]
