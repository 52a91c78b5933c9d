"""Reuse of equal work: the same scores are not computed twice."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from evenhand.errors import ScorerError, UsageError
from evenhand.seeds import content_hash
from evenhand.types import Scale, Scored, Scorer, Shown, Surface, slate_to_dict

# What remedies, records and reports read from a scorer beside the protocol.
_FORWARDED = frozenset(
    {
        "by_construction", "context", "draws", "dtype", "facts", "max_candidate_tokens", "options",
        "order_only", "remedies", "settles_at", "unseen", "visibilities",
    }
)  # fmt: skip


class Cached:
    """A scorer that remembers what it has scored, under the scorer's own identity.

    An order-free scorer is asked once per slate, surface and set of candidates that
    are shown, and its scores are reused in every such row. Any other scorer is asked
    once per slate and presentation: rows with the same order, windows and surface share
    their scores, unless it draws orders of its own in each row, as most remedies do: then
    each row is asked. Slates are told apart by all of their content (query, ids, titles,
    texts, grades, answers), not by id. The repeat row always goes round the cache, in
    both directions: it is there to show whether the scorer is steady.

    Reused scores cost 0 prompts and 0 tokens. Within one call equal rows share one
    answer, also a failed one; between calls an answer with missing scores is not
    remembered, so that the next call tries again.

    Args:
        scorer: the scorer to ask.
        max_slates: slates to remember, the least recently used forgotten first.

    Raises:
        UsageError: max_slates is under 1.
    """

    def __init__(self, scorer: Scorer, *, max_slates: int = 256) -> None:
        if max_slates < 1:
            raise UsageError(f"max_slates must be at least 1, got {max_slates}")
        self.scorer = scorer
        self.max_slates = max_slates
        self._known: OrderedDict[str, dict[Hashable, Scored]] = OrderedDict()

    def __getattr__(self, name: str) -> Any:
        # Only reached for what is not set here; private names would recurse while unpickling.
        if name in _FORWARDED:
            return getattr(self.scorer, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def name(self) -> str:
        """Name of the scorer."""
        return self.scorer.name

    @property
    def revision(self) -> str:
        """Revision of the scorer."""
        return self.scorer.revision

    @property
    def scale(self) -> Scale:
        """Scale of the scorer."""
        return self.scorer.scale

    @property
    def order_free(self) -> bool:
        """Whether the scorer is order-free."""
        return self.scorer.order_free

    @property
    def channels(self) -> frozenset[str]:
        """Channels the scorer honours."""
        return self.scorer.channels

    @property
    def max_window(self) -> int | None:
        """Most candidates of one prompt of the scorer."""
        return self.scorer.max_window

    @property
    def default_window(self) -> int | None:
        """Default width of the scorer."""
        return self.scorer.default_window

    @property
    def surface(self) -> Surface:
        """Default surface of the scorer."""
        return self.scorer.surface

    def score(self, shown: Sequence[Shown]) -> list[Scored]:
        """Score each Shown, asking the scorer only for what is not known yet.

        Raises:
            ScorerError: the scorer gave another number of results than it was asked for.
        """
        hashes = _hashes(shown)
        results: list[Scored | None] = [None] * len(shown)
        asked: list[int] = []
        first: dict[tuple[str, Hashable], int] = {}
        followers: list[tuple[int, int]] = []
        for place, one in enumerate(shown):
            if one.kind == "repeat":
                asked.append(place)
                continue
            key = (hashes[id(one.slate)], self._key(one))
            remembered = self._find(*key)
            if remembered is not None:
                results[place] = _reused(remembered)
            elif key in first:
                followers.append((place, first[key]))
            else:
                first[key] = place
                asked.append(place)
        for place, scored in zip(asked, self._ask([shown[i] for i in asked]), strict=True):
            results[place] = scored
        for place, source in followers:
            results[place] = _reused(_present(results[source]))
        for (slate, within), place in first.items():
            self._keep(slate, within, _present(results[place]))
        return [_present(scored) for scored in results]

    def _key(self, one: Shown) -> Hashable:
        shown = one.presentation
        if self.order_free:
            return shown.surface, shown.omitted
        # No two rows may share what a scorer draws: that would be stability for nothing.
        return (shown, one.row) if getattr(self, "draws", False) else shown

    def _ask(self, shown: list[Shown]) -> list[Scored]:
        if not shown:
            return []
        results = self.scorer.score(shown)
        if len(results) != len(shown):
            raise ScorerError(
                f"{self.name} gave {len(results)} results for {len(shown)} rows; a scorer must give "
                "one Scored per Shown, in the given order"
            )
        return results

    def _find(self, slate: str, within: Hashable) -> Scored | None:
        rows = self._known.get(slate)
        if rows is None:
            return None
        self._known.move_to_end(slate)
        return rows.get(within)

    def _keep(self, slate: str, within: Hashable, scored: Scored) -> None:
        if scored.failure is not None or np.isnan(scored.scores).any():
            return
        # A copy: what the caller does to its arrays must not reach later rows.
        self._known.setdefault(slate, {})[within] = _reused(scored)
        self._known.move_to_end(slate)
        while len(self._known) > self.max_slates:
            self._known.popitem(last=False)


def _hashes(shown: Sequence[Shown]) -> dict[int, str]:
    """Return the content hash of each slate by object, which lives as long as the call."""
    slates = {id(one.slate): one.slate for one in shown}
    return {key: content_hash(slate_to_dict(slate)) for key, slate in slates.items()}


def _present(scored: Scored | None) -> Scored:
    if scored is None:  # every place is either asked, remembered or a follower
        raise AssertionError("a row was left without scores")
    return scored


def _reused(scored: Scored) -> Scored:
    """Return the same scores in arrays of their own, at no cost."""
    names = ("scores", "grades", "label_mass", "truncated", "escaped")
    arrays = {name: getattr(scored, name) for name in names}
    copies = {name: array.copy() for name, array in arrays.items() if array is not None}
    return replace(scored, prompts=0, tokens=0, **copies)
