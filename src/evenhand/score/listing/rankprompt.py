"""The prompt that asks for a ranking of the candidates of a window, free of any backend."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.errors import UsageError
from evenhand.present.surface import Messages, check_surface, markers, one_line
from evenhand.present.texts import RUBRICS
from evenhand.types import Slate, Surface

SYSTEM = (
    "You rank {candidates} from best to worst. Answer with the ranking alone, in the form that is "
    "asked. Do not explain."
)
TASK = (
    "Rank the {n} {candidates} above, the best first. The best is one that {best}; the worst is one "
    "that is {worst}.\nWrite all {n} ids, each once, in this form: {form}"
)
# Where a text of the slate goes; a chat template copies it whole.
_PLACE = re.compile("\ue000([0-9]+)\ue001")


@dataclass(frozen=True, slots=True)
class RankPrompt:
    """One window, ready to be written about.

    Attributes:
        system, user: our words; the places of foreign texts stand as signs in user.
        texts: the foreign texts with a space before each, the query first, then the
            candidates by slot.
        window: canonical index of the candidate at each slot.
        marks: the marker of each slot, without brackets.
        truncated: words cut, by slot. escaped: places escaped, by slot.
        query_escaped: places escaped in the query.
    """

    system: str
    user: str
    texts: tuple[str, ...]
    window: tuple[int, ...]
    marks: tuple[str, ...]
    truncated: tuple[int, ...]
    escaped: tuple[int, ...]
    query_escaped: int

    def messages(self) -> Messages:
        """Return the prompt as chat messages, every text in its place."""
        user = _PLACE.sub(lambda match: self.texts[int(match[1])], self.user)
        return [{"role": "system", "content": self.system}, {"role": "user", "content": user}]

    def pieces(self, rendered: str) -> list[tuple[str, bool]]:
        """Return a rendering of `system` and `user` in order as (text, whether it is ours)."""
        parts = _PLACE.split(rendered)
        return [
            (self.texts[int(part)], False) if place % 2 else (part, True)
            for place, part in enumerate(parts)
            if part
        ]


def rank_prompt(
    slate: Slate, window: Sequence[int], surface: Surface, max_words: int | None = None
) -> RankPrompt:
    """Return the prompt of one window of canonical indices.

    Of the surface count rubric (its names and what is best and worst), markers and
    enclose; query, skeleton, dummy and visibility have no meaning here.

    Args:
        max_words: cut of each candidate; None = none. The query is never cut.

    Raises:
        UsageError: the surface names something unknown, or markers without brackets.
    """
    check_surface(surface)
    if surface.markers == "single":
        raise UsageError("a ranking is written with ids in brackets; 'single' markers have none")
    rubric = RUBRICS[surface.rubric]
    marks = markers(surface.markers, len(window), seed=surface.marker_seed)
    query, query_escaped = one_line(slate.query)
    lines = [one_line(slate.candidates[i].full_text) for i in window]
    words = [text.split() for text, _ in lines]
    kept = [" ".join(one[:max_words]) for one in words]
    truncated = [0 if max_words is None else max(0, len(one) - max_words) for one in words]
    shown = [
        f"{mark}{_place(slot + 1)}{f' {mark}' if surface.enclose else ''}"
        for slot, mark in enumerate(marks)
    ]
    named = rubric.candidate.lower()
    best, worst = rubric.levels[-1], rubric.levels[0]
    task = TASK.format(n=len(window), candidates=named, best=best, worst=worst, form=_form(marks))
    body = "\n".join(shown)
    user = f"{rubric.query}:{_place(0)}\n\n{rubric.candidate}:\n{body}\n\n{task}"
    texts = tuple(f" {text}" if text else "" for text in (query, *kept))
    return RankPrompt(
        system=SYSTEM.format(candidates=named),
        user=user,
        texts=texts,
        window=tuple(window),
        marks=tuple(mark[1:-1] for mark in marks),
        truncated=tuple(truncated),
        escaped=tuple(count for _, count in lines),
        query_escaped=query_escaped,
    )


def _place(index: int) -> str:
    return f"\ue000{index}\ue001"


def _form(marks: Sequence[str]) -> str:
    """Return an example of the answer: the last marker first, so that none is favoured by being so."""
    return " > ".join((*reversed(marks[-2:]), "...")) if len(marks) > 2 else " > ".join(reversed(marks))
