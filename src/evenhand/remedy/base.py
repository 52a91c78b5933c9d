"""What all remedies share: a scorer around a scorer, inner presentations, their costs.

A remedy hands its inner scorer presentations of its own and makes one `Scored` of
the answers. It keeps what the outer presentation decided: how many positions each
window has, the surface, and which candidates are shown at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from evenhand.errors import ScorerError, UsageError
from evenhand.seeds import content_hash, generator
from evenhand.types import FloatArray, IntArray, Presentation, Scale, Scored, Scorer, Shown, Surface

# What records and reports read from a scorer beside the protocol.
_FORWARDED = frozenset(
    {"context", "dtype", "max_candidate_tokens", "options", "unseen", "visibilities", "order_only"}
)


class Remedied:
    """A scorer behind a remedy: the inner scorer's facts, and scores of its own.

    A remedy is a subclass with `_score`. An order-free inner scorer is asked as it
    is: same scores, same cost.

    Attributes:
        draws: whether each row has draws of its own (orders, salts), so that even two equal
            presentations of a slate get unrelated scores. A subclass that draws nothing
            says False; the inner scorer's draws count as well.
        inner: the scorer it asks.
        remedy: name of the remedy, e.g. "average:4".
        remedies: names of all remedies, the innermost first.
        settles_at: the threshold that `adaptive` spends its orders on, if any.
        by_construction: a sentence for reports when no order can move the scores
            whatever the inner scorer does, else None.
        name: inner name + " + " + remedy.
        revision: hash of the inner revision and the remedy's settings.
    """

    by_construction: str | None = None
    draws: bool = True

    def __init__(self, inner: Scorer, remedy: str, settings: Mapping[str, Any]) -> None:
        """Wrap a scorer.

        Args:
            inner: the scorer to ask.
            remedy: name of the remedy, without its seed.
            settings: plain values by name: all that can move a score, the seed too.
        """
        self.inner = inner
        self.remedy = remedy
        self.remedies: tuple[str, ...] = (*getattr(inner, "remedies", ()), remedy)
        self.name = f"{inner.name} + {remedy}"
        self.revision = content_hash({"inner": inner.revision, "remedy": remedy, **settings})
        self.scale: Scale = inner.scale
        self.order_free: bool = inner.order_free
        self.channels: frozenset[str] = inner.channels
        self.max_window: int | None = inner.max_window
        self.default_window: int | None = inner.default_window
        self.surface: Surface = inner.surface
        self.draws = not inner.order_free and (self.draws or bool(getattr(inner, "draws", False)))
        self.settles_at: float | None = getattr(inner, "settles_at", None)
        if self.by_construction is None:
            self.by_construction = getattr(inner, "by_construction", None)

    def __getattr__(self, name: str) -> Any:
        # Only reached for what is not set here; private names would recurse while unpickling.
        if name in _FORWARDED:
            return getattr(self.inner, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @property
    def facts(self) -> dict[str, Any]:
        """What records and reports say of the remedies: plain values by name."""
        facts: dict[str, Any] = {"remedies": list(self.remedies), "draws": self.draws}
        if self.settles_at is not None:
            facts["settles_at"] = self.settles_at
        if self.by_construction is not None:
            facts["by_construction"] = self.by_construction
        return facts

    def score(self, shown: Sequence[Shown]) -> list[Scored]:
        """Score each Shown by the remedy; an order-free inner scorer as it is.

        `prompts` and `tokens` of an answer are the sum of all inner calls it took.

        Raises:
            ScorerError: the inner scorer failed, or gave another number of results.
        """
        if not shown:
            return []
        if self.inner.order_free:
            return ask(self.inner, shown)
        return self._score(shown)

    def _score(self, shown: Sequence[Shown]) -> list[Scored]:
        raise NotImplementedError

    def cut(self, presentation: Presentation) -> Presentation:
        """Return a presentation as the innermost scorer will see it cut, order unchanged."""
        return self.inner.cut(presentation) if isinstance(self.inner, Remedied) else presentation


def ask(scorer: Scorer, shown: Sequence[Shown]) -> list[Scored]:
    """Return one Scored per Shown, in one call; none for none.

    Raises:
        ScorerError: the scorer gave another number of results.
    """
    if not shown:
        return []
    results = scorer.score(shown)
    if len(results) != len(shown):
        raise ScorerError(
            f"{scorer.name} gave {len(results)} results for {len(shown)} rows; a scorer must give "
            "one Scored per Shown, in the given order"
        )
    return results


def ask_groups(scorer: Scorer, groups: Sequence[Sequence[Shown]]) -> list[list[Scored]]:
    """Return the answers to several groups of Shown, all asked in one call."""
    answers = iter(ask(scorer, [one for group in groups for one in group]))
    return [[next(answers) for _ in group] for group in groups]


def represented(presentation: Presentation, order: Sequence[int]) -> Presentation:
    """Return the same windows filled by other hands: `order` at the presented positions.

    Which presented positions form a window, and at which slot each stands, stay as they
    are, so width, rule and a ragged tail do too; so do surface and omitted candidates.

    Args:
        order: canonical indices of the shown candidates, by presented position.

    Raises:
        UsageError: the order holds other candidates than the presentation shows.
    """
    chosen = tuple(int(i) for i in order)
    if sorted(chosen) != sorted(presentation.order):
        raise UsageError(f"order {chosen} does not hold the candidates shown: {presentation.order}")
    place = {candidate: position for position, candidate in enumerate(presentation.order)}
    windows = tuple(tuple(chosen[place[i]] for i in window) for window in presentation.windows)
    return replace(presentation, order=chosen, windows=windows)


def reshown(shown: Shown, order: Sequence[int]) -> Shown:
    """Return the Shown in another order; slate, row and kind stay."""
    return replace(shown, presentation=represented(shown.presentation, order))


def require_seed(remedy: str, seed: object) -> None:
    """Refuse a seed that is not a whole number.

    Raises:
        UsageError: names the remedy and what came.
    """
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise UsageError(f"{remedy}: seed must be a whole number, got {seed!r}")


def require_movable(inner: Scorer, remedy: str) -> None:
    """Refuse a scorer that shows one order whatever it is handed: orders drawn would be in vain.

    Raises:
        UsageError: the inner scorer is stable by construction.
    """
    if getattr(inner, "by_construction", None) is not None and not inner.order_free:
        raise UsageError(
            f"{remedy} draws orders, and {inner.name} shows the same order whatever it is handed: "
            "that only costs more. Name one of the two."
        )


def drawn_row(shown: Shown) -> int:
    """Return the row that inner draws are seeded by.

    Every row has its own, but the repeat row shares that of the canonical row, 0: it
    is the same presentation again, to show the unsteadiness of the engine, not of a draw.
    """
    return 0 if shown.kind == "repeat" else shown.row


def stream(seed: int, shown: Shown, name: str, index: int = 0) -> np.random.Generator:
    """Return the generator of a remedy's draws for one Shown.

    It depends on seed, slate id, row (see `drawn_row`), remedy and index, and on the
    outer order and windows: a remedy inside another one is asked several times for the
    same row, and must not draw the same each time.

    Args:
        name: of the kind of remedy, e.g. "average".
        index: of the draw, e.g. the look.
    """
    outer = content_hash([shown.presentation.order, shown.presentation.windows])
    return generator(seed, shown.slate.id, f"remedy {name} {index} {outer}", drawn_row(shown))


def merged(
    parts: Sequence[Scored],
    scores: FloatArray,
    *,
    grades: FloatArray | None = None,
    label_mass: FloatArray | None = None,
    failure: str | None = None,
) -> Scored:
    """Return one Scored for several inner answers.

    Prompts and tokens are the sums of the parts. Tokens cut and places escaped are, for
    each candidate, those of the part with most: the same text was read several times.

    Args:
        parts: all inner answers that were paid for.
        scores: (n,) the remedied scores; NaN = missing.
        failure: why scores are missing; None = the first reason the parts give.
    """
    reasons = [part.failure for part in parts if part.failure is not None]
    return Scored(
        scores,
        grades=grades,
        label_mass=label_mass,
        prompts=sum(part.prompts for part in parts),
        tokens=sum(part.tokens for part in parts),
        truncated=_most([part.truncated for part in parts]),
        escaped=_most([part.escaped for part in parts]),
        failure=reasons[0] if failure is None and reasons else failure,
        query_escaped=max((part.query_escaped for part in parts), default=0),
    )


def _most(counts: Sequence[IntArray | None]) -> IntArray | None:
    known = [count for count in counts if count is not None]
    return np.max(known, axis=0) if known else None
