"""What a worst-case search makes large: how far one order moves a decision.

Each objective gives a value, and a guide: a smooth number that tells apart
orders of one value, so that a search does not walk blindly over a plateau. The
guide steers and is never reported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from evenhand.measure.checks import choice
from evenhand.measure.decision import retained_sets
from evenhand.measure.order import kendall_distance
from evenhand.measure.rows import ranks
from evenhand.types import FloatArray, IntArray

Value = tuple[float, float]


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """The canonical row that other orders are held against.

    Attributes:
        scores: (n,) of the candidates that have one. ties: (n,) of `seeds.tie_ranks`.
        threshold: of the retained set; NaN where no objective needs it.
        candidate: index of the candidate whose rank is watched.
    """

    scores: FloatArray
    ties: IntArray
    threshold: float
    candidate: int

    def rank(self, scores: FloatArray, candidate: int) -> int:
        """Return the rank of a candidate, 0 for the best."""
        return int(ranks(scores[None], self.ties)[0, candidate])


def _overlap(reference: Reference, scores: FloatArray) -> Value:
    before, after = retained_sets(np.stack([reference.scores, scores]), reference.threshold) > 0
    union = int((before | after).sum())
    value = 1 - int((before & after).sum()) / union if union else 0.0
    # How far scores are on the other side of the cut, or on their way there.
    toward = np.where(before, reference.threshold - scores, scores - reference.threshold)
    return value, float(toward.mean())


def _kendall(reference: Reference, scores: FloatArray) -> Value:
    centred = reference.scores - reference.scores.mean()
    return kendall_distance(reference.scores, scores), -float((centred * scores).mean())


def _rank_drop(reference: Reference, scores: FloatArray) -> Value:
    watched = reference.candidate
    drop = reference.rank(scores, watched) - reference.rank(reference.scores, watched)
    return float(drop), float(scores.mean() - scores[watched])


def _top1(reference: Reference, scores: FloatArray) -> Value:
    best = int(ranks(reference.scores[None], reference.ties)[0].argmin())
    others = np.delete(scores, best)
    return float(reference.rank(scores, best) > 0), float(others.max() - scores[best])


OBJECTIVES: Mapping[str, Callable[[Reference, FloatArray], Value]] = {
    "overlap": _overlap,
    "kendall": _kendall,
    "rank_drop": _rank_drop,
    "top1": _top1,
}


def require_objective(name: str) -> None:
    """Refuse an unknown objective.

    Raises:
        UsageError: the known ones are listed.
    """
    choice("objective", name, OBJECTIVES)


def value_of(objective: str, reference: Reference, scores: FloatArray) -> Value:
    """Return the value of an order and its guide; both grow as the order gets worse.

    Args:
        objective: "overlap": 1 - Jaccard overlap of the retained set and the
            canonical one (two empty sets: 0). "kendall": Kendall distance to the
            canonical scores. "rank_drop": ranks that the watched candidate loses,
            below 0 when it gains. "top1": 1 when another candidate is best.
        reference: of the slate.
        scores: (n,) of the same candidates under the order.

    Returns:
        NaN twice where a score is missing: such an order is no evidence.

    Raises:
        UsageError: unknown objective.
    """
    require_objective(objective)
    if np.isnan(scores).any():
        return float("nan"), float("nan")
    return OBJECTIVES[objective](reference, scores)


def most(objective: str, reference: Reference) -> float:
    """Return the largest value the objective could take; a search may stop there."""
    if objective != "rank_drop":
        return 1.0
    return float(len(reference.scores) - 1 - reference.rank(reference.scores, reference.candidate))
