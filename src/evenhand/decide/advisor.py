"""The threshold advisor: the best F1 among thresholds whose sets are steady enough.

Every cut between two scores of the canonical rows is a candidate threshold (at
most `points` of them, evenly spaced in rank). For each it gives the mean set-F1
of the canonical rows, the overlap of the retained sets over random rows, the
retained share, and the density: the share of all scores of the random rows that
lie within one bandwidth of the cut, and so may cross it when the presentation
changes. The bandwidth is the mean standard deviation of a candidate's score over
rows; where nothing moves, one hundredth of the range of the scores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.decide.advice import Advice, Region, TradeOff
from evenhand.decide.threshold import fold_of
from evenhand.errors import NothingMeasuredError, UsageError
from evenhand.measure.checks import finite, floats, inside, integer, listed, of_kind, whole
from evenhand.measure.spread import order_sd
from evenhand.measure.sweep import overlap_at, set_f1_at
from evenhand.types import BoolArray, FloatArray, IntArray

_SAME = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class SlateScores:
    """What the advisor reads of one slate.

    Attributes:
        slate_id: its id.
        canonical: (n,) scores of the canonical row.
        random: (M, n) scores of the random rows; NaN = missing.
        relevance: (n,) booleans, or None without grades.
        exhaustive: the random rows are all that there are.
    """

    slate_id: str
    canonical: FloatArray
    random: FloatArray
    relevance: BoolArray | None = None
    exhaustive: bool = False

    def __post_init__(self) -> None:
        n = floats("canonical scores", self.canonical).shape
        rows = floats("scores of random rows", self.random)
        known = n if self.relevance is None else floats("relevance", self.relevance).shape
        if len(n) != 1 or rows.shape[1:] != n or known != n:
            raise UsageError(
                f"slate {self.slate_id!r}: canonical scores of shape {n}, random rows of shape "
                f"{rows.shape}, relevance of shape {known}; one number per candidate in each row"
            )


def advise(
    slates: Sequence[SlateScores],
    *,
    floor: float = 0.8,
    most: float = 0.95,
    points: int = 200,
    regions: int = 5,
    revision: str = "",
    seed: int = 0,
) -> Advice:
    """Return the threshold to use, or why there is none, with the curve it comes from.

    Among thresholds that keep something, but no more than `most` of the scores in
    canonical and in random rows, and whose mean overlap without both-empty pairs
    is at least `floor`, it takes the best mean set-F1 over the slates with grades and
    a canonical row that did not fail; of equal F1 the sparsest, then the higher. Without
    grades it takes the sparsest. F1 of the pick on the slates it was picked on is
    optimistic: `held_out_f1` picks on one fold of slates and reads the other, and back.

    Args:
        slates: scores of a run.
        floor: least overlap without both-empty pairs, 0 to 1.
        most: largest share that may be retained, below 1.
        points: most thresholds tried.
        regions: most sparse regions named.
        revision: of the scorer; travels with the threshold.
        seed: of the folds.

    Raises:
        UsageError: floor outside [0, 1], most outside (0, 1), points < 1, regions < 0,
            no SlateScores; or slates have grades, and no candidate is relevant, so that
            every threshold has F1 0.
        NothingMeasuredError: no score is there.
    """
    slates = _checked(slates)
    if not 0 <= finite("floor", floor) <= 1:
        raise UsageError(f"floor must lie in 0 to 1, got {floor}")
    inside("most", most)
    points, regions, seed = whole("points", points), whole("regions", regions, 0), integer("seed", seed)
    thresholds = cuts([one.canonical for one in slates], points)
    bandwidth = _bandwidth(slates)
    f1 = np.stack([_f1(one, thresholds) for one in slates])
    agreement = np.stack(
        [overlap_at(one.random, thresholds, exhaustive=one.exhaustive) for one in slates]
    )
    curve = TradeOff(
        thresholds,
        _mean(f1),
        _mean(agreement[:, 0]),
        _mean(agreement[:, 1]),
        _mean(agreement[:, 2]),
        density(np.concatenate([one.random.ravel() for one in slates]), thresholds, bandwidth),
    )
    allowed = _useful(slates, curve, most)
    best = _best(curve.f1, curve, allowed & (curve.overlap_without_empty >= floor))

    def pick(part: BoolArray) -> int | None:
        """Return what would be picked from a part of the slates."""
        steady = _mean(agreement[part, 1]) >= floor
        return _best(_mean(f1[part]), curve, allowed & steady)

    return Advice(
        threshold=None if best is None else float(thresholds[best]),
        reason=_reason(curve, allowed, best, floor, most),
        floor=floor,
        curve=curve,
        held_out_f1=_held_out(f1, fold_of([one.slate_id for one in slates], seed), pick),
        regions=_regions(curve, allowed, regions),
        bandwidth=bandwidth,
        revision=revision,
        keep_all_f1=_keep_all(slates),
        slates=len(slates),
        lost=sum(map(_lost, slates)),
    )


def _checked(slates: Sequence[SlateScores]) -> list[SlateScores]:
    found = listed("slates", slates, "SlateScores")
    of_kind("slates", found, SlateScores)
    if not found:
        raise NothingMeasuredError("the advisor needs scores, and there is no slate")
    graded = [one.relevance for one in found if one.relevance is not None]
    if graded and not any(np.any(one) for one in graded):
        raise UsageError(
            f"no candidate of the {len(graded)} slates with grades is relevant, so every threshold has "
            "F1 0 and none can be advised; count lower grades as relevant (min_grade)"
        )
    return found


def cuts(rows: Sequence[FloatArray], points: int) -> FloatArray:
    """Return the midpoints of adjacent distinct scores, at most `points`, rising.

    Neither keep-all nor keep-none is among them: both sides hold a score. With
    fewer than two distinct scores there is no such cut, and none is returned.

    Raises:
        UsageError: points < 1.
        NothingMeasuredError: no score is there.
    """
    points = whole("points", points)
    pooled: FloatArray = np.concatenate([np.empty(0), *(np.ravel(row) for row in rows)])
    pooled = np.sort(pooled[~np.isnan(pooled)])
    if not pooled.size:
        raise NothingMeasuredError("the advisor needs scores, and no score is there")
    edges = np.flatnonzero(pooled[1:] > pooled[:-1])
    if len(edges) > points:
        edges = edges[np.unique(np.linspace(0, len(edges) - 1, points).round().astype(int))]
    low, high = pooled[edges], pooled[edges + 1]
    middle = low + (high - low) / 2
    # Neighbouring floats have no number between them.
    found: FloatArray = np.where(middle > low, middle, high)
    return found


def density(scores: FloatArray, thresholds: FloatArray, bandwidth: float) -> FloatArray:
    """Return the share of scores within one bandwidth of each threshold.

    Args:
        scores: (k,), NaN left out.
        thresholds: (T,). bandwidth: half the width of the kernel, which is flat.

    Returns:
        (T,), 0 to 1; NaN when there is no score.
    """
    known = np.sort(scores[~np.isnan(scores)])
    if not known.size:
        return np.full(len(thresholds), np.nan)
    above = np.searchsorted(known, thresholds + bandwidth, side="right")
    below = np.searchsorted(known, thresholds - bandwidth, side="left")
    return np.asarray((above - below) / len(known), dtype=np.float64)


def _bandwidth(slates: Sequence[SlateScores]) -> float:
    moved = _mean(np.array([[order_sd(one.random, exhaustive=one.exhaustive)] for one in slates]))[0]
    if moved > 0:
        return float(moved)
    pooled = np.concatenate([one.canonical for one in slates])
    return float(np.nanmax(pooled) - np.nanmin(pooled)) / 100


def _lost(one: SlateScores) -> bool:
    """Return whether the canonical row failed; a slate without candidates has none to fail."""
    return bool(one.canonical.size and np.isnan(one.canonical).all())


def _mean(values: FloatArray) -> FloatArray:
    """Return the mean over slates of each column where it is defined, NaN where nowhere."""
    known = ~np.isnan(values)
    sums, counts = np.where(known, values, 0.0).sum(axis=0), known.sum(axis=0)
    means = np.full(sums.shape, np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means


def _f1(one: SlateScores, thresholds: FloatArray) -> FloatArray:
    # A row that failed is not one that retains nothing.
    if one.relevance is None or _lost(one):
        return np.full(len(thresholds), np.nan)
    return set_f1_at(one.canonical, one.relevance, thresholds)


def _keep_all(slates: Sequence[SlateScores]) -> float:
    """Return the mean F1 of keeping every scored candidate; NaN without grades."""
    return float(_mean(np.stack([_f1(one, np.array([-np.inf])) for one in slates]))[0])


def _useful(slates: Sequence[SlateScores], curve: TradeOff, most: float) -> BoolArray:
    """Return where canonical and random rows keep something, and not (nearly) everything."""
    pooled = np.concatenate([one.canonical for one in slates])
    pooled = np.sort(pooled[~np.isnan(pooled)])
    canonical = 1 - np.searchsorted(pooled, curve.threshold) / len(pooled)
    found: BoolArray = np.ones(len(curve.threshold), dtype=bool)
    for share in (canonical, curve.retained):
        found &= (share > 0) & (share <= most)
    return found


def _best(f1: FloatArray, curve: TradeOff, allowed: BoolArray) -> int | None:
    if not allowed.any():
        return None
    if np.isnan(f1).all():
        tried = np.flatnonzero(allowed)
    else:
        top = np.max(f1[allowed])
        tried = np.flatnonzero(allowed & (f1 >= top - _SAME))
    sparsest = curve.density[tried].min()
    return int(tried[np.flatnonzero(curve.density[tried] <= sparsest + _SAME)[-1]])


def _held_out(f1: FloatArray, folds: IntArray, pick: Callable[[BoolArray], int | None]) -> float:
    """Return the mean F1 of slates at thresholds picked without their own fold."""
    values: list[float] = []
    for fold in (0, 1):
        own: BoolArray = folds == fold
        best = pick(~own) if own.any() and not own.all() else None
        if best is None:
            return float("nan")
        values.extend(f1[own, best])
    found = np.array(values)
    return float(np.nanmean(found)) if not np.isnan(found).all() else float("nan")


def _regions(curve: TradeOff, allowed: BoolArray, most: int) -> tuple[Region, ...]:
    """Return the allowed local minima of the density, the sparsest first, one per valley."""
    values = curve.density
    if not allowed.any():
        return ()
    change = np.flatnonzero(np.diff(values) != 0) + 1
    valleys = []
    for flat in np.split(np.arange(len(values)), change):
        first, last = int(flat[0]), int(flat[-1])
        # The ends of the curve lie on the slopes of the distribution, and are no valleys.
        if first == 0 or last + 1 == len(values) or not allowed[flat].all():
            continue
        if values[first] < min(values[first - 1], values[last + 1]):
            low, high = curve.threshold[first], curve.threshold[last]
            valleys.append(Region(float(low), float(high), float(values[first])))
    return tuple(sorted(valleys, key=lambda one: (one.density, one.low))[:most])


def _reason(curve: TradeOff, allowed: BoolArray, best: int | None, floor: float, most: float) -> str:
    if not len(curve.threshold):
        return "all scores are equal: a cut keeps all or nothing, and neither is advised"
    if not allowed.any():
        return f"every cut keeps nothing or more than {most:.0%} in some rows; neither is advised"
    if best is None:
        steadiest = curve.overlap_without_empty[allowed]
        if np.isnan(steadiest).all():
            return "no slate has two random rows, so no overlap is known"
        return (
            f"no cut reaches an overlap of {floor:.3f} without empty pairs; the steadiest has "
            f"{np.nanmax(steadiest):.3f}. Lower the floor, or make the scorer steadier"
        )
    if np.isnan(curve.f1).all():
        return "no grades beside a canonical row, so no F1: the sparsest cut that is steady enough"
    return "the best mean F1 among cuts that are steady enough"
