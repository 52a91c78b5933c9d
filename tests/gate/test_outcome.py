from __future__ import annotations

import itertools

import pytest

from evenhand.errors import UsageError
from evenhand.gate.outcome import PRECEDENCE, Outcome, gravest

CODES = {
    "passed": 0,
    "failed": 1,
    "nothing measured": 5,
    "nothing scored": 6,
    "partly scored": 7,
    "inconclusive": 8,
}
# Whatever else is there, the first of these that is there gives the code; none of them: passed.
ORDER = ("failed", "nothing scored", "nothing measured", "partly scored", "inconclusive")
BY_WORD = {end.word: end for end in Outcome}


def test_words_and_codes():
    assert {end.word: end.exit_code for end in Outcome} == CODES


@pytest.mark.parametrize("there", list(itertools.product([False, True], repeat=len(ORDER))))
def test_the_whole_truth_table(there):
    words = [word for word, is_there in zip(ORDER, there, strict=True) if is_there]
    expected = CODES[words[0]] if words else 0
    for given in itertools.permutations([*words, "passed"]):
        assert gravest(BY_WORD[word] for word in given).exit_code == expected


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["passed"], 0),
        (["passed", "failed"], 1),
        (["partly scored", "failed"], 1),
        (["nothing scored", "failed"], 1),
        (["nothing scored"], 6),
        (["nothing scored", "passed"], 6),
        (["nothing scored", "partly scored"], 6),
        (["nothing measured", "inconclusive"], 5),
        (["partly scored", "inconclusive", "passed"], 7),
        (["inconclusive", "passed"], 8),
    ],
)
def test_rows_of_the_table_by_hand(words, code):
    assert gravest(BY_WORD[word] for word in words).exit_code == code


def test_every_outcome_has_its_place():
    assert sorted(PRECEDENCE, key=str) == sorted(Outcome, key=str)


def test_nothing_judged_has_not_passed():
    with pytest.raises(UsageError, match="nothing was judged"):
        gravest([])
