"""Candidates in one row, as the paper shows them: what is fixed of a window is joined once.

What stands between the texts, and the answer lines behind them, are the same in every
window of a width under a surface. They are kept as arrays, and a prompt is these with
the texts of its query and candidates put between.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import ScorerError
from evenhand.score.prompt import (
    AnswerLine,
    Part,
    Row,
    WindowPrompt,
    common_cap,
    joined,
    plain_rows,
    row_of,
    too_long,
)
from evenhand.types import Surface


@dataclass(frozen=True, slots=True, eq=False)
class Together:
    """The form of a window whose candidates stand in one row.

    Attributes:
        literals: ids of each part before the answer lines; none of a text.
        queries: places of the query in them. candidates: place and slot of each candidate.
        lines: ids of the answer lines, as far as they are shown.
        branches, offsets: of each token of the lines; positions count from their first.
        readouts: of each slot, counted from the first token of the lines.
        whole: tokens of the form without texts, answer lines in full.
        grades: ids of the grades, lowest first. blind: whether the lines are branches.
    """

    literals: tuple[NDArray[np.int32], ...]
    queries: tuple[int, ...]
    candidates: tuple[tuple[int, int], ...]
    lines: NDArray[np.int32]
    branches: NDArray[np.int32]
    offsets: NDArray[np.int32]
    readouts: tuple[int, ...]
    whole: int
    grades: tuple[int, ...]
    blind: bool

    def prompt(
        self, slate: str, query: NDArray[np.int32], candidates: Sequence[NDArray[np.int32]],
        context: int, max_candidate_tokens: int | None,
    ) -> WindowPrompt:  # fmt: skip
        """Return the prompt of one window.

        Args:
            slate: its id, for messages. query: ids. candidates: ids by slot.
            context: most tokens of the prompt, answer lines in full.
            max_candidate_tokens: cut of each candidate; None = only what the context forces.

        Raises:
            InputError: query and form leave the candidates no room.
        """
        lengths = [len(ids) for ids in candidates]
        # Whole lines, whatever is shown of them: candidates are cut alike under each visibility.
        fixed = self.whole + len(query) * len(self.queries)
        cap = _cap(slate, lengths, fixed, context, max_candidate_tokens)
        parts = [*self.literals, self.lines]
        for place in self.queries:
            parts[place] = query
        for place, slot in self.candidates:
            parts[place] = candidates[slot][:cap] if lengths[slot] > cap else candidates[slot]
        ids = joined(parts)
        shared = len(ids) - len(self.lines)
        branches, positions = self._seen(shared, len(ids))
        return WindowPrompt(
            ids, branches, positions, tuple([shared + place for place in self.readouts]), self.grades,
            tuple([max(0, length - cap) for length in lengths]),
        )  # fmt: skip

    def _seen(self, shared: int, length: int) -> tuple[Row, Row]:
        if not self.blind:
            return plain_rows(length)
        zeros, rising = plain_rows(shared)
        return joined([zeros.array, self.branches]), joined([rising.array, self.offsets + shared])


def together(parts: Sequence[Part], surface: Surface) -> Together:
    """Return the form of a window in arrays.

    Args:
        parts: of the form, answer lines last. surface: what they were rendered under.

    Raises:
        ScorerError: the grades have other token ids in other answer lines.
    """
    before = [part for part in parts if part.line is None]
    lines = [part.line for part in parts if part.line is not None]
    if len({line.grades for line in lines}) > 1:
        raise ScorerError("the grades have other token ids in other answer lines; choose other markers")
    blind = surface.visibility == "parallel"
    shown = [list(line.head) for line in lines]
    # Nothing is read after the last readout, so nothing is shown there.
    for ids, line in zip(shown[:-1], lines, strict=False):
        ids += () if blind else (line.grades[surface.dummy], *line.tail)
    starts = [0, *itertools.accumulate(map(len, shown))]
    return Together(
        tuple(row_of(part.ids) for part in before),
        tuple(place for place, part in enumerate(before) if part.segment.kind == "query"),
        tuple((p, part.segment.index) for p, part in enumerate(before) if _is_candidate(part)),
        row_of([token for ids in shown for token in ids]),
        row_of([slot + 1 for slot, ids in enumerate(shown) for _ in ids]),
        row_of([place for ids in shown for place in range(len(ids))]),
        tuple(at + len(line.head) - 1 for at, line in zip(starts, lines, strict=False)),
        sum(len(part.ids) for part in before) + sum(map(_whole, lines)),
        lines[0].grades,
        blind,
    )


def _is_candidate(part: Part) -> bool:
    return part.segment.kind == "candidate"


def _whole(line: AnswerLine) -> int:
    return len(line.head) + 1 + len(line.tail)


def _cap(
    slate: str, lengths: Sequence[int], fixed: int, context: int, max_candidate_tokens: int | None
) -> int:
    """Return the most tokens of a candidate."""
    limit = max(lengths, default=0)
    if max_candidate_tokens is not None:
        limit = min(limit, max_candidate_tokens)
    cap = common_cap([min(length, limit) for length in lengths], context - fixed)
    if cap < min(1, limit):
        raise too_long(slate, fixed, context, "a smaller width")
    return cap
