import pytest

from evenhand.present.texts import SKELETONS
from evenhand.score.services.written import OTHER, RANGE, REPEATED, UNKNOWN, parse_written

FORM = SKELETONS["grade"]
THREE = ("[1]", "[2]", "[3]")


def test_the_filled_in_form():
    found = parse_written("Grades:\n[1] Grade: 2\n[2] Grade: 0\n[3] Grade: 3\n", THREE, FORM)
    assert (found.grades, found.refused) == ((2, 0, 3), {})


def test_order_space_and_empty_lines_do_not_matter():
    found = parse_written("\n  [3] Grade: 1  \r\n\n[1] Grade: 0\n\t[2] Grade: 3", THREE, FORM)
    assert (found.grades, found.refused) == ((0, 3, 1), {})


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("[1] Grade: 4", RANGE),
        ("[1] Grade: -1", RANGE),
        ("[1] Grade: 2.5", RANGE),
        ("[1] Grade: 02", RANGE),
        ("[1] Grade: ２", RANGE),
        ("[1] Grade: 2 out of 3", RANGE),
        ("[1] Grade: high", RANGE),
        ("[4] Grade: 2", UNKNOWN),
        ("[0] Grade: 2", UNKNOWN),
        ("1 Grade: 2", UNKNOWN),
        ("[1]: 2", OTHER),
        ("[1] grade: 2", OTHER),
        ("[1] Grade:2", OTHER),
        ("- [1] Grade: 2", OTHER),
        ("I would say that [1] Grade: 2", OTHER),
        ("Grades:", OTHER),
        ("```", OTHER),
    ],
)
def test_a_line_is_refused_and_counted_and_leaves_no_grade(line, reason):
    found = parse_written(f"[2] Grade: 1\n{line}", THREE, FORM)
    assert found.grades == (None, 1, None)
    assert found.refused == {reason: 1}


def test_of_two_lines_for_one_slot_the_first_stands():
    found = parse_written("[1] Grade: 3\n[1] Grade: 0\n[1] Grade: 3", THREE, FORM)
    assert found.grades == (3, None, None)
    assert found.refused == {REPEATED: 2}


def test_a_refused_line_does_not_take_the_slot():
    found = parse_written("[1] Grade: 9\n[1] Grade: 2", THREE, FORM)
    assert (found.grades, found.refused) == ((2, None, None), {RANGE: 1})


@pytest.mark.parametrize(
    ("skeleton", "text"),
    [("score", "Scores:\n[qx] Score: 1\n[ab] Score: 2"), ("bare", "[qx]: 1\n[ab]: 2")],
)
def test_other_skeletons_and_markers(skeleton, text):
    found = parse_written(text, ("[qx]", "[ab]"), SKELETONS[skeleton])
    assert (found.grades, found.refused) == ((1, 2), {})


def test_nothing_written():
    assert parse_written("", THREE, FORM).grades == (None, None, None)
    assert parse_written("", (), FORM).grades == ()


def test_a_thought_is_no_answer():
    thought = "<think>\n[1] Grade: 3\n[2] Grade: 3\n"
    found = parse_written(f"{thought}</think>\n\n[1] Grade: 0", THREE, FORM)
    assert (found.grades, found.refused) == ((0, None, None), {})
    # some templates open the thought themselves
    found = parse_written("[1] Grade: 3\n</think>\n[2] Grade: 1", THREE, FORM)
    assert found.grades == (None, 1, None)
    # cut off while thinking
    assert parse_written(thought, THREE, FORM).grades == (None, None, None)
