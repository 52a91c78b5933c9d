"""Grades resolved in their context, and a cut that is the same for all candidates."""

from __future__ import annotations

import pytest

from evenhand.errors import InputError, ScorerError
from evenhand.score.prompt import answer_line, common_cap, too_long
from words_tokenizer import Words


def test_grade_that_takes_the_space_with_it_is_read_before_the_space():
    # ": 3" is one token ":" and one token " 3": the readout stands on ":"
    tokens = Words(" 0", " 1", " 2", " 3")
    line = answer_line(tokens, "g: {grade}\n")
    assert line.head == tokens.literal("g:")
    assert line.grades == tuple(tokens.literal(f" {g}")[0] for g in "0123")
    assert line.tail == tokens.literal("\n")


def test_grade_with_its_own_space_is_read_on_the_space():
    tokens = Words()
    line = answer_line(tokens, "g: {grade}\n")
    assert line.head == tokens.literal("g: ")
    assert line.grades == tokens.literal("0123")


def test_grade_of_two_tokens_is_refused():
    with pytest.raises(ScorerError, match="different numbers of tokens"):
        answer_line(Words("10"), "g: {grade}\n", ("0", "1", "2", "13"))


def test_grades_that_share_an_id_are_refused():
    class Blind(Words):
        def literal(self, text):
            return super().literal(text.replace("3", "2"))

    with pytest.raises(ScorerError, match="not one distinct token"):
        answer_line(Blind(), "g: {grade}\n")


def test_grade_that_starts_the_line_is_refused():
    with pytest.raises(ScorerError, match="starts with the grade"):
        answer_line(Words(), "{grade} .")


@pytest.mark.parametrize(
    ("lengths", "room", "cap"),
    [
        ([50, 50, 50], 30, 10),  # 10 + 10 + 10
        ([50, 50, 50], 32, 10),  # 11 each would take 33
        ([5, 50, 50], 45, 20),  # 5 + 20 + 20
        ([5, 6], 100, 6),
        ([5, 6], 0, 0),
        ([], 3, 0),
        ([4], -1, -1),
    ],
)
def test_common_cap(lengths, room, cap):
    assert common_cap(lengths, room) == cap


def test_too_long_says_how_long_and_what_helps():
    error = too_long("q7", 410, 400, "a shorter query")
    assert isinstance(error, InputError)
    assert str(error) == (
        "slate 'q7': query and answer form alone take 410 tokens of a context of 400; nothing of them "
        "is ever cut. Use a shorter query or a longer context."
    )
