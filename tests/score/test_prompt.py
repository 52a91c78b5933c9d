"""Grades resolved in their context, and a cut that is the same for all candidates."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from evenhand.errors import InputError, ScorerError
from evenhand.score.prompt import (
    Row,
    answer_line,
    common_cap,
    joined,
    plain_rows,
    row_of,
    too_long,
)
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


def test_a_row_is_the_tuple_of_its_numbers():
    row, plain = Row(row_of([5, 6, 5])), (5, 6, 5)
    assert (row, list(row), len(row)) == (plain, [5, 6, 5], 3)
    assert plain == row
    assert row == [5, 6, 5]
    assert row == Row(row_of(plain))
    assert row != (5, 6)
    assert row != (5, 6, 7)
    assert row != "565"
    assert (row[1], row[-1], row[1:], row[:0]) == (6, 5, (6, 5), ())
    assert type(row[1]) is type(next(iter(row))) is type(row[1:][0]) is int
    assert (row.count(5), row.count(7), row.index(6), 6 in row) == (2, 0, 1, True)
    assert len({row, plain, Row(row_of([5, 6, 5]))}) == 1
    assert repr(row) == "Row([5, 6, 5])"


def test_a_row_travels_and_becomes_an_array():
    row = Row(row_of([5, 6, 5]))
    assert pickle.loads(pickle.dumps(row)) == copy.deepcopy(row) == row
    assert np.asarray(row, dtype=np.int32) is row.array
    assert np.asarray(row, dtype=np.int64).tolist() == [5, 6, 5]
    assert joined([row.array, row_of([])]) == (5, 6, 5)


@pytest.mark.parametrize("length", [0, 1, 4096, 4097, 9000])
def test_rows_of_a_prompt_without_branches(length):
    branches, positions = plain_rows(length)
    assert branches == (0,) * length
    assert positions == tuple(range(length))
    assert len(pickle.dumps(positions)) < 4 * length + 400


def test_what_prompts_share_cannot_be_written():
    with pytest.raises(ValueError, match="read-only"):
        plain_rows(3)[0].array[0] = 1
