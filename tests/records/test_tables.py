import numpy as np
import pytest

from evenhand.errors import ResumeError
from evenhand.records.tables import SCORES, part_table, recorded, rows_table, scores_table
from evenhand.types import Candidate, Plan, Presentation, Scored, Slate, Surface

SLATE = Slate("s", "q", tuple(Candidate(key, key) for key in "abc"))
# Order c a b cut into windows (c, b) and (a): c and b at slots 0 and 1 of window 0.
SHOWN = Presentation((2, 0, 1), ((2, 1), (0,)), Surface(markers="letters"))
CANONICAL = Presentation((0, 1, 2), ((0, 1, 2),))
PLAN = Plan((CANONICAL, SHOWN), ("canonical", "random"), exhaustive=True)
RESULTS = [
    Scored(
        np.array([0.1, np.nan, 0.3]),
        grades=np.array([[0.25, 0.75], [np.nan, np.nan], [1, 0]]),
        label_mass=np.array([0.9, np.nan, 0.8]),
        prompts=1,
        tokens=7,
        truncated=np.array([0, 4, 0]),
        escaped=np.array([1, 0, 0]),
        query_escaped=2,
    ),
    Scored.failed(3, "lost \ud800"),
]


def tables():
    part = part_table([(SLATE, PLAN, RESULTS)])
    return rows_table(part), scores_table(part, [SLATE])


def test_scores_stand_in_canonical_order_with_their_places():
    _, scores = tables()
    assert scores.schema.equals(SCORES)
    lines = scores.to_pylist()
    assert [line["candidate"] for line in lines] == ["a", "b", "c"] * 2
    # Of order c a b: a is second, b third, c first.
    assert [line["position"] for line in lines] == [0, 1, 2, 1, 2, 0]
    assert [line["slot"] for line in lines] == [0, 1, 2, 0, 1, 0]
    assert [line["window"] for line in lines] == [0, 0, 0, 1, 0, 0]
    assert [line["score"] for line in lines] == [0.1, None, 0.3, None, None, None]
    assert lines[0]["grades"] == [0.25, 0.75]
    assert lines[3]["grades"] is None
    assert lines[3]["failure"] == "lost \\ud800"


def test_a_record_comes_back_as_it_was():
    rows, scores = tables()
    back = recorded(SLATE, rows, scores)
    assert back.matrix.plan == PLAN
    np.testing.assert_array_equal(back.matrix.scores, [[0.1, np.nan, 0.3], [np.nan] * 3])
    np.testing.assert_array_equal(back.label_mass, [[0.9, np.nan, 0.8], [np.nan] * 3])
    np.testing.assert_array_equal(back.truncated, [[0, 4, 0], [0, 0, 0]])
    np.testing.assert_array_equal(back.escaped, [[1, 0, 0], [0, 0, 0]])
    assert back.failures == (None, "lost \\ud800")
    assert (back.prompts.tolist(), back.tokens.tolist()) == ([1, 0], [7, 0])
    assert back.query_escaped.tolist() == [2, 0]
    assert int(back.missing.sum()) == 4


def test_who_is_not_shown_stands_nowhere_and_is_not_missing():
    # b is not shown: windows (c, a) of order c a.
    out = Presentation((2, 0), ((2, 0),), omitted=(1,))
    plan = Plan((CANONICAL, out), ("canonical", "random"))
    results = [Scored(np.array([0.1, 0.2, 0.3])), Scored(np.array([0.1, np.nan, np.nan]))]
    part = part_table([(SLATE, plan, results)])
    scores = scores_table(part, [SLATE])
    for name, values in {"position": [1, -1, 0], "slot": [1, -1, 0], "window": [0, -1, 0]}.items():
        assert scores[name].to_pylist()[3:] == values
    assert scores["score"].to_pylist()[3:] == [0.1, None, None]
    back = recorded(SLATE, rows_table(part), scores)
    assert back.matrix.plan == plan
    # c is missing, b was not shown.
    assert back.missing.tolist() == [[False] * 3, [False, False, True]]


def test_a_slate_without_candidates_keeps_its_rows():
    empty = Slate("e", "q", ())
    plan = Plan((Presentation((), ()),) * 2, ("canonical", "repeat"))
    part = part_table([(empty, plan, [Scored(np.empty(0))] * 2)])
    back = recorded(empty, rows_table(part), scores_table(part, [empty]))
    assert back.matrix.scores.shape == (2, 0)
    assert back.matrix.plan == plan


def test_lines_of_another_slate_are_refused():
    rows, scores = tables()
    other = Slate("s", "q", tuple(Candidate(key, key) for key in "abd"))
    with pytest.raises(ResumeError, match="do not fit"):
        recorded(other, rows, scores)
    with pytest.raises(ResumeError, match="do not fit"):
        recorded(SLATE, rows, scores.slice(1))
