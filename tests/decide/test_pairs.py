import math

import numpy as np
import pytest

from evenhand.decide.pairs import (
    Pair,
    PairOutcome,
    PairRule,
    conflicts,
    flip_probability,
    pair_of,
    response,
)
from evenhand.errors import UsageError
from evenhand.present.design import design
from evenhand.types import Candidate, ScoreMatrix, Slate

NAN = float("nan")


def a_slate(texts=("first", "second", "third"), query="which?", name="q"):
    return Slate(name, query, tuple(Candidate(f"c{i}", text) for i, text in enumerate(texts)))


def matrix(slate, random, canonical=None):
    """Scores of M random rows, and of the canonical one."""
    rows = np.asarray(random, dtype=float)
    drawn = design("reorder", rows=len(rows), seed=0, repeat=False).draw(slate)
    # Few candidates have few orders: the plan of more of them serves for their rows.
    assert len(drawn.rows("random")) == len(rows), "give a slate with more orders than rows"
    first = rows.mean(axis=0) if canonical is None else canonical
    return ScoreMatrix(np.vstack([first, rows]), drawn)


# Four rows: c0 beats c2 in three, ties in one. Means .6, .5, .325.
STEADY = [[0.9, 0.5, 0.1], [0.8, 0.5, 0.2], [0.4, 0.5, 0.4], [0.3, 0.5, 0.6]]


def test_flip_probability_is_the_share_of_rows_that_reverse():
    # Ahead by .8, .6, 0, -.3: one tie and one reversal of four, (.5 + 1) / 4.
    assert flip_probability(STEADY, 0, 2) == (0.375, 4)
    assert flip_probability(STEADY, 2, 0) == (0.625, 4)
    assert flip_probability([[1, 1], [1, 1]], 0, 1) == (0.5, 2)
    # The row that lacks one of the two is not counted: of two rows, none reverses.
    assert flip_probability([[0.9, 0.1], [NAN, 0.3], [0.8, 0.2]], 0, 1) == (0.0, 2)
    share, rows = flip_probability([[NAN, 0.1]], 0, 1)
    assert math.isnan(share)
    assert rows == 0


def test_best_and_worst_of_the_mean():
    slate = a_slate()
    found = pair_of(slate, matrix(slate, STEADY), PairRule(max_flip=0.4))
    # Means (.9 + .8 + .4 + .3) / 4 = .6, .5, (.1 + .2 + .4 + .6) / 4 = .325.
    pair = found.pair
    assert (pair.chosen.id, pair.rejected.id, found.dropped) == ("c0", "c2", None)
    assert pair.gap == pytest.approx(0.275)
    assert (pair.flip, pair.rows, pair.weight) == (0.375, 4, 0.25)
    assert (pair.slate_id, pair.query) == ("q", "which?")


def test_best_and_worst_of_the_canonical_row():
    slate = a_slate()
    scores = matrix(slate, STEADY, canonical=[0.2, 0.9, 0.5])
    pair = pair_of(slate, scores, PairRule(by="canonical", max_flip=0.5)).pair
    assert (pair.chosen.id, pair.rejected.id) == ("c1", "c0")
    assert pair.gap == pytest.approx(0.7)
    # c1 against c0 over the random rows: -.4, -.3, .1, .2.
    assert pair.flip == 0.5


@pytest.mark.parametrize(
    ("rule", "dropped"),
    [
        (PairRule(max_flip=0.375), None),
        (PairRule(max_flip=0.37), "flip"),
        (PairRule(max_flip=0.375, min_gap=0.27), None),
        (PairRule(max_flip=0.375, min_gap=0.28), "gap"),
        (PairRule(max_flip=0, min_gap=0.28), "gap"),
        (PairRule(), "flip"),
    ],
)
def test_bounds(rule, dropped):
    slate = a_slate()
    found = pair_of(slate, matrix(slate, STEADY), rule)
    assert found.dropped == dropped
    assert found.pair.flip == 0.375


def test_what_gives_no_pair():
    one = a_slate(("only",))
    alone = ScoreMatrix(np.zeros((2, 1)), design("reorder", rows=2, seed=0, repeat=False).draw(one))
    assert pair_of(one, alone, PairRule()) == PairOutcome(None, "single")
    slate = a_slate()
    assert pair_of(slate, matrix(slate, np.full((4, 3), NAN)), PairRule()) == PairOutcome(
        None, "missing"
    )
    lone = [[0.9, 0.5, 0.1], *np.full((3, 3), NAN)]
    assert pair_of(slate, matrix(slate, lone), PairRule()) == PairOutcome(None, "missing")
    level = pair_of(slate, matrix(slate, np.full((4, 3), 0.3)), PairRule(max_flip=0.5))
    assert level.dropped == "tie"
    assert (level.pair.flip, level.pair.gap) == (0.5, 0)


def test_means_that_differ_by_rounding_alone_are_a_tie():
    slate = a_slate(("a", "b", "c"))
    # .1 + .2 + .3 is not .3 + .2 + .1 in floating point.
    rows = [[0.1, 0.3, 0.2], [0.2, 0.2, 0.2], [0.3, 0.1, 0.2], [0.1, 0.1, 0.1]]
    found = pair_of(slate, matrix(slate, rows), PairRule(max_flip=0.5))
    assert found.pair.gap > 0
    assert found.dropped == "tie"


def test_the_texts_decide_too():
    scores = [[0.9, 0.5, 0.1]] * 4
    for texts, dropped in (
        (("same", "x", "same"), "same_text"),
        (("same ", "x", " same\n"), "same_text"),
        (("good", "x", " "), "empty"),
        (("", "x", "bad"), "empty"),
        (("good", "", "bad"), None),
        (("good", "good", "bad"), None),
    ):
        slate = a_slate(texts)
        assert pair_of(slate, matrix(slate, scores), PairRule()).dropped == dropped, texts


def test_a_candidate_that_a_row_lacks_is_in_no_pair():
    slate = a_slate()
    # c0 would be the best of three rows; the fourth lacks it.
    rows = [[0.9, 0.5, 0.1], [0.9, 0.6, 0.1], [0.9, 0.5, 0.2], [NAN, 0.5, 0.1]]
    pair = pair_of(slate, matrix(slate, rows), PairRule()).pair
    assert (pair.chosen.id, pair.rejected.id, pair.rows) == ("c1", "c2", 4)
    # A row without any score is left out alone: c0 is the best of the three others.
    rows[3] = [NAN, NAN, NAN]
    pair = pair_of(slate, matrix(slate, rows), PairRule()).pair
    assert (pair.chosen.id, pair.rejected.id, pair.rows) == ("c0", "c2", 3)
    assert pair.gap == pytest.approx(0.9 - 0.4 / 3)


def test_position_alone_gives_ties_over_all_orders():
    slate = a_slate()
    # All six orders of three, scores 1 - slot / 3: each candidate has each slot twice.
    orders = design("reorder", rows=6, seed=0, repeat=False).draw(slate)
    assert orders.exhaustive
    rows = [1 - one.slots() / 3 for one in orders.presentations]
    found = pair_of(slate, ScoreMatrix(np.array(rows), orders), PairRule(max_flip=0.5))
    assert found.dropped == "tie"
    assert found.pair.flip == 0.5


def test_a_title_is_part_of_the_response():
    assert response(Candidate("a", "text ", "Title")) == "Title: text"
    assert response(Candidate("a", " text ")) == "text"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"by": "best"}, r"unknown way to choose a pair 'best'; known are \['canonical', 'mean'\]"),
        ({"max_flip": 0.6}, "max_flip must lie between 0 and 0.5, got 0.6"),
        ({"max_flip": -0.1}, "max_flip must lie between 0 and 0.5"),
        ({"max_flip": NAN}, "max_flip must be a finite number"),
        ({"min_gap": -1}, "min_gap must be at least 0, got -1"),
        ({"min_gap": "wide"}, "min_gap must be a finite number"),
    ],
)
def test_rules_that_are_refused(settings, message):
    with pytest.raises(UsageError, match=message):
        PairRule(**settings)


def test_equal_and_opposite_pairs():
    def pair(query, chosen, rejected):
        return Pair("q", query, Candidate("a", chosen), Candidate("b", rejected), 0.1, 0.0, 4)

    given = [
        pair("x", "good", "bad"),
        pair("x", "good ", "bad"),  # the same texts
        pair("y", "good", "bad"),  # another query
        pair("z", "one", "two"),
        pair("z", "two", "one"),  # the opposite
        pair("z", "one", "two"),
        pair("z", "one", "three"),
    ]
    gone = "contradicted"
    assert conflicts(given) == [None, "repeated", None, gone, gone, gone, None]
    assert conflicts([]) == []
