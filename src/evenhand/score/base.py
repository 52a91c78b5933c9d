"""From a shown slate to token ids with known slots, free of any backend.

Segments are tokenised one by one and their ids joined, so a slot is where it was
put. `PromptBuilder` makes one `WindowPrompt` per window; a backend turns each
into values by slot, and `gather` puts these into canonical order.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import InputError
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
    row_of,
)
from evenhand.score.together import Together, together
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
# Candidates of the slates whose ids are remembered; at 200 tokens each, 40 MB.
REMEMBERED_CANDIDATES = 50_000
# Where the query stands among the texts of a slate: canonical indices start at 0.
QUERY = -1

# Ids of a text, and the places escaped in it.
_Text = tuple[NDArray[np.int32], int]

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
    _forms: OrderedDict[tuple[Surface, int], Together | tuple[Part, ...]] = field(
        default_factory=OrderedDict, repr=False, compare=False
    )
    _slates: OrderedDict[int, tuple[Slate, dict[int, _Text]]] = field(
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
        query, candidates = self._texts(slate, window)
        ids = [ids for ids, _ in candidates]
        limits = self.context, self.max_candidate_tokens
        if isinstance(form, Together):
            prompt = form.prompt(slate.id, query[0], ids, *limits)
        else:
            prompt = isolated_prompt(slate.id, form, query[0], ids, *limits)
        return WindowPrompt(
            prompt.ids, prompt.branches, prompt.positions, prompt.readouts, prompt.grades,
            prompt.truncated, tuple([count for _, count in candidates]), query[1],
        )  # fmt: skip

    def _form(self, surface: Surface, width: int) -> Together | tuple[Part, ...]:
        """Return the form of windows; rendering it for every row would take longer than the rest."""
        key = (surface, width)
        if key not in self._forms:
            segments = form(width, surface, self.chat, alphabet=self.alphabet)
            parts = tuple(map(self._part, segments))
            isolated = surface.visibility == "isolated"
            self._forms[key] = parts if isolated else together(parts, surface)
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

    def _texts(self, slate: Slate, window: Sequence[int]) -> tuple[_Text, list[_Text]]:
        """Return the query and the candidates of a window; what is missing is tokenised in one call."""
        known = self._remembered(slate)
        missing = [i for i in dict.fromkeys((QUERY, *window)) if i not in known]
        if missing:
            plain = [("candidate", slate.candidates[i].full_text) for i in missing if i != QUERY]
            asked = [("query", slate.query), *plain] if missing[0] == QUERY else plain
            known.update(zip(missing, self._tokenised(asked), strict=True))
        return known[QUERY], [known[i] for i in window]

    def _remembered(self, slate: Slate) -> dict[int, _Text]:
        """Return the texts of a slate by canonical index: its rows come one after the other."""
        key = id(slate)
        # The slate is held with its texts, so that its id stays its own; in another process, to
        # which a builder was handed, it is another's.
        if key not in self._slates or self._slates[key][0] is not slate:
            self._slates[key] = (slate, {})
            self._slates.move_to_end(key)
            held = sum(len(one) for one, _ in self._slates.values())
            while held > REMEMBERED_CANDIDATES and len(self._slates) > 1:
                held -= len(self._slates.popitem(last=False)[1][0])
        self._slates.move_to_end(key)
        return self._slates[key][1]

    def _tokenised(self, texts: Sequence[tuple[str, str]]) -> list[_Text]:
        """Return the ids of texts, by kind and text, and the places escaped in each."""
        lines = [(kind, *one_line(text)) for kind, text in texts]
        found = self.tokens.texts([spaced(kind, line) for kind, line, _ in lines])
        return [
            (row_of(ids), places + spelled)
            for (ids, spelled), (*_, places) in zip(found, lines, strict=True)
        ]


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
