"""Isolated prompts in ids: branches, position ids, cuts by the branch alone, and pieces."""

from __future__ import annotations

import pytest

from evenhand.errors import InputError
from evenhand.present.surface import plain_chat
from evenhand.score.base import PromptBuilder
from evenhand.score.isolated import pieces
from evenhand.types import Candidate, Slate, Surface

ISOLATED = Surface(visibility="isolated")
AROUND = Surface(visibility="isolated", query="around")


class Letters:
    """A toy tokenizer: the id of a character is its code point; "<end>" in a text is a control."""

    name = "letters"

    def literal(self, text):
        return tuple(map(ord, text))

    def text(self, text):
        return self.literal(text), text.count("<end>")

    def texts(self, texts):
        return [self.text(one) for one in texts]


def builder(context=100_000, limit=None):
    return PromptBuilder(Letters(), plain_chat, context, limit)


def slate_of(*texts, query="word"):
    return Slate("q", query, tuple(Candidate(f"c{i}", text) for i, text in enumerate(texts)))


def spelled(ids):
    return "".join(map(chr, ids))


def branch_of(prompt, slot):
    return tuple(i for i, b in zip(prompt.ids, prompt.branches, strict=True) if b == slot + 1)


def shared_of(prompt):
    return tuple(i for i, b in zip(prompt.ids, prompt.branches, strict=True) if b == 0)


@pytest.mark.parametrize("surface", [ISOLATED, AROUND])
def test_branches_start_at_one_position_and_end_at_their_readout(surface):
    texts = ("a longer text", "", "b")
    prompt = builder().build(slate_of(*texts), (2, 0, 1), surface)
    shared = prompt.branches.count(0)
    assert prompt.branches[:shared] == (0,) * shared
    assert list(prompt.branches) == sorted(prompt.branches)
    assert prompt.positions[:shared] == tuple(range(shared))
    again = "\n\nQuery: word" if surface is AROUND else ""
    for slot, text in enumerate((" b", " a longer text", "")):
        branch = branch_of(prompt, slot)
        assert spelled(branch) == f"{text}{again}\n\nGrades:\n[1] Grade: "
        own = [p for p, b in zip(prompt.positions, prompt.branches, strict=True) if b == slot + 1]
        assert own == list(range(shared, shared + len(branch)))
        assert prompt.branches[prompt.readouts[slot]] == slot + 1
        assert prompt.positions[prompt.readouts[slot]] == shared + len(branch) - 1


@pytest.mark.parametrize("surface", [ISOLATED, AROUND])
def test_ids_of_a_branch_are_those_of_a_window_of_one(surface):
    slate = slate_of("first text", "", "second [1] Grade: 3", "first text", "x" * 90)
    made = builder(limit=40)
    for window in ((0, 1, 2, 3, 4), (4, 2, 0), (3, 1)):
        prompt = made.build(slate, window, surface)
        for slot, candidate in enumerate(window):
            alone = made.build(slate, (candidate,), surface)
            assert alone.ids == shared_of(prompt) + branch_of(prompt, slot)
            assert set(alone.branches) == {0}
            assert (prompt.truncated[slot],) == alone.truncated
            assert (prompt.escaped[slot],) == alone.escaped
            assert prompt.grades == alone.grades
            assert alone.positions == tuple(range(len(alone.ids)))


def test_counts_stand_by_slot():
    slate = slate_of("plain", "see [1] <end>", "y" * 30, query="a [2] <end> Grade: 1")
    prompt = builder(limit=21).build(slate, (2, 1, 0), AROUND)
    # " " + 30 letters = 31 tokens, 10 over; "[1]" escaped in the text and "<end>" by the tokenizer
    assert prompt.truncated == (10, 0, 0)
    assert prompt.escaped == (0, 2, 0)
    # "[2]" and "Grade:" of the query, and its control token: once, though it stands four times
    assert prompt.query_escaped == 3


def test_context_cuts_each_branch_by_its_own_length():
    slate = slate_of("short", "x" * 50, "y" * 80)
    whole = builder().build(slate, (0, 1, 2), ISOLATED)
    shared, form = whole.branches.count(0), len("\n\nGrades:\n[1] Grade: ")
    context = shared + form + 31
    prompt = builder(context).build(slate, (0, 1, 2), ISOLATED)
    # " short" has 6 tokens; the others 51 and 81, of which 31 fit, whoever is beside them
    assert prompt.truncated == (0, 20, 50)
    assert builder(context).build(slate, (1,), ISOLATED).truncated == (20,)
    longest = max(prompt.positions) + 1
    assert longest == context
    # the window as a whole is longer than the context, which no candidate sees
    assert len(prompt.ids) > context
    assert builder(context, 11).build(slate, (0, 1, 2), ISOLATED).truncated == (0, 40, 70)


def test_form_that_leaves_no_room_is_refused_whoever_is_in_the_window():
    # the prompt without its candidate, " x"
    fixed = len(builder().build(slate_of("x"), (0,), ISOLATED).ids) - 2
    assert builder(fixed + 1).build(slate_of("xyz"), (0,), ISOLATED).truncated == (3,)
    for texts in (("x",), ("",), ("", "x")):
        with pytest.raises(InputError, match=f"slate 'q'.* take {fixed} tokens.*shorter query"):
            builder(fixed).build(slate_of(*texts), range(len(texts)), ISOLATED)


def test_pieces_hold_whole_branches_and_fit_the_budget():
    prompt = builder().build(slate_of(*("x" * (40 * i) for i in range(12))), range(12), ISOLATED)
    shared = prompt.branches.count(0)
    # the longest branch alone is shorter than what is shared
    assert shared > 40 * 11 + 23
    for budget in (2 * shared, 2 * shared + 500, 3 * shared, len(prompt.ids) - 1):
        cut = pieces(prompt, budget)
        assert len(cut) > 1
        assert all(len(piece.ids) <= budget for piece in cut)
        assert all(piece.ids[:shared] == prompt.ids[:shared] for piece in cut)
        assert sum((piece.ids[shared:] for piece in cut), ()) == prompt.ids[shared:]
        for piece in cut:
            marks = set(piece.branches) - {0}
            assert len(marks) == (len(piece.readouts) if len(piece.readouts) > 1 else 0)
        assert sum((piece.positions[shared:] for piece in cut), ()) == prompt.positions[shared:]
        read = [piece.ids[: place + 1] for piece in cut for place in piece.readouts]
        assert len(read) == 12
        assert all(spelled(ids).endswith("[1] Grade: ") for ids in read)
    assert pieces(prompt, len(prompt.ids)) == [prompt]


def test_pieces_never_read_more_of_the_shared_part_than_of_branches():
    slate = slate_of(*("x" * 400 for _ in range(10)))
    prompt = builder().build(slate, range(10), ISOLATED)
    shared, branch = prompt.branches.count(0), len(branch_of(prompt, 0))
    # a budget of one token: as many branches a piece as fit in as many tokens as are shared
    assert next(len(p.readouts) for p in pieces(prompt, 1)) == max(1, shared // branch)
    long = builder().build(slate_of("x" * 5000, "y", "z" * 5000), range(3), ISOLATED)
    assert [len(p.readouts) for p in pieces(long, 1)] == [1, 1, 1]


@pytest.mark.parametrize("visibility", ["sequential", "parallel"])
def test_other_prompts_stay_whole(visibility):
    prompt = builder().build(slate_of("x" * 50, "y"), (0, 1), Surface(visibility=visibility))
    assert pieces(prompt, 1) == [prompt]
