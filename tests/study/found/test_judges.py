"""Slates of two, judged in both orders, from records to the report."""

import math

import numpy as np
import pytest

from evenhand.decide.preference import KINDS, PairVerdict
from evenhand.report.result import audit
from evenhand.report.table import build
from evenhand.score.function import scorer
from evenhand.study.analysis import Analysis
from evenhand.study.found.judges import better, pair_verdict
from evenhand.study.found.summary import analysis_from_dict, analysis_to_dict
from evenhand.types import Candidate, Plan, Presentation, Slate

NAN = float("nan")
BOTH = [(0, 1), (1, 0)]


def pair(kit, rows, orders=BOTH, grades=None, ids="ab"):
    slate = kit.slate(ids=ids, grades=grades)
    plan = kit.plan(orders, exhaustive=True)
    canonical = [0.0] * len(ids)
    return kit.record(slate, plan, [canonical, *rows, canonical])


def test_the_verdict_is_over_the_random_rows(kit):
    # Row (a b) says a, row (b a) says b: whoever stands first.
    found = pair_verdict(pair(kit, [[0.9, 0.1], [0.2, 0.8]], grades={"a": 1}))
    assert found == (PairVerdict("disagreement", place=0), 0)
    found = pair_verdict(pair(kit, [[0.1, 0.9], [0.2, 0.8]], grades={"a": 1, "b": 1}))
    assert found == (PairVerdict("agreed", winner=1), None)
    assert pair_verdict(pair(kit, [[0.5, 0.5], [0.7, 0.7]]))[0].kind == "judged_tie"
    assert pair_verdict(pair(kit, [[NAN, 0.5], [0.7, 0.7]]))[0].kind == "missing"


def test_other_slates_and_rows_are_no_judgement(kit):
    three = pair(kit, [[1.0, 0.5, 0.2]] * 2, [(0, 1, 2), (1, 0, 2)], ids="abc")
    assert pair_verdict(three) is None
    # One order only, and two windows of one candidate each.
    assert pair_verdict(pair(kit, [[0.9, 0.1]] * 2, [(0, 1), (0, 1)])) is None
    cut = tuple(Presentation(order, tuple((i,) for i in order)) for order in ((0, 1), *BOTH))
    apart = kit.record(
        kit.slate(ids="ab"), Plan(cut, ("canonical", "random", "random")), np.zeros((3, 2))
    )
    assert pair_verdict(apart) is None


def test_the_better_candidate_has_the_higher_grade(kit):
    assert better(kit.slate(ids="ab", grades={"b": 2, "a": 1})) == 1
    assert better(kit.slate(ids="ab", grades={"a": 1})) == 0
    assert better(kit.slate(ids="ab", grades={"a": 1, "b": 1})) is None
    assert better(kit.slate(ids="ab")) is None


def slates(count=4):
    """Pairs; the first candidate is the better one in half of them, the second in the others."""
    return [
        Slate(
            f"q{i}", f"query {i}", (Candidate("a", f"a{i}"), Candidate("b", f"b{i}")), {"ab"[i % 2]: 1}
        )
        for i in range(count)
    ]


def facts(result):
    (section,) = (one for one in build([result.analysis]).sections if one.title == "Judge of two")
    return {row.label: row.cells[0].value for row in section.rows}


def test_a_judge_that_loves_the_first_place_is_told(tmp_path):
    result = audit(scorer(lambda query, texts: [1.0, 0.0]), slates(), rows=4, out=tmp_path / "run")
    judge = result.analysis.judge
    assert judge.shares == {kind: float(kind == "disagreement") for kind in KINDS}
    # Every tie is by disagreement, all won by the first slot; a tie is half right.
    assert (judge.first_place, judge.accuracy, judge.slates, judge.gold) == (1.0, 0.5, 4, 4)
    assert math.isnan(judge.accuracy_decided)
    assert facts(result) == {
        "slates of two": "4", "agreed": "0.000", "judged ties": "0.000",
        "ties by disagreement": "1.000", "won by the first slot": "1.000", "half ties": "0.000",
        "without scores": "0.000", "right, ties one half": "0.500", "right of the agreed": "–",
    }  # fmt: skip
    assert "Judge of two" in result.table()
    assert "ties by disagreement" in result.to_markdown()


def test_a_judged_tie_is_another_kind():
    result = audit(scorer(lambda query, texts: [0.5, 0.5]), slates(), rows=4)
    assert (facts(result)["judged ties"], facts(result)["ties by disagreement"]) == ("1.000", "0.000")
    assert facts(result)["won by the first slot"] == "–"


def test_an_honest_judge_agrees_with_itself():
    honest = audit(scorer(lambda query, texts: [float(t[0] == "a") for t in texts]), slates(), rows=4)
    # a is the better one in two of four slates.
    assert facts(honest)["agreed"] == "1.000"
    assert (facts(honest)["right, ties one half"], facts(honest)["right of the agreed"]) == (
        "0.500",
        "0.500",
    )


def test_it_comes_back_from_the_summary():
    result = audit(scorer(lambda query, texts: [1.0, 0.0]), slates(), rows=4)
    record = analysis_to_dict(result.analysis)
    assert record["judge"]["accuracy_decided"] is None
    back = analysis_from_dict(record)
    assert isinstance(back, Analysis)
    assert back.judge.shares == result.analysis.judge.shares
    assert analysis_to_dict(back) == record
    del record["judge"]
    assert analysis_from_dict(record).judge is None


@pytest.mark.parametrize("size", [1, 3])
def test_slates_of_another_size_have_no_such_section(size):
    texts = tuple(Candidate(f"c{i}", f"t{i}") for i in range(size))
    given = [
        Slate("q", "query", texts),
        Slate("r", "query", (*texts, Candidate("more", "more"), Candidate("x", "x"))),
    ]
    result = audit(scorer(lambda query, texts: [1.0] * len(texts)), given, rows=2)
    assert result.analysis.judge is None
    assert "Judge of two" not in result.table()
