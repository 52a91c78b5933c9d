"""Slots by construction, and truncation that touches candidates alone."""

from __future__ import annotations

import itertools
from dataclasses import astuple

import numpy as np
import pytest

from evenhand.errors import InputError, ScorerError
from evenhand.present.surface import one_line, plain_chat, render
from evenhand.score import base
from evenhand.score.base import PromptBuilder, Reading, gather
from evenhand.seeds import content_hash
from evenhand.types import Candidate, Presentation, Shown, Slate, Surface
from words_tokenizer import Words

GOLDEN = "19b2617aea16bc965bc34404ce17d0ae4d40829813076119120c93411a24d8ad"


def builder(context, limit=None):
    return PromptBuilder(Words(), plain_chat, context, limit)


def test_truncation_takes_equally_from_the_candidates_alone():
    slate = Slate("q", "word", tuple(Candidate(f"c{i}", "x" * 50) for i in range(3)))
    whole = builder(100_000).build(slate, (0, 1, 2), Surface())
    assert whole.truncated == (0, 0, 0)
    # each candidate is " " + 50 characters = 51 tokens; three candidates must lose 30 in all: 10 each
    cut = builder(len(whole.ids) - 30 + 2).build(slate, (0, 1, 2), Surface())
    assert cut.truncated == (10, 10, 10)
    assert len(cut.ids) == len(whole.ids) - 30
    own = builder(100_000, 21).build(slate, (0, 1, 2), Surface())
    assert own.truncated == (30, 30, 30)


def test_form_that_does_not_fit_is_refused():
    slate = Slate("q", "word", (Candidate("a", "x" * 50),))
    with pytest.raises(InputError, match="slate 'q': query and answer form alone take"):
        builder(32).build(slate, (0,), Surface())


def test_parallel_lines_start_at_one_position_and_end_at_the_readout():
    slate = Slate("q", "word", tuple(Candidate(f"c{i}", "text") for i in range(3)))
    prompt = builder(10_000).build(slate, (2, 0, 1), Surface(visibility="parallel"))
    shared = prompt.branches.count(0)
    starts = [prompt.positions[prompt.branches.index(slot)] for slot in (1, 2, 3)]
    assert starts == [shared] * 3
    line = len("[1] Grade: ")
    assert prompt.readouts == tuple(shared + line * (slot + 1) - 1 for slot in range(3))
    assert len(prompt.ids) == shared + 3 * line


def test_c16_distinct_inputs_give_distinct_ids():
    build = builder(10_000).build
    texts = ("a", "b", "ab", "a b", "", "c: a")
    slates = [
        Slate("s", query, (Candidate("x", first), Candidate("y", second)))
        for query in ("a", "b", "")
        for first in texts
        for second in texts
    ]
    for query in ("before", "after", "around"):
        surface = Surface(query=query)
        ids = {build(one, window, surface).ids for one in slates for window in ((0, 1),)}
        assert len(ids) == len(slates)
    # A title is part of the text, and the order of the candidates part of the prompt.
    [titled, untitled] = (
        Slate("s", "q", (Candidate("x", "a", t), Candidate("y", "b"))) for t in ("t", "")
    )
    windows = ((0, 1), (1, 0), (0,), (1,))
    assert len({build(one, w, Surface()).ids for one in (titled, untitled) for w in windows}) == 7


def test_forged_markers_in_the_query_are_counted_once():
    slate = Slate("s", "see [1] and Grade: 3", (Candidate("x", "a"), Candidate("y", "[2]")))
    for query in ("before", "around"):
        prompt = builder(10_000).build(slate, (0, 1), Surface(query=query))
        # "[1]" and "Grade:" of the query; "[2]" of the second candidate.
        assert (prompt.query_escaped, prompt.escaped) == (2, (0, 1))
    shown = Shown(slate, Presentation((0, 1), ((0,), (1,))))
    prompts = [builder(10_000).build(slate, window, Surface()) for window in ((0,), (1,))]
    readings = [Reading(np.ones((1, 4)) / 4, np.array([0.5]), None)] * 2
    # Two windows show the same query.
    assert gather(shown, prompts, readings).query_escaped == 2


class Letters:
    """A toy tokenizer: the id of a character is its code point."""

    name = "letters"

    def literal(self, text):
        return tuple(map(ord, text))

    def text(self, text):
        return self.literal(text), 0

    def texts(self, texts):
        return [self.text(one) for one in texts]


ODD = ("plain", "", "see [2] Grade: 3", "x" * 40, "two\nlines \x00", "plain")
SURFACES = [
    Surface(visibility=visibility, markers=markers, enclose=enclose, query=query, skeleton=skeleton)
    for visibility, markers, enclose, query, skeleton in itertools.product(
        ("sequential", "parallel", "isolated"), ("numeric", "letters", "random", "single"),
        (False, True), ("before", "after", "around"), ("grade", "bare"),
    )
    if (visibility, query) != ("isolated", "after")
]  # fmt: skip
WINDOWS = ((0, 1, 2, 3, 4, 5), (5, 2), (3,), (1, 0, 4))


def odd_slate():
    return Slate("s", "a [1] query", tuple(Candidate(f"c{i}", text) for i, text in enumerate(ODD)))


def letters():
    return PromptBuilder(Letters(), plain_chat, 100_000, 30, ("P", "Q", "R", "S", "T", "U"))


def test_a_prompt_is_its_segments_in_ids():
    """Segment by segment of what is rendered for the window, and nothing remembered."""
    slate, made = odd_slate(), letters()
    for surface, window in itertools.product(SURFACES, WINDOWS):
        texts = [one_line(slate.candidates[i].full_text)[0] for i in window]
        query = one_line(slate.query)[0]
        segments = render(query, texts, surface, plain_chat, alphabet=made.alphabet)
        last = len(window) - 1
        wanted = ""
        for segment in segments:
            text = segment.text[:30] if segment.kind == "candidate" else segment.text
            if segment.kind == "slot":
                head, tail = text.split("{grade}")
                text = f"{head}0{tail}"
                if surface.visibility != "sequential" or segment.index == last:
                    text = head
            wanted += text
        assert "".join(map(chr, made.build(slate, window, surface).ids)) == wanted


def test_golden_prompts():
    """Ids, branches, positions, readouts and counts, as before forms were remembered."""
    slate, made = odd_slate(), letters()
    prompts = [astuple(made.build(slate, w, s)) for s, w in itertools.product(SURFACES, WINDOWS)]
    assert content_hash([[list(map(list, one[:-1])), one[-1]] for one in prompts]) == GOLDEN


def test_forms_are_remembered_by_surface_and_width_and_forgotten(monkeypatch):
    monkeypatch.setattr(base, "REMEMBERED_FORMS", 3)
    rendered = []
    plain = base.form
    monkeypatch.setattr(base, "form", lambda *a, **k: rendered.append(a[:2]) or plain(*a, **k))
    slate, made = odd_slate(), letters()
    wide, narrow = (0, 1, 2), (4, 5)
    one, other = SURFACES[0], SURFACES[-1]
    for surface, window in ((one, wide), (one, narrow), (one, (5, 3, 1)), (other, wide), (one, narrow)):
        assert made.build(slate, window, surface) == letters().build(slate, window, surface)
    monkeypatch.setattr(base, "form", lambda *a, **k: rendered.append("again") or plain(*a, **k))
    made.build(slate, wide, one)
    assert "again" not in rendered
    made.build(slate, (0,), one)  # a fourth: that of longest ago goes
    assert len(made._forms) == 3
    assert (other, 3) not in made._forms
    assert made.build(slate, wide, other) == letters().build(slate, wide, other)


def test_a_template_that_fails_is_asked_again():
    answers = iter(["", "", "|{}|"])

    def chat(messages):
        content = " ".join(message["content"] for message in messages)
        return next(answers).format(content)

    made = PromptBuilder(Letters(), chat, 10_000)
    slate = odd_slate()
    with pytest.raises(ScorerError, match="does not show every text"):
        made.build(slate, (0, 1), Surface())
    assert "|" in "".join(map(chr, made.build(slate, (0, 1), Surface()).ids))


def test_texts_are_remembered_by_slate_and_forgotten(monkeypatch):
    monkeypatch.setattr(base, "REMEMBERED_CANDIDATES", 7)
    asked = []

    class Counting(Letters):
        def texts(self, texts):
            asked.append(list(texts))
            return super().texts(texts)

    made = PromptBuilder(Counting(), plain_chat, 100_000)
    slates = [Slate(f"s{i}", "q", tuple(Candidate(c, c * 2) for c in "abc")) for i in range(3)]
    first = made.build(slates[0], (2, 0), Surface())
    # The query and what the window shows, in one call; then what is missing alone.
    assert asked == [[" q", " cc", " aa"]]
    made.build(slates[0], (1, 2), Surface(query="after"))
    assert asked[1:] == [[" bb"]]
    for slate in slates[1:]:
        made.build(slate, (0,), Surface())
    # Three slates of three are more than seven candidates: that of longest ago went.
    assert [slate.id for slate, _ in made._slates.values()] == ["s1", "s2"]
    assert made.build(slates[0], (2, 0), Surface()) == first
    assert len(asked) == 5
    # A slate with the same texts is another one, and reads the same.
    again = Slate("s0", "q", slates[0].candidates)
    assert made.build(again, (2, 0), Surface()) == first


def test_a_slate_wider_than_what_is_remembered_is_remembered_alone(monkeypatch):
    monkeypatch.setattr(base, "REMEMBERED_CANDIDATES", 1)
    made = letters()
    assert made.build(odd_slate(), (0, 1), Surface()) == letters().build(odd_slate(), (0, 1), Surface())
    assert len(made._slates) == 1


def test_texts_of_another_slate_in_the_same_place_are_not_taken():
    slate, made = odd_slate(), letters()
    other = Slate("t", "other", (Candidate("x", "else"), Candidate("y", "where")))
    made.build(other, (0, 1), Surface())
    # As in another process, where the ids of objects are given anew.
    made._slates[id(slate)] = made._slates.pop(id(other))
    assert made.build(slate, (0, 1), Surface()) == letters().build(slate, (0, 1), Surface())
    assert [held for held, _ in made._slates.values()] == [slate]
