import math

import pytest

from evenhand.decide.fitness import Judged, fitness, gold_columns
from evenhand.errors import UsageError
from evenhand.types import Candidate, Slate

NAN = float("nan")


def a_slate(grades, verdict=None, answers=()):
    return Slate("q", "?", tuple(Candidate(one, one) for one in "abcd"), grades, answers, verdict)


def test_gold_evidence():
    graded = {"d": 2, "b": 1, "a": 1, "elsewhere": 3}
    slate = a_slate(graded, "SUPPORTS", ("x",))
    assert gold_columns(slate, "answer", top=None) == (0, 1, 3)
    # of more than `top` the highest grades, shown in canonical order
    assert gold_columns(slate, "verdict", top=2) == (0, 3)
    assert gold_columns(slate, "answer", top=None, min_grade=2) == (3,)


def test_slates_without_gold_or_evidence_say_nothing():
    assert gold_columns(a_slate(None, "SUPPORTS", ("x",)), "answer", top=5) is None
    assert gold_columns(a_slate({"a": 1}, "DISPUTED"), "verdict", top=5) is None
    assert gold_columns(a_slate({"a": 1}), "answer", top=5) is None
    assert gold_columns(a_slate({"a": 0}, "SUPPORTS"), "verdict", top=5) is None
    # nothing is the evidence of a claim on which there is not enough
    assert gold_columns(a_slate({"a": 0}, "NOT_ENOUGH_INFO"), "verdict", top=5) == ()


def verdicts(*pairs):
    return [Judged(gold, said, float(gold == said), float(gold == bare)) for gold, said, bare in pairs]


def test_a_constant_reader_is_unfit():
    golds = ["SUPPORTS", "SUPPORTS", "SUPPORTS", "REFUTES"]
    found = fitness("verdict", verdicts(*[(gold, "SUPPORTS", "SUPPORTS") for gold in golds]))
    assert found.accuracy.mean == found.majority == 0.75
    assert (found.fit, found.majority_label) == (False, "SUPPORTS")
    assert found.gold == {"REFUTES": 1, "SUPPORTS": 3}
    assert found.outputs == {"SUPPORTS": 4}
    assert "0.750" in found.reason


def test_a_reader_that_needs_no_evidence_is_unfit():
    found = fitness("verdict", verdicts(("SUPPORTS", "SUPPORTS", "SUPPORTS"), ("REFUTES",) * 3))
    assert (found.accuracy.mean, found.accuracy_bare.mean, found.fit) == (1, 1, False)
    assert "+0.000" in found.reason


def test_a_reader_that_reads_is_fit():
    rows = [("SUPPORTS", "SUPPORTS", "REFUTES"), ("REFUTES", "REFUTES", "REFUTES")] * 5
    found = fitness("verdict", verdicts(*rows))
    # right on all with evidence, on half without, majority one half
    assert (found.accuracy.mean, found.accuracy_bare.mean, found.majority) == (1, 0.5, 0.5)
    assert found.fit is True
    # Of ten slates five rise by 1: the bootstrap mean never comes near 0.
    assert "by 0.500 [0." in found.reason
    # One slate in ten above the majority, and rises of 1 on 7 and -1 on 3, are within chance.
    near = [("SUPPORTS", "SUPPORTS", "REFUTES")] * 6 + [("REFUTES", "SUPPORTS", "REFUTES")] * 4
    near[-1] = ("REFUTES", "REFUTES", "SUPPORTS")
    weak = fitness("verdict", verdicts(*near))
    assert weak.fit is None
    assert "raises its accuracy by 0.400 [" in weak.reason
    assert "may be chance" in weak.reason


def test_accuracy_above_the_most_common_label_is_enough():
    # Right on all 10, the majority half; without evidence right on 9: a rise within chance.
    rows = [("SUPPORTS",) * 3, ("REFUTES",) * 3] * 4
    rows += [("SUPPORTS",) * 3, ("REFUTES", "REFUTES", "SUPPORTS")]
    found = fitness("verdict", verdicts(*rows))
    assert found.fit is True
    assert "right on 1.000 [1.000, 1.000] of the slates" in found.reason


def test_one_slate_does_not_make_a_reader_fit():
    found = fitness("answer", [Judged(None, "x", 1.0, 0.0, 1.0, 0.0)])
    assert found.fit is None
    assert "raises its F1 by 1.000, which may be chance" in found.reason


def test_answers_go_by_f1():
    def judged(f1, bare):
        return Judged(None, "x", float(f1 == 1), float(bare == 1), f1, bare)

    found = fitness("answer", [judged(1, 0), judged(0.5, 0), judged(0, 0.25)])
    assert found.f1.mean == pytest.approx(0.5)
    assert found.f1_bare.mean == pytest.approx(0.25 / 3)
    assert found.accuracy.mean == pytest.approx(1 / 3)
    # Rises of 1, 1/2 and -1/4: a draw of the last alone is not rare.
    assert found.fit is None
    assert fitness("answer", [judged(1, 0), judged(0.5, 0), judged(0.25, 0)]).fit is True
    assert math.isnan(found.majority)
    assert found.outputs == {}
    assert fitness("answer", [judged(0, 0.5)]).fit is False


def test_missing_readings_and_no_gold():
    lost = Judged("SUPPORTS", None, NAN, 1.0)
    found = fitness("verdict", [lost])
    assert (found.fit, found.accuracy.n) == (None, 0)
    assert "nothing tells" in found.reason
    both = fitness("verdict", [lost, *verdicts(("REFUTES", "REFUTES", "SUPPORTS"))])
    assert both.gold == {"REFUTES": 1}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: fitness("summary", []), "unknown reader task 'summary'"),
        (lambda: fitness("answer", None), "judged must be a list of Judged"),
        (lambda: fitness("answer", [1]), "judged must hold Judged, got 1"),
        (lambda: fitness("answer", [], draws=0.5), "draws must be at least 1"),
    ],
)
def test_wrong_kinds_are_refused_by_name(call, said):
    with pytest.raises(UsageError, match=said):
        call()
