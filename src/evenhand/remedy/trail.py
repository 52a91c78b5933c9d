"""What adaptive has seen of one slate so far, and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evenhand.remedy.base import merged
from evenhand.remedy.company import company, coupling
from evenhand.remedy.doubt import (
    Doubt,
    Evidence,
    Prior,
    Spread,
    between_levels,
    drawn_flips,
    fit_prior,
    fit_spread,
    least_variance,
    threshold_flips,
    weigh,
)
from evenhand.remedy.rules import Rule
from evenhand.remedy.spending import Looks
from evenhand.seeds import tie_ranks
from evenhand.types import BoolArray, FloatArray, IntArray, Presentation, Scored, Shown


class Trail:
    """The shows of one Shown, in the order of the looks.

    After the first orders of the whole slate the coupling, the prior of the variances
    and the spread of the means are fitted once: then no candidate was yet chosen by its
    scores. Later looks add scores of the doubtful candidates. Their companions' scores
    count only when the whole slate was shown: elsewhere these were seen because they
    stood beside a doubtful candidate, which is no random company.

    Args:
        one: what was to be scored.
        rule: the decision. looks: when it is settled.
        span: lowest and highest mean that the scale allows, or None.
    """

    def __init__(
        self, one: Shown, rule: Rule, looks: Looks, span: tuple[float, float] | None = None
    ) -> None:
        """Begin without a show."""
        self.one = one
        self.rule = rule
        self.looks = looks
        self.span = span
        self.ties = tie_ranks(one.slate.id, one.slate.ids)
        self.parts: list[Scored] = []
        self.remark: str | None = None
        self.missing: BoolArray = np.zeros(len(one.slate), dtype=np.bool_)
        self.slope = 0.0
        self.prior = Prior(0.0, np.inf)
        self.total = 1.0
        self.spread = Spread(0.0, np.inf, 0.0, 0)
        self.extra = 0.0
        self._values: list[FloatArray] = []
        self._apart: list[FloatArray] = []
        self._known = np.zeros(len(one.slate))

    def begin(self, presentations: Sequence[Presentation], parts: Sequence[Scored]) -> None:
        """Take the answers to the first orders and fit what is fitted once."""
        rows = np.array([part.scores for part in parts]).reshape(len(parts), -1)
        self.missing = np.isnan(rows).any(axis=0) & self.one.presentation.included()
        rows = np.where(np.isnan(rows).any(axis=0), np.nan, rows)
        for presentation, part in zip(presentations, parts, strict=True):
            self._take(presentation, part)
        self.slope = coupling(rows, presentations)
        self._known = rows.mean(axis=0)
        for presentation, row in zip(presentations, rows, strict=True):
            self._values.append(row)
            self._apart.append(company(presentation, self._known))
        self._fit(rows)

    def _fit(self, rows: FloatArray) -> None:
        adjusted = rows - self.slope * np.array(self._apart)
        known = int((~np.isnan(self._known)).sum())
        df = len(rows) - 1
        self.prior = fit_prior(adjusted.var(axis=0, ddof=1), df, least_variance(rows))
        self.total = float(max(1, known * df - (self.slope != 0.0)))
        self.spread = fit_spread(weigh(adjusted, self.prior, self.total))
        if known:
            self.extra = self.slope**2 * float(np.nanmean(np.array(self._apart) ** 2))

    def add(self, presentation: Presentation, part: Scored, doubtful: IntArray) -> None:
        """Take the answer to one further look.

        Args:
            presentation: as the innermost scorer saw it cut.
            part: its answer.
            doubtful: canonical indices of those it was for.
        """
        self._take(presentation, part)
        whole = len(presentation.order) == len(self.one.presentation.order)
        counts = np.zeros(len(self.missing), dtype=np.bool_)
        counts[list(presentation.order) if whole else doubtful] = True
        self.missing |= counts & np.isnan(part.scores)
        self._values.append(np.where(counts, part.scores, np.nan))
        self._apart.append(company(presentation, self._known))

    def _take(self, presentation: Presentation, part: Scored) -> None:
        self.parts.append(part)
        # What a scorer says of an answer that has all scores (a ranking that it repaired) stands;
        # why a companion has none is nobody's loss.
        if self.remark is None and not np.isnan(part.scores[presentation.included()]).any():
            self.remark = part.failure

    def evidence(self) -> Evidence:
        """Return means, at average company, and their errors; NaN where one show is missing."""
        values = np.array(self._values) - self.slope * np.array(self._apart)
        values[:, self.missing] = np.nan
        found = weigh(values, self.prior, self.total)
        # A mean at average company may leave the scale by a little; a score may not.
        mean = found.mean if self.span is None else np.clip(found.mean, *self.span)
        return replace(found, mean=mean)

    def settled(self, evidence: Evidence) -> BoolArray:
        """Return which candidates are settled; a missing one never is."""
        p = self.rule.p_values(evidence.mean, evidence.error, evidence.df, self.ties)
        return np.asarray((p < self.looks.level(evidence.shows)) & ~np.isnan(evidence.mean))

    def doubtful(self) -> IntArray:
        """Return the canonical indices of those to be shown again."""
        found = self.evidence()
        known = ~np.isnan(found.mean)
        return np.flatnonzero(known & ~self.settled(found) & (found.shows < self.looks.most))

    def scored(self) -> Scored:
        """Return the mean scores, at the cost of all shows."""
        whole = merged(self.parts, self.evidence().mean)
        return whole if self.missing.any() else replace(whole, failure=self.remark)

    def doubt(self, rng: np.random.Generator) -> Doubt:
        """Return what is known of each candidate.

        Args:
            rng: of the draws that flips of a top k are counted over.
        """
        found = self.evidence()
        again, single = self._flips(found, rng)
        return Doubt(
            mean=found.mean,
            standard_error=np.where(np.isnan(found.mean), np.nan, found.error),
            flip_again=again,
            flip_single=single,
            shows=found.shows.astype(np.int64),
            chosen=self.rule.chosen(found.mean, self.ties),
            settled=self.settled(found),
        )

    def _flips(self, found: Evidence, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        if self.rule.threshold is None:
            return drawn_flips(self.rule, found, self.spread, self.ties, rng, extra=self.extra)
        values = np.array(self._values)
        return threshold_flips(
            self.rule.threshold,
            found,
            self.spread,
            self.looks,
            single_threshold=between_levels(values, self.rule.threshold),
            extra=self.extra,
        )
