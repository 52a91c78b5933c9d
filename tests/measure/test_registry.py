import math

import ir_measures
import numpy as np
import pytest

from evenhand.errors import UsageError
from evenhand.measure.registry import MEASURES, Measure, between, parse, ranking_values
from evenhand.types import Candidate, Plan, Presentation, ScoreMatrix, Slate

NAN = float("nan")


def slate(ids, grades=None, name="q"):
    return Slate(name, "a query", tuple(Candidate(key, f"text {key}") for key in ids), grades)


def matrix(scores, orders, *, exhaustive=False):
    """First row canonical, last one repeat, random rows between; one window a row."""
    kinds = ("canonical", *["random"] * (len(scores) - 2), "repeat")
    shown = tuple(Presentation(order, (order,)) for order in orders)
    return ScoreMatrix(np.array(scores, dtype=float), Plan(shown, kinds, exhaustive))


AB = slate("ab", {"b": 1})
# Reads the slot only: what stands first scores 1.
SLOT = matrix([[1, 0], [1, 0], [0, 1], [1, 0]], [(0, 1), (0, 1), (1, 0), (0, 1)])
ALL = matrix([[1, 0], [1, 0], [0, 1], [1, 0]], [(0, 1), (0, 1), (1, 0), (0, 1)], exhaustive=True)

TEXTS = [
    "nDCG@10", "nDCG", "AP", "AP(rel=2)", "AP(rel=2)@100", "RR", "RR@10", "P@5", "P(rel=2)@5", "R@100",
    "F1", "F1(t=0.5)", "F1(t=0.5, rel=2)", "SetP(rel=2)", "SetR(t=-1.5)",
    "tauPSI", "tauPSI(ties='strict')", "tauPSI(pairs='distinct')", "TopInstability@10",
    "TopInstability(p=0.8)@5", "TiedPairs", "ExactTies", "ScoreSpread", "OrderSD", "RankSpread",
    "SlotShare", "WindowShare", "ResidualShare", "SlotShare(df='raw')",
    "Residual", "Overlap", "Overlap(t=0.5)", "OverlapNonEmpty(t=0.5)", "SetFlip(t=0.5)",
    "BothEmpty(t=0.5)", "Retained", "Retained(t=1e-05)", "Top1Flip", "Top1Flip(kind='modal')",
    "PairFlip", "PairFlip(kind='modal')", "FirstSlot",
    "CanonicalPSI", "ScoreChange", "PoolPSI", "PoolPSI(kind='dropped')", "TopSetFlip@10",
    "RetainedDelta", "RetainedDelta(t=0.5)",
    "CorrectFlip", "CorrectFlip(kind='modal')", "Margin", "GoldAccuracy",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_prints_as_it_parses(text):
    assert str(parse(text)) == text
    assert parse(str(parse(text))) == parse(text)


def test_every_measure_is_among_the_texts():
    assert {parse(text).head for text in TEXTS} == set(MEASURES)


def test_equal_measures_have_one_spelling():
    assert str(parse("AP(rel=1)")) == "AP"
    assert str(parse("Overlap(t=1)")) == "Overlap(t=1.0)"
    assert str(parse("F1(rel=2,t=.5)")) == "F1(t=0.5, rel=2)"
    assert str(parse("TopInstability")) == "TopInstability@10"
    assert len({parse("AP"), parse("AP(rel=1)"), parse("AP(rel=2)")}) == 2


@pytest.mark.parametrize(
    "text", ["nDCG@10", "AP(rel=2)", "AP(rel=2)@100", "RR@10", "P(rel=2)@5", "R@100"]
)
def test_ir_measures_reads_our_names(text):
    assert str(ir_measures.parse_measure(text)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nDGC@10", "unknown measure 'nDGC' in 'nDGC@10'; known are ['AP', 'BothEmpty', 'Can"),
        ("AnswerFlip", "AnswerFlip is measured of what a reader makes of a run"),
        ("VerdictFlip", "evenhand report RUN --reader MODEL; the flip stands under Reader"),
        ("Overlap(k=0.5)", "Overlap has no option 'k'; known are ['t']"),
        ("nDCG(rel=2)@10", "nDCG has no option 'rel'; known are []"),
        ("PairFlip(kind='mode')", "must be one of ['modal', 'pairwise'], got 'mode'"),
        ("P", "P needs a cutoff: write P@10"),
        ("tauPSI@10", "tauPSI takes no cutoff"),
        ("Overlap(0.5)", "cannot read"),
    ],
)
def test_wrong_names_are_refused(text, message):
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert message in str(caught.value)


def test_kinds_and_thresholds_are_declared():
    assert [parse(text).kind for text in ("tauPSI", "Overlap", "AP")] == [
        "stability",
        "decision",
        "quality",
    ]
    assert parse("Overlap").needs_threshold
    assert not parse("Overlap(t=0.5)").needs_threshold
    assert not parse("tauPSI").needs_threshold


@pytest.mark.parametrize(
    ("text", "distinct", "every"),
    [
        # The two random rows are reversed. Over all four pairs of rows, half of it.
        ("tauPSI", 1.0, 0.5),
        ("tauPSI(pairs='distinct')", 1.0, 1.0),
        ("tauPSI(ties='strict')", 1.0, 0.5),
        # RBO .9 at depth 2 of p = .9 (.81 + .09); with p = .5: .25 + .25 = .5.
        ("TopInstability@10", 0.1, 0.05),
        ("TopInstability(p=0.5)@2", 0.5, 0.25),
        ("TiedPairs", 0.0, 0.0),
        ("ExactTies", 0.0, 0.0),
        ("ScoreSpread", 0.5, 0.5),
        # Scores 1 and 0 of two rows: sample sd sqrt(.5), population sd .5; the same in ranks.
        ("OrderSD", math.sqrt(0.5), 0.5),
        ("RankSpread", math.sqrt(0.5), 0.5),
        ("Residual", math.sqrt(2), 1.0),
        # All movement follows the slot; there is one window.
        ("SlotShare", 1.0, 1.0),
        ("WindowShare", 0.0, 0.0),
        ("ResidualShare(df='raw')", 0.0, 0.0),
        # {a} against {b}: 0, and 1 with itself.
        ("Overlap(t=0.5)", 0.0, 0.5),
        ("OverlapNonEmpty(t=0.5)", 0.0, 0.5),
        ("BothEmpty(t=0.5)", 0.0, 0.0),
        ("BothEmpty(t=2)", 1.0, 1.0),
        ("SetFlip(t=0.5)", 1.0, 1.0),
        ("Retained(t=0.5)", 0.5, 0.5),
        ("Top1Flip", 1.0, 0.5),
        ("PairFlip", 1.0, 0.5),
        ("PairFlip(kind='modal')", 0.5, 0.5),
        ("FirstSlot", 1.0, 1.0),
    ],
)
def test_values_by_hand(text, distinct, every):
    assert parse(text)(SLOT, AB) == pytest.approx(distinct)
    assert parse(text)(ALL, AB) == pytest.approx(every)


@pytest.mark.parametrize(
    ("text", "served", "shuffled"),
    [
        # b is relevant; served second, shuffled second and first.
        ("RR", 0.5, 0.75),
        ("nDCG@10", 1 / math.log2(3), (1 + 1 / math.log2(3)) / 2),
        ("P@1", 0.0, 0.5),
        # Retained {a} served: 0; shuffled {a} and {b}: 0 and 1.
        ("F1(t=0.5)", 0.0, 0.5),
        ("SetP(t=0.5)", 0.0, 0.5),
        ("SetR(t=-1)", 1.0, 1.0),
    ],
)
def test_quality_served_and_shuffled(text, served, shuffled):
    measure = parse(text)
    assert measure(SLOT, AB) == pytest.approx(served)
    assert measure(SLOT, AB, rows="shuffled") == pytest.approx(shuffled)
    assert math.isnan(measure(SLOT, slate("ab")))


def test_threshold_is_handed_over_or_written():
    assert parse("Retained")(SLOT, AB, 0.5) == 0.5
    # What is written goes first: nothing reaches 2.
    assert parse("Retained(t=2)")(SLOT, AB, 0.5) == 0.0
    assert parse("Retained(t=0)")(SLOT, AB, 0.5) == 1.0
    with pytest.raises(UsageError, match=r"Retained needs a threshold; hand one over or write it"):
        parse("Retained")(SLOT, AB)


def test_wrong_calls_are_refused():
    with pytest.raises(UsageError, match=r"unknown rows 'random'; known are \['served', 'shuffled'\]"):
        parse("AP")(SLOT, AB, rows="random")
    with pytest.raises(UsageError, match="2 columns of scores for the 3 candidates of slate 'q'"):
        parse("tauPSI")(SLOT, slate("abc"))


def test_slots_are_those_of_the_window():
    # Windows (0, 1) and (2,): candidate 2 stands third, in slot 0 of its window.
    shown = Presentation((0, 1, 2), ((0, 1), (2,)))
    found = ScoreMatrix(np.array([[1, 2, 3], [1, 3, 2]]), Plan((shown, shown), ("random", "random")))
    assert parse("FirstSlot")(found, slate("abc")) == 0.5


def test_floor_is_between_canonical_and_repeat():
    unsteady = matrix([[3, 2, 1], [1, 2, 3], [3, 2, 1], [3, 1, 2]], [(0, 1, 2)] * 4)
    abc = slate("abc", {"a": 1})
    # Canonical and repeat swap one of three pairs; the random rows are reversed.
    assert between(parse("tauPSI"), unsteady, abc) == pytest.approx(1 / 3)
    assert parse("tauPSI")(unsteady, abc) == 1.0
    # {a, b} against {a, c}: one shared of three.
    assert between(parse("Overlap"), unsteady, abc, 2) == pytest.approx(1 / 3)
    assert between(parse("tauPSI"), SLOT, AB) == 0.0
    # What compares with the canonical row has the repeat as its only other row: b and c move by 1.
    assert between(parse("CanonicalPSI"), unsteady, abc) == pytest.approx(1 / 3)
    assert between(parse("ScoreChange"), unsteady, abc) == pytest.approx(2 / 3)
    assert between(parse("ScoreChange"), SLOT, AB) == 0.0


def test_floor_is_undefined_without_two_rows():
    bare = ScoreMatrix(np.zeros((1, 2)), Plan((Presentation((0, 1), ((0, 1),)),), ("canonical",)))
    assert math.isnan(between(parse("tauPSI"), bare, AB))
    failed = matrix([[1, 0], [1, 0], [NAN, NAN]], [(0, 1)] * 3)
    assert math.isnan(between(parse("ScoreSpread"), failed, AB))
    with pytest.raises(UsageError, match="nDCG@10 is a measure of quality"):
        between(parse("nDCG@10"), SLOT, AB)


def test_ranking_values_equal_calls():
    measures = [parse("nDCG@10"), parse("AP(rel=2)"), parse("R@1")]
    slates = [AB, slate("ab", {"a": 2}, "r"), slate("ab", None, "s")]
    for rows in ("served", "shuffled"):
        found = ranking_values(measures, [SLOT, ALL, SLOT], slates, rows)
        for measure in measures:
            called = [measure(m, s, rows=rows) for m, s in zip((SLOT, ALL, SLOT), slates, strict=True)]
            np.testing.assert_array_equal(found[measure], called)
    with pytest.raises(UsageError, match=r"F1\(t=0.5\) is not a measure of rankings"):
        ranking_values([parse("F1(t=0.5)")], [SLOT], [AB])


def test_measures_say_what_they_are():
    for head, entry in MEASURES.items():
        assert entry.about, head
        assert Measure(head).entry is entry
