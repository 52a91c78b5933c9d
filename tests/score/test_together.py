"""Candidates in one row: what is joined once is what a plain loop over its parts gives."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from evenhand.errors import InputError, ScorerError
from evenhand.present.surface import Segment, form, plain_chat
from evenhand.score.prompt import AnswerLine, Part, answer_line, row_of
from evenhand.score.together import together
from evenhand.types import Surface
from words_tokenizer import Words

SURFACES = [
    Surface(query=query, visibility=visibility, enclose=enclose, dummy=dummy)
    for query, visibility, enclose, dummy in itertools.product(
        ("before", "after", "around"), ("sequential", "parallel"), (False, True), (0, 2)
    )
]


def parts_of(surface, width, tokens):
    return [
        Part(one, line=answer_line(tokens, one.text))
        if one.kind == "slot"
        else Part(one, tokens.literal(one.text) if one.kind == "literal" else ())
        for one in form(width, surface, plain_chat)
    ]


def plain(parts, surface, query, candidates, cap):
    """Ids, branches, positions and readouts, token by token."""
    ids, branches, positions, readouts = [], [], [], []
    lines = [part.line for part in parts if part.line is not None]
    for part in parts:
        if part.segment.kind == "query":
            ids += query
        elif part.segment.kind == "candidate":
            ids += candidates[part.segment.index][:cap]
        elif part.line is None:
            ids += part.ids
    branches, positions, shared = [0] * len(ids), list(range(len(ids))), len(ids)
    for slot, line in enumerate(lines):
        shown = list(line.head)
        readouts.append(len(ids) + len(shown) - 1)
        if surface.visibility == "sequential" and slot < len(lines) - 1:
            shown += [line.grades[surface.dummy], *line.tail]
        blind = surface.visibility == "parallel"
        start = shared if blind else len(ids)
        branches += [slot + 1 if blind else 0] * len(shown)
        positions += range(start, start + len(shown))
        ids += shown
    return ids, branches, positions, tuple(readouts)


@pytest.mark.parametrize("surface", SURFACES)
def test_a_prompt_is_its_parts_one_after_the_other(surface):
    tokens, rng = Words(), np.random.default_rng(2)
    for width in (1, 3):
        parts = parts_of(surface, width, tokens)
        made = together(parts, surface)
        for limit, context in ((None, 10_000), (4, 10_000), (None, made.whole + 3 + 3 + 2 * width)):
            candidates = [
                rng.integers(90, size=int(n)).tolist() for n in rng.integers(0, 9, size=width)
            ]
            found = made.prompt("s", row_of([7, 8, 9]), list(map(row_of, candidates)), context, limit)
            cap = max(len(c) for c in candidates) - max(found.truncated)
            wanted = plain(parts, surface, [7, 8, 9], candidates, cap)
            assert (found.ids, found.branches, found.positions, found.readouts) == wanted
            assert found.truncated == tuple(max(0, len(c) - cap) for c in candidates)
            if limit is not None:
                assert cap == min(limit, max(map(len, candidates)))


def test_a_context_cuts_the_longest_first():
    surface, tokens = Surface(), Words()
    made = together(parts_of(surface, 2, tokens), surface)
    # Of a context with room for 1 + 7: 5 and 2 fit, 9 and 2 leave 5 for the longer.
    for long, cut in ((5, 0), (9, 4)):
        texts = [row_of([1] * long), row_of([2, 2])]
        found = made.prompt("s", row_of([3]), texts, made.whole + 8, None)
        assert found.truncated == (cut, 0)
    with pytest.raises(
        InputError, match=f"slate 's': query and answer form alone take {made.whole + 1}"
    ):
        made.prompt("s", row_of([3]), texts, made.whole + 1, None)


def test_grades_with_other_ids_in_other_lines_are_refused():
    slots = [Segment("slot", "x", i) for i in range(2)]
    lines = [AnswerLine((1,), (2, 3, 4, 5), ()), AnswerLine((1,), (2, 3, 4, 6), ())]
    parts = [Part(slot, line=line) for slot, line in zip(slots, lines, strict=True)]
    with pytest.raises(ScorerError, match="other token ids in other answer lines"):
        together(parts, Surface())
