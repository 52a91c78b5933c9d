"""Retention-matched thresholds: two runs compared at the same share of retained candidates.

A looser threshold keeps more and overlaps more, whatever the scorer. Matching the
share that a reference run keeps takes that explanation away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evenhand.decide.threshold import retained
from evenhand.errors import NothingMeasuredError, UsageError
from evenhand.types import FloatArray


@dataclass(frozen=True, slots=True)
class Matched:
    """A threshold that keeps about as much as a reference.

    Attributes:
        threshold: keep scores at or above it.
        wanted: share that the reference keeps. share: share kept here.
        exact: the two shares are equal; ties can make that impossible.
    """

    threshold: float
    wanted: float
    share: float
    exact: bool


def share_retained(scores: Sequence[ArrayLike], threshold: float | ArrayLike) -> float:
    """Return the share of all scored candidates that a threshold keeps.

    Args:
        scores: one (n,) array per slate; NaN = missing, left out.
        threshold: one for all slates, or (slates,) one for each.

    Raises:
        UsageError: another number of thresholds than slates.
        NothingMeasuredError: no score is there.
    """
    cuts = np.asarray(threshold, dtype=np.float64)
    if cuts.ndim and len(cuts) != len(scores):
        raise UsageError(f"{len(cuts)} thresholds for {len(scores)} slates")
    every = np.broadcast_to(cuts, (len(scores),))
    found = sum(int(retained(row, float(cut)).sum()) for row, cut in zip(scores, every, strict=True))
    scored = sum(int((~np.isnan(np.asarray(row, dtype=np.float64))).sum()) for row in scores)
    if not scored:
        raise NothingMeasuredError("a retained share needs scores, and no score is there")
    return found / scored


def match_share(scores: Sequence[ArrayLike], share: float) -> Matched:
    """Return the threshold whose retained share is nearest to a wanted one.

    Tried are cuts between adjacent distinct scores of all slates together, and
    the lowest score, which keeps everything: equal scores are kept or dropped
    together. Of two equally near shares the smaller one (the higher threshold) is
    taken. The threshold stands midway between the scores on either side of it.

    Args:
        scores: (n,) canonical row of each slate; NaN = missing, left out.
        share: wanted share of the scored candidates, above 0 and at most 1.

    Raises:
        UsageError: a share outside (0, 1]: nothing kept cannot be compared.
        NothingMeasuredError: no score is there.
    """
    if not 0 < share <= 1:
        raise UsageError(f"the share to match must be above 0 and at most 1, got {share}")
    arrays = [np.asarray(row, dtype=np.float64).ravel() for row in scores]
    pooled: FloatArray = np.concatenate([np.empty(0), *arrays])
    pooled = np.sort(pooled[~np.isnan(pooled)])
    if not pooled.size:
        raise NothingMeasuredError("matching a retained share needs scores, and no score is there")
    levels, first = np.unique(pooled, return_index=True)
    shares = (len(pooled) - first) / len(pooled)
    # Levels rise, so their shares fall: the last of the nearest keeps least.
    distance = np.abs(shares - share)
    best = int(np.flatnonzero(distance <= distance.min() + 1e-12)[-1])
    found = float(shares[best])
    return Matched(_between(levels, best), share, found, abs(found - share) < 1e-12)


def _between(levels: FloatArray, index: int) -> float:
    """Return a cut that keeps the level and drops the one below it."""
    high = float(levels[index])
    if index == 0:
        return high
    low = float(levels[index - 1])
    middle = low + (high - low) / 2
    # Neighbouring floats have no number between them.
    return middle if low < middle <= high else high


def match_reference(
    scores: Mapping[str, ArrayLike],
    reference: Mapping[str, ArrayLike],
    threshold: float | Mapping[str, float],
) -> Matched:
    """Return the threshold at which a run keeps the share that a reference run keeps.

    Args:
        scores: (n,) canonical row by slate id, of the run to be cut.
        reference: the same of the reference run; the same slates.
        threshold: of the reference: one for all slates, or one by slate id.

    Raises:
        UsageError: the runs hold other slates, or a slate has no threshold.
        NothingMeasuredError: no score is there.
    """
    if scores.keys() != reference.keys():
        apart = sorted(scores.keys() ^ reference.keys())
        raise UsageError(
            f"the runs hold different slates ({len(apart)}, e.g. {apart[:3]}); match over the same ones"
        )
    if isinstance(threshold, Mapping):
        if lacking := sorted(reference.keys() - threshold.keys()):
            raise UsageError(f"no threshold for {len(lacking)} slates, e.g. {lacking[:3]}")
        cuts: float | FloatArray = np.array([threshold[key] for key in reference])
    else:
        cuts = threshold
    share = share_retained(list(reference.values()), cuts)
    return match_share(list(scores.values()), share)
