from __future__ import annotations

import math

import numpy as np
import pytest

from evenhand.errors import UsageError
from evenhand.gate.criteria import (
    SHORT,
    UNBOUNDED,
    criterion,
    parse_change,
    parse_criterion,
)
from evenhand.gate.outcome import Outcome
from evenhand.measure.registry import MEASURES

PASSED, FAILED, OPEN = Outcome.PASSED, Outcome.FAILED, Outcome.INCONCLUSIVE


@pytest.mark.parametrize(
    ("text", "measure", "relation", "bound"),
    [
        ("tauPSI<=0.12", "tauPSI", "<=", 0.12),
        (" tauPSI  <  .12 ", "tauPSI", "<", 0.12),
        ("Overlap(t=0.5)>=0.8", "Overlap(t=0.5)", ">=", 0.8),
        ("tauPSI(ties='strict') <= 1e-1", "tauPSI(ties='strict')", "<=", 0.1),
        ("nDCG@10>=0.45", "nDCG@10, served", ">=", 0.45),
        ("nDCG@10, shuffled > 0.4", "nDCG@10, shuffled", ">", 0.4),
        ("ScoreSpread>=0.02", "ScoreSpread", ">=", 0.02),
        ("RankSpread<=3", "RankSpread", "<=", 3.0),
        ("Margin >= -1", "Margin", ">=", -1.0),
        ("AnswerFlip<=.1", "AnswerFlip", "<=", 0.1),
    ],
)
def test_what_is_read(text, measure, relation, bound):
    found = parse_criterion(text)
    assert (found.measure, found.relation, found.bound, found.change) == (
        measure,
        relation,
        bound,
        None,
    )
    assert parse_criterion(str(found)) == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tauPSI", "cannot read 'tauPSI' as a criterion"),
        ("tauPSI=0.1", "one of <= >= < >"),
        ("tauPSI==0.1", "cannot read"),
        ("<=0.1", "cannot read"),
        ("0.1<=tauPSI<=0.2", "cannot read"),
        ("tauPSI<=", "cannot read"),
        ("tauPSI<=low", "must be a number, got 'low'"),
        ("tauPSI<=nan", "must be a finite number"),
        ("tauPSI<=inf", "must be a finite number"),
        ("tauPSO<=0.1", "unknown measure 'tauPSO'"),
        ("tauPSI, served<=0.1", "random rows alone"),
        ("tauPSI<=12", "lies between 0 and 1, so a bound of 12 decides nothing"),
        ("nDCG@10>=-0.1", "lies between 0 and 1"),
        ("AnswerFlip<=2", "lies between 0 and 1"),
        (7, "cannot read 7"),
    ],
)
def test_what_is_refused(text, message):
    with pytest.raises(UsageError, match=message):
        parse_criterion(text)


def test_short_options_are_criteria():
    found = {name: str(criterion(*parts, 0.3)) for name, parts in SHORT.items()}
    assert found == {
        "max-tau-psi": "tauPSI <= 0.3",
        "min-overlap": "Overlap >= 0.3",
        "max-pair-flip": "PairFlip <= 0.3",
        "min-ndcg": "nDCG@10, served >= 0.3",
    }
    assert criterion(*SHORT["max-tau-psi"], 0.12) == parse_criterion("tauPSI<=0.12")


def test_changes():
    found = parse_change("drop", "Overlap(t=0.5)=0.01")
    assert str(found) == "drop of Overlap(t=0.5) <= 0.01"
    assert str(parse_change("rise", " tauPSI = 0 ")) == "rise of tauPSI <= 0"
    assert found.key != parse_criterion("Overlap(t=0.5)<=0.01").key


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nDCG@10", "takes MEASURE=NUMBER"),
        ("=0.1", "takes MEASURE=NUMBER"),
        ("nDCG@10=", "takes MEASURE=NUMBER"),
        ("nDCG@10=-0.01", "largest drop of nDCG@10, served must be at least 0, got -0.01"),
        ("nDCG@10=2", "lies between 0 and 1"),
        ("nDCG@10=x", "must be a number"),
        ("AnswerFlip=0.1", "AnswerFlip is not compared with a baseline"),
        (None, "takes MEASURE=NUMBER"),
    ],
)
def test_changes_refused(text, message):
    with pytest.raises(UsageError, match=message):
        parse_change("drop", text)


def test_an_unknown_relation_is_refused():
    with pytest.raises(UsageError, match="unknown relation '=='; known are"):
        criterion("tauPSI", "==", 0.1)


@pytest.mark.parametrize(
    ("relation", "low", "high", "expected"),
    [
        ("<=", 0.05, 0.10, PASSED),
        ("<=", 0.05, 0.12, PASSED),  # the bound itself is allowed
        ("<=", 0.11, 0.13, OPEN),
        ("<=", 0.12, 0.13, OPEN),
        ("<=", 0.13, 0.20, FAILED),
        ("<", 0.05, 0.11, PASSED),
        ("<", 0.05, 0.12, OPEN),
        ("<", 0.12, 0.20, FAILED),
        (">=", 0.12, 0.20, PASSED),
        (">=", 0.11, 0.20, OPEN),
        (">=", 0.05, 0.12, OPEN),
        (">=", 0.05, 0.11, FAILED),
        (">", 0.13, 0.20, PASSED),
        (">", 0.12, 0.20, OPEN),
        (">", 0.05, 0.12, FAILED),
        ("<=", math.nan, 0.1, OPEN),
        ("<=", 0.1, math.nan, OPEN),
    ],
)
def test_what_an_interval_says(relation, low, high, expected):
    assert criterion("tauPSI", relation, 0.12).decide(low, high) is expected


def test_float_noise_at_the_bound_is_the_bound():
    # Three slates with flips .1, .2 and .6 have the mean .3, in floats a little more.
    mean = float(np.mean([0.1, 0.2, 0.6]))
    above = 0.1 + 0.2
    assert above > 0.3
    for value in (mean, above):
        assert criterion("PairFlip", "<=", 0.3).decide(value, value) is PASSED
        assert criterion("PairFlip", "<", 0.3).decide(value, value) is FAILED
        assert criterion("Overlap", ">=", 0.3).decide(value, value) is PASSED
    assert criterion("PairFlip", "<=", 0.3).decide(0.3001, 0.3001) is FAILED


@pytest.mark.parametrize(
    ("text", "odd"),
    [
        ("tauPSI<=0.1", False),
        ("tauPSI>=0.1", True),
        ("Overlap>=0.8", False),
        ("Overlap<0.8", True),
        ("nDCG@10<=0.5", True),
        ("nDCG@10>=0.5", False),
        ("FirstSlot>=0.1", False),  # neither side is better
        ("VerdictFlip>=0.1", True),
    ],
)
def test_a_bound_from_the_wrong_side_is_remarked(text, odd):
    assert bool(parse_criterion(text).remark) is odd


def test_a_change_for_the_better_is_remarked():
    assert parse_change("drop", "nDCG@10=0.01").remark == ""
    assert "higher is better" in parse_change("rise", "nDCG@10=0.01").remark
    assert parse_change("rise", "tauPSI=0.01").remark == ""
    assert "lower is better" in parse_change("drop", "tauPSI=0.01").remark


def test_measures_that_may_leave_0_to_1_are_known_and_the_others_stay(toy_run):
    from evenhand.records import RunFolder
    from evenhand.study.found.analyse import analyse

    assert set(MEASURES) >= UNBOUNDED
    # Noise far above the scores: whatever can leave the range, does.
    folder = RunFolder.open(toy_run(noise=40.0, coupling=3.0, size=6, width=3, rows=6))
    names = [f"{head}@2" if entry.cutoff == "required" else head for head, entry in MEASURES.items()]
    found = analyse(folder, measures=names, save=False)
    parts = {**found.stability, **found.decisions, **found.served}
    by_head = {name.partition("(")[0].partition("@")[0]: one.mean for name, one in parts.items()}
    assert set(by_head) == set(MEASURES)
    inside = {head for head, mean in by_head.items() if math.isnan(mean) or 0 <= mean <= 1}
    assert set(MEASURES) - UNBOUNDED <= inside
    assert {"ScoreSpread", "OrderSD", "RankSpread", "ScoreChange", "Margin"}.isdisjoint(inside)
