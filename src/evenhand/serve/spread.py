"""Remedied scorers that also tell how sure each kept or dropped document is.

Only where several inner orders were scored is there a spread: behind `average:K` with
K >= 2 and behind `adaptive`, named last, around a scorer that orders can move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from evenhand.decide.threshold import retained
from evenhand.remedy import apply, parse_all
from evenhand.remedy.adaptive import Adaptive, AdaptiveScorer
from evenhand.remedy.average import FUSIONS, Average, Averaged, fused
from evenhand.remedy.base import ask, ask_groups, reshown
from evenhand.remedy.doubt import believed, fit_prior, fit_spread, least_variance, weigh
from evenhand.types import BoolArray, FloatArray, Remedy, Scored, Scorer, Shown


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """Scores of one Shown and what their spread over inner orders says; all (n,) or None.

    Attributes:
        scored: what the scorer gives.
        error: standard error of each score; None = one order only.
        flip: probability that the same procedure, run again on the same documents with
            other orders, decides otherwise; None = one order, or no decision.
        keep: the decision; None = there is none.
    """

    scored: Scored
    error: FloatArray | None = None
    flip: FloatArray | None = None
    keep: BoolArray | None = None


class SpreadAverage(Averaged):
    """An averaged scorer that keeps the answers to its single orders."""

    def parts(self, shown: Sequence[Shown]) -> list[list[Scored]]:
        """Return, for each Shown, the answers to its K orders."""
        groups = [[reshown(one, order) for order in self._orders(one)] for one in shown]
        return ask_groups(self.inner, groups)


class Teller:
    """A scorer behind remedies, asked for scores and for how sure they are.

    Attributes:
        scorer: the remedied scorer. names: its remedies, innermost first.
        orders: most inner orders that one row costs.
    """

    def __init__(self, scorer: Scorer, remedies: Sequence[str]) -> None:
        """Put remedies around a scorer.

        Raises:
            UsageError: a remedy is unknown, named twice, or does not fit the scorer.
        """
        parsed = parse_all(list(remedies))
        below = apply(scorer, parsed[:-1])
        self.scorer = _outermost(below, parsed[-1]) if parsed else below
        self.names = tuple(one.name for one in parsed)
        self.orders = inner_orders(parsed)

    def tell(self, shown: Sequence[Shown], thresholds: Sequence[float | None]) -> list[Told]:
        """Score each Shown, in one call, and say how sure each decision is.

        Args:
            thresholds: of each Shown; None = only the remedy's own decision, if any.

        Raises:
            ScorerError: the scorer failed.
        """
        if isinstance(self.scorer, AdaptiveScorer):
            return self._adaptive(self.scorer, shown)
        if isinstance(self.scorer, SpreadAverage) and not self.scorer.inner.order_free:
            whole = self.scorer.parts(shown)
            fuse = self.scorer.average.fuse
            return [
                told_average(one, parts, fuse, cut)
                for one, parts, cut in zip(shown, whole, thresholds, strict=True)
            ]
        answers = ask(self.scorer, shown)
        return [
            Told(scored, keep=_kept(scored.scores, cut))
            for scored, cut in zip(answers, thresholds, strict=True)
        ]

    def _adaptive(self, scorer: AdaptiveScorer, shown: Sequence[Shown]) -> list[Told]:
        explained = scorer.explain(shown)
        if scorer.inner.order_free:
            return [Told(scored, keep=doubt.chosen) for scored, doubt in explained]
        return [
            Told(scored, doubt.standard_error, doubt.flip_again, doubt.chosen)
            for scored, doubt in explained
        ]


def inner_orders(remedies: Sequence[Remedy]) -> int:
    """Return the most inner orders that a stack of remedies scores for one row."""
    product = 1
    for one in remedies:
        if isinstance(one, Average):
            product *= one.k
        elif isinstance(one, Adaptive):
            product *= one.most
    return product


def _outermost(below: Scorer, remedy: Remedy) -> Scorer:
    # Balanced orders are not independent: their spread says nothing of the mean's.
    if isinstance(remedy, Average) and remedy.k > 1 and not remedy.latin:
        return SpreadAverage(below, remedy)
    return apply(below, [remedy])


def _kept(scores: FloatArray, threshold: float | None) -> BoolArray | None:
    return None if threshold is None else retained(scores, threshold)


def told_average(one: Shown, parts: Sequence[Scored], fuse: str, threshold: float | None) -> Told:
    """Return the fused answer to K orders with its standard errors and flip probabilities.

    Standard deviations over the K orders are shrunk towards those of the other documents,
    as in `remedy.doubt`: two or three orders say little about one document alone.

    Args:
        one: what was scored. parts: one answer an order, at least two.
        fuse: how scores were fused. threshold: of the decision, or None.
    """
    scored = fused(one.presentation, parts, fuse)
    rows = np.array([FUSIONS[fuse](part.scores[None, :]) for part in parts])
    rows[:, np.isnan(scored.scores)] = np.nan
    df = len(rows) - 1
    prior = fit_prior(rows.var(axis=0, ddof=1), df, least_variance(rows))
    known = int((~np.isnan(scored.scores)).sum())
    evidence = weigh(rows, prior, float(max(1, known * df)))
    error = np.where(np.isnan(scored.scores), np.nan, evidence.error)
    if threshold is None:
        return Told(scored, error)
    mean, variance = believed(evidence, fit_spread(evidence))
    # Another run's mean: what is believed of the true one, and K fresh orders around it.
    flip = _flips(scored.scores >= threshold, threshold - mean, variance + error**2, evidence.df)
    return Told(scored, error, np.where(np.isnan(error), np.nan, flip), _kept(scored.scores, threshold))


def _flips(kept: BoolArray, distance: FloatArray, variance: FloatArray, df: FloatArray) -> FloatArray:
    """Return the chance of landing on the other side, `distance` away, by Student's t."""
    still = variance == 0
    scale = np.sqrt(np.where(still, 1.0, variance))
    under = np.where(still, distance > 0, stdtr(np.minimum(df, 1e9), distance / scale))
    return np.asarray(np.where(kept, under, 1 - under))
