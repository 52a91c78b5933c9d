import math

import numpy as np
import pytest

from evenhand.decide.preference import PreferenceConsumer, judge_pair, prefer, summarise_judge
from evenhand.errors import UsageError
from evenhand.measure.decision import first_slot, pair_flip
from evenhand.measure.outcomes import majority
from evenhand.seeds import tie_ranks
from evenhand.types import Candidate, Slate

NAN = float("nan")


def a_slate(ids="abc", grades=None):
    return Slate("q", "which?", tuple(Candidate(one, f"text {one}") for one in ids), grades)


def test_chosen_rejected_margin_and_gold():
    found = prefer(a_slate(grades={"a": 1, "c": 2}), [0.5, 0.1, 0.8])
    assert (found.chosen, found.rejected, found.correct) == ("c", "b", True)
    assert found.margin == pytest.approx(0.3)
    assert prefer(a_slate(grades={"a": 3}), [0.5, 0.1, 0.8]).correct is False
    assert prefer(a_slate(), [0.5, 0.1, 0.8]).correct is None
    assert prefer(a_slate(grades={}), [0.5, 0.1, 0.8]).correct is None


def test_missing_scores_are_neither_chosen_nor_rejected():
    found = prefer(a_slate(grades={"b": 1}), [0.5, NAN, 0.8])
    assert (found.chosen, found.rejected) == ("c", "a")
    # the gold candidate was not scored, so nothing is known
    assert found.correct is None
    assert prefer(a_slate(), [0.5, NAN, NAN]) is None
    with pytest.raises(UsageError, match="scores for 3"):
        prefer(a_slate(), [0.5])


def test_ties_go_by_hash():
    slate = a_slate()
    ranks = dict(zip(slate.ids, tie_ranks("q", slate.ids), strict=True))
    found = prefer(slate, [0.5] * 3)
    assert (found.chosen, found.rejected) == (min(ranks, key=ranks.get), max(ranks, key=ranks.get))
    assert found.margin == 0


def test_consumer():
    scores = np.array([0.5, 0.1, 0.8])
    assert PreferenceConsumer().decide(a_slate(), scores, 3).value == ("c", "b")
    best = PreferenceConsumer(pair=False, name="best-of-3").decide(a_slate(), scores, 3)
    assert (best.value, best.consumer, best.row) == ("c", "best-of-3", 3)
    assert PreferenceConsumer().decide(a_slate(), np.full(3, NAN), 0).value is None


BOTH = [[0, 1], [1, 0]]


def by_slot(first, second):
    """Scores of a judge that gives a value to each slot, in both orders."""
    return [[first, second], [second, first]]


def test_a_judge_that_always_picks_the_first():
    # C8: pairs (x, y) and (y, x)
    scores, ties = by_slot(1.0, 0.0), [0, 1]
    assert pair_flip(scores, ties) == 1
    assert first_slot(scores, BOTH, ties) == 1
    found = judge_pair(scores, BOTH)
    assert (found.kind, found.winner, found.place) == ("disagreement", None, 0)
    # the votes are split, and there is no majority either
    assert majority([0, 1]) is None
    assert judge_pair(by_slot(0.0, 1.0), BOTH).place == 1


def test_an_honest_judge_and_a_judged_tie_are_other_things():
    honest = [[0.9, 0.2], [0.8, 0.3]]
    assert pair_flip(honest, [0, 1]) == 0
    assert (judge_pair(honest, BOTH).kind, judge_pair(honest, BOTH).winner) == ("agreed", 0)
    assert judge_pair([[0.5, 0.5], [0.7, 0.7]], BOTH).kind == "judged_tie"
    assert judge_pair([[0.5, 0.5], [0.7, 0.6]], BOTH).kind == "half_tie"
    assert judge_pair([[0.5, 0.4], [NAN, 0.6]], BOTH).kind == "missing"


def test_rows_of_one_order_are_averaged():
    # order (0, 1) twice: differences .4 and -.2, mean .1: candidate 0
    found = judge_pair([[0.7, 0.3], [0.3, 0.5], [0.9, 0.1]], [[0, 1], [0, 1], [1, 0]])
    assert (found.kind, found.winner) == ("agreed", 0)


@pytest.mark.parametrize(
    ("scores", "slots", "said"),
    [
        ([[0.1, 0.2, 0.3]], [[0, 1, 2]], "judge of two"),
        ([[0.1, 0.2]], [[0, 1]], "both orders"),
        ([[0.1, 0.2]], [[0, 0]], "one window"),
    ],
)
def test_what_is_no_judge_of_two(scores, slots, said):
    with pytest.raises(UsageError, match=said):
        judge_pair(scores, slots)


def test_summary_by_hand():
    agreed = judge_pair([[0.9, 0.2], [0.8, 0.3]], BOTH)
    first, last = judge_pair(by_slot(1, 0), BOTH), judge_pair(by_slot(0, 1), BOTH)
    tie, lost = judge_pair(by_slot(1, 1), BOTH), judge_pair([[NAN, NAN]] * 2, BOTH)
    found = summarise_judge(
        [
            (agreed, 0),
            (agreed, 1),
            (agreed, None),
            (first, 0),
            (first, 1),
            (last, 0),
            (tie, 1),
            (lost, 0),
        ]
    )
    assert found.shares == {
        "agreed": 3 / 8,
        "judged_tie": 1 / 8,
        "disagreement": 3 / 8,
        "half_tie": 0,
        "missing": 1 / 8,
    }
    assert found.first_place == pytest.approx(2 / 3)
    # with gold and scores: 1, 0, and four ties of one half: 3 of 6
    assert (found.accuracy, found.gold, found.slates) == (0.5, 6, 8)
    assert found.accuracy_decided == 0.5
    assert math.isnan(summarise_judge([]).accuracy)
