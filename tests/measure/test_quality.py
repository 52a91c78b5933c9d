import math

import numpy as np
import pytest

from evenhand.measure.quality import quality, ranking_quality, set_quality, ungraded
from evenhand.seeds import tie_ranks
from evenhand.types import Candidate, Slate

NAN = float("nan")


def slate(ids, grades, name="q"):
    return Slate(name, "a query", tuple(Candidate(key, f"text {key}") for key in ids), grades)


# Canonical a, b, c; "missed" was judged but not retrieved.
GRADED = slate("abc", {"a": 3, "b": 2, "c": 0, "missed": 1})
# Scored b, a, c.
SCORES = [[0.5, 0.9, 0.1]]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        # DCG 2 + 3 / log2(3) = 3.8928; ideal 3, 2, 1: 3 + 2 / log2(3) + 1 / 2 = 4.7619.
        ("nDCG@10", 3.892789 / 4.761860),
        ("nDCG", 3.892789 / 4.761860),
        # At depth 1: 2 / 3.
        ("nDCG@1", 2 / 3),
        # Three are relevant, found at 1 and 2: (1 + 1) / 3.
        ("AP", 2 / 3),
        # Grade 2 and up: two, at 1 and 2.
        ("AP(rel=2)", 1.0),
        # Grade 3: one, at 2.
        ("RR(rel=3)", 0.5),
        ("RR(rel=3)@1", 0.0),
        ("P@3", 2 / 3),
        ("R@1", 1 / 3),
        ("R(rel=2)@1", 1 / 2),
    ],
)
def test_by_hand(name, value):
    assert quality(name, GRADED, SCORES) == pytest.approx([value], abs=1e-6)


def test_worked_example_has_equal_quality():
    example = slate("ABCDEF", dict(zip("ABCDEF", (3, 3, 2, 2, 1, 0), strict=True)))
    rows = [[0.83, 0.80, 0.52, 0.48, 0.29, 0.08], [0.81, 0.78, 0.49, 0.51, 0.30, 0.07]]
    # Both rank by grade, so both are ideal.
    assert quality("nDCG@10", example, rows) == pytest.approx([1.0, 1.0])


def test_negative_grades_are_no_gain():
    negative = slate("ab", {"a": -2, "b": 1})
    # b at rank 2: 1 / log2(3); the ideal is 1.
    assert quality("nDCG@10", negative, [[2, 1]]) == pytest.approx([1 / math.log2(3)])
    assert quality("AP", negative, [[2, 1]]) == pytest.approx([0.5])


@pytest.mark.parametrize("ids", [("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")])
def test_ties_follow_the_hash_whatever_the_input_order(ids):
    # Judged b = 1, all scores equal: b is first or second by the hash of its id.
    found = quality("nDCG@10", slate(ids, {"b": 1}), [[1.0, 1.0]])
    place = tie_ranks("q", ids)[ids.index("b")]
    assert found == pytest.approx([1.0 if place == 0 else 1 / math.log2(3)])


def test_ties_are_not_broken_by_the_evaluator():
    # trec_eval would put the larger id first in every slate; over slates the hash does not.
    slates = [slate(("a", "b"), {"b": 1}, f"q{i}") for i in range(20)]
    found = ranking_quality(["RR"], slates, [[[1.0, 1.0]]] * 20)["RR"]
    assert {float(values[0]) for values in found} == {0.5, 1.0}


def test_slates_without_anything_relevant_count_zero():
    # As trec_eval; no grades at all is undefined.
    judged, empty, none = slate("ab", {"a": 0}), slate("ab", {}), slate("ab", None)
    for name in ("nDCG@10", "AP", "RR", "P@2", "R@2"):
        assert quality(name, judged, [[2, 1]]) == [0.0]
        assert quality(name, empty, [[2, 1]]) == [0.0]
        assert np.isnan(quality(name, none, [[2, 1]])).all()
    assert ungraded([judged, empty, none, GRADED]) == (1, 2)
    assert ungraded([GRADED], rel=4) == (0, 1)


def test_a_judged_slate_without_candidates_counts_zero_in_the_ranking():
    found = ranking_quality(["AP"], [slate("", {"z": 1}), slate("", None)], [np.zeros((2, 0))] * 2)[
        "AP"
    ]
    assert found[0].tolist() == [0.0, 0.0]
    assert np.isnan(found[1]).all()
    # The filter had nothing to keep or drop.
    assert np.isnan(set_quality("F1", slate("", {"z": 1}), np.zeros((1, 0)), 0.5)).all()


def test_grades_and_candidates_disagree():
    # Judged 1 and 2, shown 1 and 9; q2 has no judgment, q9 no grades.
    slates = [
        slate(("1", "9"), {"1": 1, "2": 1}, "q1"),
        slate(("1",), {}, "q2"),
        slate(("1",), None, "q9"),
    ]
    found = ranking_quality(["R@5"], slates, [[[2, 1]], [[1]], [[1]]])["R@5"]
    # One of two relevant is found; q2 counts 0; q9 is left out.
    assert found[0] == [0.5]
    assert found[1] == [0.0]
    assert np.isnan(found[2]).all()


def test_missing_scores_are_not_in_the_run():
    # Without a score b is not retrieved: a first, DCG 3 against 4.7619.
    found = quality("nDCG@10", GRADED, [[0.5, NAN, 0.1], [NAN, NAN, NAN]])
    assert found[0] == pytest.approx(3 / 4.761860, abs=1e-6)
    assert math.isnan(found[1])


def test_many_slates_and_rows_equal_one_by_one():
    rng = np.random.default_rng(0)
    slates = [
        slate(
            [f"d{i}" for i in range(n)], {f"d{i}": int(rng.integers(0, 4)) for i in range(n)}, f"q{n}"
        )
        for n in (3, 12, 7)
    ]
    scores = [rng.integers(0, 5, (rows, len(s))) for rows, s in zip((2, 1, 3), slates, strict=True)]
    names = ["nDCG@10", "AP(rel=2)", "RR@10", "P@5"]
    together = ranking_quality(names, slates, scores)
    for name in names:
        for found, one, rows in zip(together[name], slates, scores, strict=True):
            np.testing.assert_array_equal(found, quality(name, one, rows))


def test_nothing_to_evaluate():
    found = ranking_quality(["AP"], [slate("ab", None)], [[[1, 2], [2, 1]]])["AP"]
    assert found[0].shape == (2,)
    assert np.isnan(found[0]).all()


def test_ids_may_be_any_text():
    odd = slate(("d 1", "数\t2", "#"), {"数\t2": 2, "#": 1}, "q\n1")
    # Ranked as graded.
    assert quality("nDCG@10", odd, [[0, 2, 1]]) == pytest.approx([1.0])


def test_retained_sets_by_hand():
    # Relevant among the candidates: a, b. Row 0 keeps b and c: 1 of 2 kept, 1 of 2 found.
    # Row 1 keeps all three: P 2/3, R 1, F1 2 * 2 / (3 + 2). Row 2 keeps nothing: 0.
    rows = [[0.1, 0.9, 0.8], [0.5, 0.9, 0.8], [0, 0, 0], [NAN, NAN, NAN], [NAN, 0.9, 0.1]]
    assert set_quality("SetP", GRADED, rows, 0.5)[:3] == pytest.approx([0.5, 2 / 3, 0.0])
    assert set_quality("SetR", GRADED, rows, 0.5)[:3] == pytest.approx([0.5, 1.0, 0.0])
    f1 = set_quality("F1", GRADED, rows, 0.5)
    assert f1[:3] == pytest.approx([0.5, 0.8, 0.0])
    # A row without scores is undefined; in the last b alone is kept: 2 * 1 / (1 + 2).
    assert math.isnan(f1[3])
    assert f1[4] == pytest.approx(2 / 3)
    # Grade 3 only: a. Row 1 keeps it among three: 2 / (3 + 1).
    assert set_quality("F1", GRADED, rows, 0.5, rel=3)[1] == pytest.approx(0.5)


def test_retained_sets_without_grades_or_scores():
    assert np.isnan(set_quality("F1", slate("ab", None), [[1, 2]], 0.5)).all()
    assert np.isnan(set_quality("F1", GRADED, [[NAN] * 3], 0.5)).all()
    assert set_quality("F1", slate("ab", {"a": 0}), [[1, 2]], 0.5) == [0.0]
    assert set_quality("F1", GRADED, [[0, 0, 0]], 0.5) == [0.0]
