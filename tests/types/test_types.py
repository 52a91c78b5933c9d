"""The types: validated once, canonical both ways."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from evenhand import errors
from evenhand.errors import InputError, UsageError
from evenhand.types import (
    Candidate,
    Plan,
    Presentation,
    Scored,
    ScoreMatrix,
    Shown,
    Slate,
    Surface,
    slate_from_dict,
    slate_to_dict,
)


def slate(n=3, **fields):
    return Slate("q", "query", tuple(Candidate(f"c{i}", f"t{i}") for i in range(n)), **fields)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Candidate("", "t"), "candidate id must be a non-empty string, got ''"),
        (lambda: Candidate(3, "t"), "got 3"),
        (lambda: Candidate("\ud800", "t"), "lone surrogate"),
        (lambda: Candidate("a", None), "text of candidate 'a' must be a string, got NoneType"),
        (lambda: Candidate("a", "t", 3), "title of candidate 'a' must be a string"),
        (lambda: Slate("", "q", ()), "slate id must be"),
        (lambda: Slate("q", None, ()), "query of slate 'q' must be a string"),
        (
            lambda: Slate("q", "x", (Candidate("a", "1"), Candidate("a", "2"))),
            "'a' twice; ids must be unique",
        ),
        (lambda: Slate("q", "x", ("text",)), "'text' is not a Candidate"),
        (lambda: slate(grades={"c0": 1.5}), "grade of 'c0' must be an integer, got 1.5"),
        (lambda: slate(grades={"c0": True}), "must be an integer, got True"),
        (lambda: slate(grades={"c0": 2**31}), "grade of 'c0' is 2147483648; grades go from -1000"),
        (lambda: slate(grades={"c0": -1001}), "grade of 'c0' is -1001"),
        (lambda: slate(grades={"": 1}), "graded candidate id"),
        (
            lambda: slate(answers="Paris"),
            "answers of slate 'q' must be a list of strings, got a string",
        ),
        (lambda: slate(answers=("Paris", 3)), "an answer of slate 'q' must be a string, got int"),
        (lambda: slate(verdict=1), "verdict of slate 'q' must be a string, got int"),
    ],
)
def test_bad_slates_are_refused(build, message):
    with pytest.raises(InputError, match=message):
        build()


def test_gains_clamp_and_fill():
    graded = slate(grades={"c0": -2, "c2": 3, "elsewhere": 2})
    assert graded.gains().tolist() == [0, 0, 3]
    with pytest.raises(UsageError, match="slate 'q' has no grades"):
        slate().gains()


def test_slates_cannot_be_changed():
    graded = slate(grades={"c0": 1})
    with pytest.raises(AttributeError):
        graded.query = "other"
    with pytest.raises(TypeError):
        graded.grades["c0"] = 2


def test_slates_can_be_keys():
    graded, again = slate(grades={"c0": 1}), slate(grades={"c0": 1})
    assert {graded: 1}[again] == 1
    assert len({graded, slate(grades={"c0": 2})}) == 2


def test_null_answers_are_no_answers():
    record = {"id": "q", "query": "x", "candidates": [], "answers": None, "grades": None}
    assert slate_from_dict(record).answers == ()


def test_slate_survives_pickle_and_json():
    whole = Slate(
        "q",
        "why \ud800",
        (Candidate("a", "x\x00", "T"), Candidate("b", "")),
        {"a": 2, "z": 1},
        ("yes",),
        "NO",
    )
    assert pickle.loads(pickle.dumps(whole)) == whole
    assert slate_from_dict(slate_to_dict(whole)) == whole
    assert slate_from_dict(slate_to_dict(slate(0))) == slate(0)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ([], "a slate must be a JSON object, got list"),
        ({"id": "q", "query": "x"}, "slate without 'candidates'"),
        ({"id": "q", "query": "x", "candidates": [], "colour": 1}, "unknown keys .'colour'"),
        ({"id": "q", "query": "x", "candidates": "abc"}, "candidates must be a list"),
        ({"id": "q", "query": "x", "candidates": ["abc"]}, "must be an object, got 'abc'"),
        ({"id": "q", "query": "x", "candidates": [{"id": "a"}]}, "without 'text'"),
        (
            {"id": "q", "query": "x", "candidates": [{"id": "a", "text": "t", "rank": 1}]},
            "unknown keys .'rank'",
        ),
        ({"id": "q", "query": "x", "candidates": [], "grades": [1]}, "grades must be an object"),
        ({"id": "q", "query": "x", "candidates": [], "answers": "yes"}, "answers must be a list"),
        ({"id": "q", "query": "x", "candidates": [], "answers": 3}, "answers must be a list"),
        (
            {
                "id": "q",
                "query": "x",
                "candidates": [{"id": "a", "text": "t", "grade": 1}],
                "grades": {"a": 1},
            },
            "two grades for candidate 'a'",
        ),
    ],
)
def test_bad_records_are_refused(record, message):
    with pytest.raises(InputError, match=message):
        slate_from_dict(record)


def test_grade_beside_the_candidate_or_apart():
    beside = {"id": "q", "query": "x", "candidates": [{"id": "a", "text": "t", "grade": 2}]}
    apart = {"id": "q", "query": "x", "candidates": [{"id": "a", "text": "t"}], "grades": {"a": 2}}
    assert slate_from_dict(beside) == slate_from_dict(apart)


PRESENTATION = Presentation((2, 0, 3, 1), ((2, 3), (0, 1)))


def test_presentation_knows_both_directions():
    assert PRESENTATION.positions().tolist() == [1, 3, 0, 2]
    assert PRESENTATION.slots().tolist() == [0, 1, 0, 1]
    assert PRESENTATION.window_of().tolist() == [1, 1, 0, 0]
    # window (2, 3) gave 20, 30 and window (0, 1) gave 0, 10
    canonical = PRESENTATION.to_canonical([np.array([20.0, 30.0]), np.array([0.0, 10.0])])
    assert canonical.tolist() == [0.0, 10.0, 20.0, 30.0]
    wide = PRESENTATION.to_canonical([np.array([[2, 2], [3, 3]]), np.array([[0, 0], [1, 1]])])
    assert wide.tolist() == [[0, 0], [1, 1], [2, 2], [3, 3]]
    assert Presentation((), ()).to_canonical([]).shape == (0,)
    assert PRESENTATION.with_surface(Surface(dummy=1)).surface.dummy == 1


def test_who_is_not_shown_has_no_place_and_no_score():
    # 1 is not shown: windows (2, 0) and (3).
    shown = Presentation((2, 0, 3), ((2, 0), (3,)), omitted=(1,))
    assert len(shown) == 4
    assert shown.included().tolist() == [True, False, True, True]
    assert shown.positions().tolist() == [1, -1, 0, 2]
    assert shown.slots().tolist() == [1, -1, 0, 0]
    assert shown.window_of().tolist() == [0, -1, 0, 1]
    found = shown.to_canonical([np.array([0.2, 0.1]), np.array([0.3])])
    np.testing.assert_array_equal(found, [0.1, np.nan, 0.2, 0.3])
    wide = shown.to_canonical([np.array([[2.0, 2], [0, 0]]), np.array([[3.0, 3]])])
    np.testing.assert_array_equal(wide, [[0, 0], [np.nan, np.nan], [2, 2], [3, 3]])
    counts = shown.to_canonical([np.array([2, 1]), np.array([3])])
    assert (counts.tolist(), counts.dtype.kind) == ([1, 0, 2, 3], "i")
    assert shown.with_surface(Surface(dummy=1)).omitted == (1,)
    assert Shown(slate(4), shown).presentation is shown
    assert Presentation((0,), ((0,),), omitted=(2, 1)).omitted == (1, 2)
    plan = Plan((PRESENTATION, shown), ("canonical", "random"))
    assert plan.included().tolist() == [[True] * 4, [True, False, True, True]]
    assert Plan((), ()).included().shape == (0, 0)
    nothing = Presentation((), (), omitted=(0, 1))
    assert np.isnan(nothing.to_canonical([])).all()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Presentation((0, 1), ((0, 1),), omitted=(1,)), "not a permutation of 0..2 without"),
        (lambda: Presentation((0, 1), ((0, 1, 2),), omitted=(2,)), "every candidate of the order"),
        (lambda: Presentation((0, 0), ((0, 1),)), "not a permutation of 0..1"),
        (lambda: Presentation((0, 1), ((0,),)), "every candidate of the order exactly once"),
        (lambda: Presentation((0, 1), ((0, 1), ())), "at least one candidate"),
        (lambda: PRESENTATION.to_canonical([np.zeros(2)]), "1 windows of values for 2 windows"),
        (lambda: PRESENTATION.to_canonical([np.zeros(2), np.zeros(3)]), "3 values for a window of 2"),
        (lambda: Shown(slate(3), PRESENTATION), "has 3 candidates, its presentation 4"),
        (lambda: Scored(np.zeros((2, 2))), r"got shape \(2, 2\)"),
        (
            lambda: Scored(np.zeros(2), label_mass=np.zeros(3)),
            "label_mass holds 3 rows for 2 candidates",
        ),
        (lambda: Scored(np.zeros(2), grades=np.zeros(2)), r"grades must be \(n, G\), got shape \(2,\)"),
        (lambda: Scored(np.zeros(2), label_mass=np.array([0.5, -0.1])), "label_mass .* got -0.1"),
        (lambda: Scored(np.zeros(2), label_mass=np.array([0.5, 1.01])), "label_mass .* got 1.01"),
        (lambda: Scored(np.zeros(2), label_mass=np.zeros((2, 1))), r"got shape \(2, 1\)"),
        (lambda: Scored(np.zeros(2), prompts=-1), "prompts must be a whole number .* got -1"),
        (lambda: Scored(np.zeros(2), tokens=1.5), "tokens must be a whole number .* got 1.5"),
        (lambda: Scored(np.zeros(2), prompts=True), "prompts must be a whole number .* got True"),
        (lambda: Scored(np.zeros(2), failure=ValueError("x")), "failure must be a text or None"),
        (lambda: Plan((PRESENTATION,), ()), "one kind per presentation"),
        (lambda: ScoreMatrix(np.zeros((2, 4)), Plan((PRESENTATION,), ("canonical",))), "for 1 rows"),
    ],
)
def test_mismatches_are_refused(build, message):
    with pytest.raises(UsageError, match=message):
        build()


def test_matrix_gives_its_rows_by_kind():
    plan = Plan((PRESENTATION,) * 4, ("canonical", "random", "random", "repeat"))
    matrix = ScoreMatrix(np.arange(16).reshape(4, 4), plan)
    assert matrix.canonical.tolist() == [0, 1, 2, 3]
    assert matrix.random.tolist() == [[4, 5, 6, 7], [8, 9, 10, 11]]
    assert matrix.repeat.tolist() == [12, 13, 14, 15]
    assert matrix.random_presentations == (PRESENTATION,) * 2
    assert [one.row for one in plan.shown(slate(4))] == [0, 1, 2, 3]
    bare = ScoreMatrix(np.zeros((1, 4)), Plan((PRESENTATION,), ("random",)))
    assert np.isnan(bare.canonical).all()


def test_a_missing_score_has_a_missing_mass_and_rounding_is_no_fault():
    mass = np.array([np.nan, 1 + 1e-7, 0.0])
    assert Scored(np.zeros(3), label_mass=mass, prompts=np.int64(2)).label_mass is mass


def test_failed_scores_are_missing():
    failed = Scored.failed(3, "no answer", prompts=1)
    assert np.isnan(failed.scores).all()
    assert (failed.failure, failed.prompts) == ("no answer", 1)


def test_errors_carry_place_and_exit_code():
    error = InputError("bad", path="f.jsonl", line=3)
    assert str(error) == "f.jsonl:3: bad"
    assert str(InputError("bad", path="f")) == "f: bad"
    missing = errors.MissingExtraError("plotly", "report")
    assert "pip install 'evenhand[report]'" in str(missing)
    back = pickle.loads(pickle.dumps(missing))
    assert (str(back), back.module, back.extra) == (str(missing), "plotly", "report")
    for error in (InputError("bad", path="f.jsonl", line=3), errors.ResumeError("bad", path="f")):
        copy = pickle.loads(pickle.dumps(error))
        assert (str(copy), copy.path, copy.line) == (str(error), error.path, error.line)
    codes = (
        (UsageError, 2),
        (errors.MissingExtraError, 3),
        (InputError, 4),
        (errors.ResumeError, 4),
        (errors.NothingMeasuredError, 5),
        (errors.ScorerError, 6),
    )
    assert all(error.exit_code == code for error, code in codes)


def test_title_opens_the_full_text():
    assert Candidate("a", "text", "Title").full_text == "Title: text"
    assert Candidate("a", "text", "  ").full_text == "text"
