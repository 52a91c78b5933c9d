"""From a shown slate to token ids with known slots, free of any backend.

Segments are tokenised one by one and their ids joined, so a slot is where it was
put. `PromptBuilder` makes one `WindowPrompt` per window; a backend turns each
into values by slot, and `gather` puts these into canonical order.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from evenhand.errors import InputError, ScorerError
from evenhand.present.surface import Chat, Segment, form, one_line, spaced
from evenhand.score.isolated import isolated_prompt
from evenhand.score.prompt import (
    GRADES,
    AnswerLine,
    Part,
    Tokens,
    WindowPrompt,
    answer_line,
    common_cap,
    too_long,
)
from evenhand.types import FloatArray, Scored, Shown, Slate, Surface

__all__ = [
    "GRADES",
    "AnswerLine",
    "PromptBuilder",
    "Reading",
    "Tokens",
    "WindowPrompt",
    "answer_line",
    "common_cap",
    "gather",
    "score_prompts",
]

# Windows of a width under a surface whose form is remembered; a wide one takes some 100 kB.
REMEMBERED_FORMS = 64

P = TypeVar("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class PromptBuilder:
    """Builds window prompts for one tokenizer.

    Attributes:
        tokens: the tokenizer. chat: renders messages to the template's text.
        context: most tokens of a prompt; of what one candidate sees, where they are isolated.
        max_candidate_tokens: cut of each candidate, whatever its companions;
            None cuts only what the context forces.
        alphabet: single-token signs for the "single" markers.
    """

    tokens: Tokens
    chat: Chat
    context: int
    max_candidate_tokens: int | None = None
    alphabet: tuple[str, ...] = ()
    _lines: dict[str, AnswerLine] = field(default_factory=dict, repr=False, compare=False)
    _forms: OrderedDict[tuple[Surface, int], tuple[Part, ...]] = field(
        default_factory=OrderedDict, repr=False, compare=False
    )

    def build(self, slate: Slate, window: Sequence[int], surface: Surface) -> WindowPrompt:
        """Return the prompt of one window of canonical indices.

        Raises:
            InputError: query and form alone, or with one token per candidate,
                are longer than the context.
            ScorerError: the template drops a text, or a grade is not one token.
        """
        form = self._form(surface, len(window))
        texts = [self._text("candidate", slate.candidates[i].full_text) for i in window]
        query, query_escaped = self._text("query", slate.query)
        ids = [ids for ids, _ in texts]
        if surface.visibility == "isolated":
            prompt = isolated_prompt(
                slate.id, form, query, ids, self.context, self.max_candidate_tokens
            )
        else:
            prompt = self._together(slate, form, query, ids, surface)
        return replace(prompt, escaped=tuple(count for _, count in texts), query_escaped=query_escaped)

    def _form(self, surface: Surface, width: int) -> tuple[Part, ...]:
        """Return the form of windows; rendering it for every row would take longer than the rest."""
        key = (surface, width)
        if key not in self._forms:
            segments = form(width, surface, self.chat, alphabet=self.alphabet)
            self._forms[key] = tuple(map(self._part, segments))
            while len(self._forms) > REMEMBERED_FORMS:
                self._forms.popitem(last=False)
        self._forms.move_to_end(key)
        return self._forms[key]

    def _part(self, segment: Segment) -> Part:
        if segment.kind == "slot":
            if segment.text not in self._lines:
                self._lines[segment.text] = answer_line(self.tokens, segment.text)
            return Part(segment, line=self._lines[segment.text])
        if segment.kind == "literal":
            return Part(segment, self.tokens.literal(segment.text))
        return Part(segment)

    def _text(self, kind: str, text: str) -> tuple[tuple[int, ...], int]:
        """Return the ids of a text of the slate and the places escaped in it."""
        line, places = one_line(text)
        ids, spelled = self.tokens.text(spaced(kind, line))
        return ids, places + spelled

    def _together(
        self, slate: Slate, form: Sequence[Part], query: Sequence[int],
        candidates: Sequence[tuple[int, ...]], surface: Surface,
    ) -> WindowPrompt:  # fmt: skip
        """Return the prompt whose candidates stand in one row."""
        lines = [part.line for part in form if part.line is not None]
        fixed = sum(len(query) if part.segment.kind == "query" else len(part.ids) for part in form)
        # Whole lines, whatever is shown of them: candidates are cut alike under each visibility.
        fixed += sum(len(line.head) + 1 + len(line.tail) for line in lines)
        cap = self._cap(slate, list(map(len, candidates)), fixed)
        prefix: list[int] = []
        for part in form:
            if part.segment.kind == "candidate":
                prefix += candidates[part.segment.index][:cap]
            else:
                prefix += query if part.segment.kind == "query" else part.ids
        return _join(prefix, lines, surface, [max(0, len(ids) - cap) for ids in candidates])

    def _cap(self, slate: Slate, lengths: Sequence[int], fixed: int) -> int:
        limit = max(lengths, default=0)
        if self.max_candidate_tokens is not None:
            limit = min(limit, self.max_candidate_tokens)
        shown = [min(length, limit) for length in lengths]
        cap = common_cap(shown, self.context - fixed)
        if cap < min(1, limit):
            raise too_long(slate.id, fixed, self.context, "a smaller width")
        return cap


def _join(
    prefix: Sequence[int], lines: Sequence[AnswerLine], surface: Surface, truncated: Sequence[int]
) -> WindowPrompt:
    """Put the answer lines behind the prompt: in a row, or as blind branches."""
    if len({line.grades for line in lines}) > 1:
        raise ScorerError("the grades have other token ids in other answer lines; choose other markers")
    ids = list(prefix)
    shared = len(ids)
    branches, positions = [0] * shared, list(range(shared))
    readouts = []
    for slot, line in enumerate(lines):
        readouts.append(len(ids) + len(line.head) - 1)
        ids += line.head
        if surface.visibility == "parallel":
            branches += [slot + 1] * len(line.head)
            positions += range(shared, shared + len(line.head))
        elif slot < len(lines) - 1:
            # Nothing is read after the last readout, so nothing is shown there.
            ids += (line.grades[surface.dummy], *line.tail)
    if surface.visibility == "sequential":
        branches, positions = [0] * len(ids), list(range(len(ids)))
    return WindowPrompt(
        tuple(ids), tuple(branches), tuple(positions), tuple(readouts), lines[0].grades,
        tuple(truncated),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reading:
    """A backend's answer for one window, by slot.

    Attributes:
        grades: (B, G) probabilities over the grades alone.
        scores: (B,) expected grade over the highest, in [0, 1].
        label_mass: (B,) probability of the grades in the full vocabulary, or None.
        reread: tokens read beside those of the prompt, which was read in several pieces.
    """

    grades: FloatArray
    scores: FloatArray
    label_mass: FloatArray | None
    reread: int = 0


def score_prompts(
    shown: Sequence[Shown],
    build: Callable[[Shown], list[P]],
    read: Callable[[Sequence[P], Sequence[str]], list[R]],
    gather: Callable[[Shown, list[P], list[R]], Scored],
) -> list[Scored]:
    """Build the prompts of every Shown, read all in one call, gather them by Shown.

    A slate whose prompts cannot be built (InputError) is a failure of that slate
    alone: its scores are missing and carry the reason.

    Args:
        read: takes prompts and the slate id of each, gives a reading each.
    """
    built: list[list[P] | str] = []
    prompts: list[P] = []
    names: list[str] = []
    for one in shown:
        try:
            own = build(one)
        except InputError as error:
            built.append(str(error))
            continue
        built.append(own)
        prompts += own
        names += [one.slate.id] * len(own)
    readings = iter(read(prompts, names))
    return [
        Scored.failed(len(one.slate), own)
        if isinstance(own, str)
        else gather(one, own, [next(readings) for _ in own])
        for one, own in zip(shown, built, strict=True)
    ]


def gather(shown: Shown, prompts: Sequence[WindowPrompt], readings: Sequence[Reading]) -> Scored:
    """Put the readings of one Shown's windows into canonical order."""
    place = shown.presentation.to_canonical
    masses = [reading.label_mass for reading in readings]
    known = [mass for mass in masses if mass is not None]
    return Scored(
        scores=place([reading.scores for reading in readings]),
        grades=place([reading.grades for reading in readings]) if readings else None,
        label_mass=place(known) if known and len(known) == len(masses) else None,
        prompts=len(prompts),
        tokens=sum(len(p.ids) + r.reread for p, r in zip(prompts, readings, strict=True)),
        truncated=place([np.array(p.truncated, dtype=np.int64) for p in prompts]) if prompts else None,
        escaped=place([np.array(p.escaped, dtype=np.int64) for p in prompts]) if prompts else None,
        # The same query in every window.
        query_escaped=max((prompt.query_escaped for prompt in prompts), default=0),
    )
