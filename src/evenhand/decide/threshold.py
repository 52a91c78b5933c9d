"""The threshold filter, and how its threshold is fitted.

A threshold is fitted on the canonical row. Where grades are known it maximises
the mean set-F1 over slates, and is cross-fitted: slates are cut into two folds,
and each fold uses the threshold fitted on the other. Without grades it is the
80% quantile of all scores. A threshold belongs to the scorer revision whose
scores it was fitted on.

Missing scores (NaN) are never retained. They move no threshold, but a relevant
candidate without a score still counts as one that was not retained.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from evenhand.errors import NothingMeasuredError, UsageError
from evenhand.seeds import tie_ranks
from evenhand.types import BoolArray, Decision, FloatArray, IntArray, Slate

# Mean F1 values closer than this are equal: running sums differ in the last digits.
_SAME_F1 = 1e-10
NO_GRADES = "no slate has grades"


def retained(scores: ArrayLike, threshold: float) -> BoolArray:
    """Return which candidates a threshold keeps: score >= threshold.

    Args:
        scores: any shape; NaN = missing, not retained. Count them with
            `np.isnan(scores).sum()`: here they look like low scores.
        threshold: lowest score that is retained.

    Returns:
        Booleans of the same shape.
    """
    return np.asarray(scores, dtype=np.float64) >= threshold


def relevant(slate: Slate, min_grade: int = 1) -> BoolArray | None:
    """Return which candidates count as relevant; unjudged ones do not.

    Args:
        slate: the slate.
        min_grade: lowest grade that counts.

    Returns:
        (n,) booleans, or None for a slate without grades.

    Raises:
        UsageError: min_grade below 1.
    """
    if min_grade < 1:
        raise UsageError(f"min_grade must be at least 1 (unjudged counts as 0), got {min_grade}")
    return None if slate.grades is None else slate.gains() >= min_grade


def check_threshold(threshold: float, scores: Sequence[ArrayLike]) -> float:
    """Return a fixed threshold if it can tell observed scores apart.

    Args:
        threshold: to be checked.
        scores: arrays of scores of any shape.

    Raises:
        UsageError: it is not a number, or outside the range of the scores.
        NothingMeasuredError: no score is there.
    """
    pooled = _pooled(scores)
    low, high = float(pooled.min()), float(pooled.max())
    if not low <= threshold <= high:
        raise UsageError(
            f"threshold {threshold} is outside the observed scores, {low:.6g} to {high:.6g}: it would "
            "keep everything or nothing. Choose one inside, or leave it out to have it fitted."
        )
    return float(threshold)


def quantile(scores: Sequence[ArrayLike], share: float = 0.8) -> float:
    """Return the quantile of all scores together: the threshold without grades.

    Args:
        scores: one array per slate; NaN is left out.
        share: which quantile; about 1 - share of the candidates are retained.

    Raises:
        NothingMeasuredError: no score is there.
    """
    return float(np.quantile(_pooled(scores), share))


def fit_f1(scores: Sequence[ArrayLike], relevance: Sequence[ArrayLike]) -> float:
    """Return the threshold with the best mean set-F1 over slates.

    F1 of a slate is 2 * kept relevant / (kept + relevant) over its candidates, 0
    where it holds nothing relevant. Tried are the midpoints of adjacent distinct
    scores of all slates together, and the lowest score, which keeps everything.
    Keeping nothing has F1 0 and is not tried. Of equal F1 the higher threshold wins.

    Args:
        scores: for each slate (n,) scores.
        relevance: for each slate (n,) booleans.

    Returns:
        The threshold, at most the highest score.

    Raises:
        NothingMeasuredError: no score, or nothing relevant in any slate.
        UsageError: scores and relevance do not match.
    """
    values, gains = _f1_steps(scores, relevance)
    order = np.argsort(-values, kind="stable")
    descending = values[order]
    f1 = np.cumsum(gains[order])
    last = np.append(np.flatnonzero(descending[1:] != descending[:-1]), len(descending) - 1)
    f1, levels = f1[last] / len(scores), descending[last]
    best = int(np.flatnonzero(f1 >= f1.max() - _SAME_F1)[0])
    if best == len(levels) - 1:
        return float(levels[best])
    low, high = float(levels[best + 1]), float(levels[best])
    middle = low + (high - low) / 2
    # Neighbouring floats have no number between them.
    return middle if low < middle <= high else high


def _f1_steps(
    scores: Sequence[ArrayLike], relevance: Sequence[ArrayLike]
) -> tuple[FloatArray, FloatArray]:
    """Return all scores, and what lowering the threshold past each adds to its slate's F1."""
    if len(scores) != len(relevance):
        raise UsageError(f"{len(scores)} slates of scores, {len(relevance)} of relevance")
    values, gains = [], []
    for given, wanted in zip(scores, relevance, strict=True):
        row, hits = np.asarray(given, dtype=np.float64), np.asarray(wanted, dtype=bool)
        if row.ndim != 1 or row.shape != hits.shape:
            raise UsageError(f"{row.shape} scores do not match {hits.shape} relevance")
        found = np.flatnonzero(~np.isnan(row))
        order = found[np.argsort(-row[found], kind="stable")]
        kept_relevant = np.cumsum(hits[order])
        f1 = 2 * kept_relevant / (np.arange(1, len(order) + 1) + hits.sum())
        values.append(row[order])
        gains.append(np.diff(f1, prepend=0.0))
    pooled, steps = _pooled(values), np.concatenate(gains)
    if not steps.any():
        raise NothingMeasuredError("no scored candidate is relevant, so no threshold has an F1 above 0")
    return pooled, steps


def _pooled(scores: Sequence[ArrayLike]) -> FloatArray:
    arrays = [np.asarray(given, dtype=np.float64).ravel() for given in scores]
    pooled: FloatArray = np.concatenate([np.empty(0), *arrays])
    pooled = pooled[~np.isnan(pooled)]
    if not pooled.size:
        raise NothingMeasuredError("a threshold needs scores, and no score is there")
    return pooled


@dataclass(frozen=True, slots=True, eq=False)
class CrossFit:
    """The threshold of every slate, and where it comes from.

    Attributes:
        rule: "f1" (cross-fitted) or "quantile" (of all scores).
        thresholds: (slates,) the one that each slate uses.
        folds: the threshold used by the slates of fold 0 and of fold 1; a single
            value under the quantile rule.
        fold_of: (slates,) 0 or 1.
        reason: why the rule is not "f1"; empty when it is.
    """

    rule: Literal["f1", "quantile"]
    thresholds: FloatArray
    folds: tuple[float, ...]
    fold_of: IntArray
    reason: str = ""


def fold_of(slate_ids: Sequence[str], seed: int = 0) -> IntArray:
    """Return the fold of each slate: 0 and 1 in turn, along a hash of the ids.

    It depends on the set of ids and the seed, not on their order, and the folds
    differ by one slate at most.

    Args:
        slate_ids: distinct ids.
        seed: of the assignment.

    Returns:
        (slates,) of 0 and 1.
    """
    return tie_ranks("", slate_ids, salt=f"fold {seed}") % 2


def cross_fit(
    slate_ids: Sequence[str],
    scores: Sequence[ArrayLike],
    relevance: Sequence[ArrayLike | None],
    seed: int = 0,
) -> CrossFit:
    """Return the thresholds of all slates, each fitted without its own fold.

    Slates without grades take part in no fit, but get the threshold of their
    fold. Where a fold has nothing to fit on (no grades, a single slate, nothing
    relevant) all slates use `quantile`, and `reason` says why.

    Args:
        slate_ids: distinct ids.
        scores: for each slate the (n,) scores of its canonical row.
        relevance: for each slate (n,) booleans, or None without grades.
        seed: of the fold assignment.

    Raises:
        NothingMeasuredError: no score is there.
        UsageError: the three do not match.
    """
    if not len(slate_ids) == len(scores) == len(relevance):
        raise UsageError(
            f"{len(slate_ids)} slate ids, {len(scores)} slates of scores and {len(relevance)} of "
            "relevance; all three need one entry per slate"
        )
    folds = fold_of(slate_ids, seed)
    fitted = []
    for fold in (0, 1):
        others = [
            (given, wanted)
            for given, wanted, own in zip(scores, relevance, folds, strict=True)
            if own != fold and wanted is not None
        ]
        try:
            fitted.append(fit_f1([given for given, _ in others], [wanted for _, wanted in others]))
        except NothingMeasuredError:
            fallback, reason = quantile(scores), _why_not(scores, relevance)
            return CrossFit("quantile", np.full(len(scores), fallback), (fallback,), folds, reason)
    return CrossFit("f1", np.array(fitted)[folds], (fitted[0], fitted[1]), folds)


def _why_not(scores: Sequence[ArrayLike], relevance: Sequence[ArrayLike | None]) -> str:
    """Return why one of the folds has nothing to fit on."""
    pairs = [(row, hits) for row, hits in zip(scores, relevance, strict=True) if hits is not None]
    if not pairs:
        return NO_GRADES
    telling = [np.asarray(row)[np.asarray(hits, dtype=bool)] for row, hits in pairs if np.any(hits)]
    left = sum(not np.isnan(row.astype(float)).all() for row in telling)
    said = f"{left} of {len(scores)} slates hold a scored relevant candidate"
    if lost := len(telling) - left:
        return f"only {said}, and in {lost} more the canonical row has no scores for any"
    if left < 2:
        return f"only {said}, and each half of the slates needs one"
    return f"{said}, all in one half of them, and each half needs one"


@dataclass(frozen=True, slots=True)
class ThresholdConsumer:
    """A filter that keeps the candidates at or above a threshold (`types.Consumer`).

    Attributes:
        threshold: one for all slates, or one by slate id.
        name: of the decisions it puts out.
    """

    threshold: float | Mapping[str, float]
    name: str = "threshold"

    def decide(self, slate: Slate, scores: FloatArray, row: int) -> Decision:
        """Return the ids of the retained candidates, in canonical order.

        Args:
            slate: the slate.
            scores: (n,) canonical scores; a missing one is not retained.
            row: which row of the run they are.

        Returns:
            A decision whose value is a tuple of ids; None where all scores are missing.

        Raises:
            UsageError: as many scores as candidates are needed, and a threshold
                for this slate.
        """
        if len(scores) != len(slate):
            raise UsageError(
                f"{len(scores)} scores for the {len(slate)} candidates of slate {slate.id!r}"
            )
        threshold = self.threshold
        if isinstance(threshold, Mapping):
            if slate.id not in threshold:
                raise UsageError(f"no threshold for slate {slate.id!r}; there are {len(threshold)}")
            threshold = threshold[slate.id]
        if np.isnan(scores).all():
            return Decision(slate.id, row, self.name, None)
        kept = retained(scores, threshold)
        ids = tuple(key for key, keep in zip(slate.ids, kept, strict=True) if keep)
        return Decision(slate.id, row, self.name, ids)
