"""From a shown slate to token ids with known slots, free of any backend.

Segments are tokenised one by one and their ids joined, so a slot is where it was
put. `PromptBuilder` makes one `WindowPrompt` per window; a backend turns each
into values by slot, and `gather` puts these into canonical order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

import numpy as np

from evenhand.errors import InputError, ScorerError
from evenhand.present.surface import Chat, Segment, one_line, render
from evenhand.types import FloatArray, Scored, Shown, Slate, Surface

GRADES = ("0", "1", "2", "3")

P = TypeVar("P")
R = TypeVar("R")


class Tokens(Protocol):
    """Text to ids, in the two ways a prompt needs."""

    name: str

    def literal(self, text: str) -> tuple[int, ...]:
        """Return ids of trusted text; the template's special tokens count as such."""
        ...

    def text(self, text: str) -> tuple[tuple[int, ...], int]:
        """Return ids of foreign text, none of them special, and the places escaped."""
        ...


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """An answer line in ids: those up to the readout, the dummy grade, the rest.

    Attributes:
        head: ids before the grade; the readout stands on the last of them.
        grades: id of each grade, lowest first. tail: ids after the grade.
    """

    head: tuple[int, ...]
    grades: tuple[int, ...]
    tail: tuple[int, ...]


def answer_line(tokens: Tokens, line: str, grades: Sequence[str] = GRADES) -> AnswerLine:
    """Resolve the grades of an answer line in their context.

    Args:
        line: text with {grade} where the grade stands.

    Raises:
        ScorerError: a grade is not one token of its own in this line.
    """
    variants = [tokens.literal(line.replace("{grade}", grade)) for grade in grades]
    first = variants[0]
    if any(len(ids) != len(first) for ids in variants):
        lengths = {grade: len(ids) for grade, ids in zip(grades, variants, strict=True)}
        raise ScorerError(
            f"grades take different numbers of tokens in {tokens.name} (ids of the line {line!r}: "
            f"{lengths}); the readout needs one token per grade. Choose other grades or skeleton."
        )
    differing = [place for place, ids in enumerate(zip(*variants, strict=True)) if len(set(ids)) > 1]
    if len(differing) != 1 or len({ids[differing[0]] for ids in variants}) != len(grades):
        raise ScorerError(
            f"the grades {list(grades)} are not one distinct token each in {tokens.name} "
            f"(line {line!r}); the readout needs that. Choose other grades or another skeleton."
        )
    place = differing[0]
    if place == 0:
        raise ScorerError(
            f"the line {line!r} starts with the grade; the readout needs a token before it"
        )
    return AnswerLine(first[:place], tuple(ids[place] for ids in variants), first[place + 1 :])


@dataclass(frozen=True, slots=True)
class WindowPrompt:
    """One window, ready to be read.

    Attributes:
        ids: token ids. branches, positions: per token (see models.attention).
        readouts: index in ids of the readout of each slot.
        grades: ids of the grades, lowest first.
        truncated, escaped: tokens cut and places escaped, by slot.
        query_escaped: places escaped in the query, counted once however often it stands.
    """

    ids: tuple[int, ...]
    branches: tuple[int, ...]
    positions: tuple[int, ...]
    readouts: tuple[int, ...]
    grades: tuple[int, ...]
    truncated: tuple[int, ...]
    escaped: tuple[int, ...]
    query_escaped: int = 0


def common_cap(lengths: Sequence[int], room: int) -> int:
    """Return the largest cap c >= 0 with sum(min(length, c)) <= room.

    Returns:
        The longest length when everything fits; -1 when room is negative.
    """
    if room < 0:
        return -1
    longest = max(lengths, default=0)
    low, high = 0, longest
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(length, middle) for length in lengths) <= room:
            low = middle
        else:
            high = middle - 1
    return low


@dataclass(frozen=True, slots=True)
class PromptBuilder:
    """Builds window prompts for one tokenizer.

    Attributes:
        tokens: the tokenizer. chat: renders messages to the template's text.
        context: most tokens of a prompt.
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

    def build(self, slate: Slate, window: Sequence[int], surface: Surface) -> WindowPrompt:
        """Return the prompt of one window of canonical indices.

        Raises:
            InputError: query and form alone, or with one token per candidate,
                are longer than the context.
            ScorerError: the template drops a text, or a grade is not one token.
        """
        texts = [one_line(slate.candidates[i].full_text) for i in window]
        query, places = one_line(slate.query)
        segments = render(query, [t for t, _ in texts], surface, self.chat, alphabet=self.alphabet)
        encoded = [self._encode(segment) for segment in segments]
        lines = [self._line(s.text) for s in segments if s.kind == "slot"]
        lengths = [
            len(ids) for s, (ids, _) in zip(segments, encoded, strict=True) if s.kind == "candidate"
        ]
        fixed = sum(
            len(ids) for s, (ids, _) in zip(segments, encoded, strict=True) if s.kind != "candidate"
        )
        fixed += sum(len(line.head) + 1 + len(line.tail) for line in lines)
        cap = self._cap(slate, lengths, fixed)
        escaped = [count for _, count in texts]
        prefix: list[int] = []
        truncated = [0] * len(window)
        for segment, (ids, count) in zip(segments, encoded, strict=True):
            if segment.kind == "candidate":
                truncated[segment.index] = max(0, len(ids) - cap)
                escaped[segment.index] += count
                ids = ids[:cap]
            prefix.extend(ids)
        spelled = next(
            count for s, (_, count) in zip(segments, encoded, strict=True) if s.kind == "query"
        )
        joined = _join(prefix, lines, surface, truncated, escaped)
        return replace(joined, query_escaped=places + spelled)

    def _cap(self, slate: Slate, lengths: Sequence[int], fixed: int) -> int:
        limit = max(lengths, default=0)
        if self.max_candidate_tokens is not None:
            limit = min(limit, self.max_candidate_tokens)
        shown = [min(length, limit) for length in lengths]
        cap = common_cap(shown, self.context - fixed)
        if cap < min(1, limit):
            raise InputError(
                f"slate {slate.id!r}: query and answer form alone take {fixed} tokens of a context of "
                f"{self.context}; nothing of them is ever cut. Use a smaller width or a longer context."
            )
        return cap

    def _encode(self, segment: Segment) -> tuple[tuple[int, ...], int]:
        if segment.kind == "literal":
            return self.tokens.literal(segment.text), 0
        if segment.kind == "slot":
            return (), 0
        return self.tokens.text(segment.text)

    def _line(self, text: str) -> AnswerLine:
        if text not in self._lines:
            self._lines[text] = answer_line(self.tokens, text)
        return self._lines[text]


def _join(
    prefix: list[int], lines: Sequence[AnswerLine], surface: Surface,
    truncated: Sequence[int], escaped: Sequence[int],
) -> WindowPrompt:  # fmt: skip
    """Put the answer lines behind the prompt: in a row, or as blind branches."""
    if len({line.grades for line in lines}) > 1:
        raise ScorerError("the grades have other token ids in other answer lines; choose other markers")
    ids = list(prefix)
    branches, positions = [0] * len(ids), list(range(len(ids)))
    readouts = []
    for slot, line in enumerate(lines):
        last = slot == len(lines) - 1
        if surface.visibility == "parallel":
            start, branch, shown = len(prefix), slot + 1, line.head
        else:
            start, branch = len(ids), 0
            # Nothing is read after the last readout, so nothing is shown there.
            shown = line.head if last else (*line.head, line.grades[surface.dummy], *line.tail)
        readouts.append(len(ids) + len(line.head) - 1)
        ids.extend(shown)
        branches.extend([branch] * len(shown))
        positions.extend(range(start, start + len(shown)))
    return WindowPrompt(
        tuple(ids), tuple(branches), tuple(positions), tuple(readouts),
        lines[0].grades, tuple(truncated), tuple(escaped),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reading:
    """A backend's answer for one window, by slot.

    Attributes:
        grades: (B, G) probabilities over the grades alone.
        scores: (B,) expected grade over the highest, in [0, 1].
        label_mass: (B,) probability of the grades in the full vocabulary, or None.
    """

    grades: FloatArray
    scores: FloatArray
    label_mass: FloatArray | None


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
        tokens=sum(len(prompt.ids) for prompt in prompts),
        truncated=place([np.array(p.truncated, dtype=np.int64) for p in prompts]) if prompts else None,
        escaped=place([np.array(p.escaped, dtype=np.int64) for p in prompts]) if prompts else None,
        # The same query in every window.
        query_escaped=max((prompt.query_escaped for prompt in prompts), default=0),
    )
