"""Adaptive orders: further orders are spent only on candidates whose decision is in doubt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from evenhand.errors import UsageError, require_count
from evenhand.remedy.base import Remedied, ask, ask_groups, require_movable, require_seed, stream
from evenhand.remedy.doubt import Doubt
from evenhand.remedy.rules import Rule
from evenhand.remedy.shows import again, first_orders
from evenhand.remedy.spending import LEAST_ALPHA, MOST_SHOWS, Looks, looks
from evenhand.remedy.trail import Trail
from evenhand.types import IntArray, Scored, Scorer, Shown

__all__ = ["Adaptive", "AdaptiveScorer", "Doubt", "adaptive"]


@dataclass(frozen=True, slots=True)
class Adaptive:
    """Doubtful candidates are shown again until their decision is settled; see `adaptive`."""

    rule: Rule
    first: int = 2
    most: int = 12
    alpha: float = 0.3
    share: float = 0.5
    seed: int = 0

    def __post_init__(self) -> None:
        for what in ("first", "most"):
            require_count(f"adaptive: {what}", getattr(self, what))
        if self.first < 2:
            raise UsageError(
                f"adaptive: first must be at least 2, got {self.first}; one order says nothing about "
                "how far scores move between orders"
            )
        if self.most < self.first:
            raise UsageError(f"adaptive: most must be at least first ({self.first}), got {self.most}")
        if self.most > MOST_SHOWS:
            raise UsageError(
                f"adaptive: most must be at most {MOST_SHOWS}, got {self.most}; a candidate still in "
                "doubt after so many shows lies on the boundary"
            )
        for what, least, open_end in (("alpha", LEAST_ALPHA, True), ("share", 0.0, False)):
            _require_share(what, getattr(self, what), least, open_end)
            object.__setattr__(self, what, float(getattr(self, what)))
        require_seed("adaptive", self.seed)

    @property
    def name(self) -> str:
        """Text that `parse` reads, without the seed."""
        known = "best" if self.rule.top == 1 else f"top={self.rule.top}"
        if self.rule.threshold is not None:
            known = f"threshold={_written(self.rule.threshold)}"
        turned = [
            f",{what}={_written(getattr(self, what))}"
            for what, usual in (("first", 2), ("most", 12), ("alpha", 0.3), ("share", 0.5))
            if getattr(self, what) != usual
        ]
        return f"adaptive:{known}{''.join(turned)}"

    def __call__(self, scorer: Scorer) -> AdaptiveScorer:
        """Return the adaptive scorer."""
        return AdaptiveScorer(scorer, self)


def _written(value: float) -> str:
    """Return a number with all its digits, without a ".0"."""
    return str(value).removesuffix(".0")


def _require_share(what: str, value: object, least: float, open_end: bool) -> None:
    """Refuse what is no number from `least` to 1, or 1 itself where the end is open."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not least <= value <= 1 or (open_end and value == 1):  # type: ignore[operator]
        bounds = f"be at least {least:g} and under 1" if open_end else f"lie from {least:g} to 1"
        raise UsageError(f"adaptive: {what} must {bounds}, got {value!r}")


class AdaptiveScorer(Remedied):
    """A scorer that shows doubtful candidates again; `explain` tells how sure it is."""

    def __init__(self, inner: Scorer, remedy: Adaptive) -> None:
        """Wrap a scorer; see `adaptive`."""
        require_movable(inner, remedy.name)
        threshold = remedy.rule.threshold
        if threshold is not None and inner.scale == "unit" and not 0 <= threshold <= 1:
            raise UsageError(
                f"adaptive: threshold {threshold:g} is outside the scores of {inner.name}, which lie "
                "between 0 and 1: nothing would ever be in doubt"
            )
        super().__init__(inner, remedy.name, asdict(remedy))
        self.settings = remedy
        if not inner.order_free:
            self.settles_at = threshold

    def _score(self, shown: Sequence[Shown]) -> list[Scored]:
        return [trail.scored() for trail in self._trails(shown)]

    def explain(self, shown: Sequence[Shown]) -> list[tuple[Scored, Doubt]]:
        """Score each Shown, and say how sure each decision is.

        Returns:
            For each Shown what `score` gives, and its `Doubt`. An order-free scorer's
            decisions are beyond doubt: error and flip probabilities 0 after one show.

        Raises:
            ScorerError: the inner scorer failed.
        """
        if self.inner.order_free:
            answers = ask(self.inner, shown)
            return [(part, self._certain(one, part)) for one, part in zip(shown, answers, strict=True)]
        return [
            (trail.scored(), trail.doubt(stream(self.settings.seed, trail.one, "adaptive flips")))
            for trail in self._trails(shown)
        ]

    def _certain(self, one: Shown, part: Scored) -> Doubt:
        known = ~np.isnan(part.scores)
        nothing = np.where(known, 0.0, np.nan)
        ties = Trail(one, self.settings.rule, self._looks()).ties
        chosen = self.settings.rule.chosen(part.scores, ties)
        shows = known.astype(np.int64)
        return Doubt(part.scores, nothing, nothing.copy(), nothing.copy(), shows, chosen, known)

    def _looks(self) -> Looks:
        return looks(self.settings.first, self.settings.most, self.settings.alpha)

    def _trails(self, shown: Sequence[Shown]) -> list[Trail]:
        """Return the finished trail of each Shown; one inner call a look, for all of them."""
        trails = self._begin(shown)
        for look in range(self.settings.first, self.settings.most):
            open_ones = [(trail, trail.doubtful()) for trail in trails]
            open_ones = [(trail, doubtful) for trail, doubtful in open_ones if len(doubtful)]
            if not open_ones:
                break
            asked = [self._again(trail.one, doubtful, look) for trail, doubtful in open_ones]
            answers = ask(self.inner, asked)
            for (trail, doubtful), one, part in zip(open_ones, asked, answers, strict=True):
                trail.add(self.cut(one.presentation), part, doubtful)
        return trails

    def _begin(self, shown: Sequence[Shown]) -> list[Trail]:
        own, limits = self.settings, self._looks()
        span = (0.0, 1.0) if self.scale == "unit" else None
        groups = [
            first_orders(self.cut(one.presentation), own.first, stream(own.seed, one, "adaptive", 0))
            for one in shown
        ]
        asked = [
            [replace(one, presentation=presentation) for presentation in group]
            for one, group in zip(shown, groups, strict=True)
        ]
        trails = [Trail(one, own.rule, limits, span) for one in shown]
        for trail, group, parts in zip(trails, groups, ask_groups(self.inner, asked), strict=True):
            trail.begin(group, parts)
        return trails

    def _again(self, one: Shown, doubtful: IntArray, look: int) -> Shown:
        rng = stream(self.settings.seed, one, "adaptive", look)
        pattern = self.cut(one.presentation)
        return replace(one, presentation=again(pattern, doubtful, self.settings.share, rng))


def adaptive(
    decision: str | None = None,
    threshold: float | None = None,
    top: int | None = None,
    first: int = 2,
    most: int = 12,
    alpha: float = 0.3,
    share: float = 0.5,
    seed: int = 0,
) -> Adaptive:
    """Return the remedy that spends further orders on doubtful decisions only.

    `first` random orders of the whole slate are scored. Then, look by look, candidates
    whose decision is not settled are shown once more, in windows of the usual width, filled
    up with candidates drawn at random from the whole slate, until they are settled or
    have been shown `most` times. A score is the mean of a candidate's shows. Cost: that
    of all prompts, fillers included; at least `first` times the inner cost, at most
    `most` times.

    Args:
        decision: "best" for the best of n; or None with threshold or top.
        threshold: candidates at or above it are chosen.
        top: the `top` highest are chosen.
        first: orders of the whole slate, at least 2.
        most: most shows of a candidate, at most `spending.MOST_SHOWS`.
        alpha: chance that a candidate exactly on the boundary is called settled before or
            at its last show, at least `spending.LEAST_ALPHA`; the smaller, the more orders.
        share: most of a window that doubtful candidates take on purpose; 0 = only random
            orders, of which the windows without a doubtful candidate are left out.
        seed: of the orders.

    Raises:
        UsageError: not exactly one decision, an option out of its range, or (when
            applied) a threshold outside a unit scale, or a scorer behind `sorted`.
    """
    if decision is not None and decision != "best":
        raise UsageError(
            f"adaptive: unknown decision {decision!r}; known are 'best', and threshold=T or top=K "
            "by their names"
        )
    if decision == "best" and top is not None:
        raise UsageError("adaptive: best is top=1; name one of the two")
    rule = Rule(threshold, 1 if decision == "best" else top)
    return Adaptive(rule, first, most, alpha, share, seed)
