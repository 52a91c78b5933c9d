import math

import numpy as np
import pytest

from evenhand.measure.registry import parse
from evenhand.types import Candidate, Plan, Presentation, ScoreMatrix, Slate

# canonical, four random rows, repeat: the best is a, a, b, a, c, a
ROWS = [[0.9, 0.2, 0.1]] * 2 + [[0.1, 0.9, 0.2], [0.6, 0.5, 0.1], [0.1, 0.2, 0.9], [0.9, 0.2, 0.1]]
KINDS = ("canonical", *["random"] * 4, "repeat")


def slate(grades):
    return Slate("q", "a query", tuple(Candidate(key, f"text {key}") for key in "abc"), grades)


def value(text, grades, which="served"):
    shown = Presentation((0, 1, 2), ((0, 1, 2),))
    matrix = ScoreMatrix(np.array(ROWS), Plan((shown,) * 6, KINDS))
    return parse(text)(matrix, slate(grades), rows=which)


def test_correct_flip_reads_the_random_rows():
    # a is best of two random rows of four: right in 2
    assert value("CorrectFlip", {"a": 1}) == 1
    assert value("CorrectFlip(kind='modal')", {"a": 1}) == 0.5
    # 4 of 6 pairs differ
    assert value("CorrectFlip(kind='pairwise')", {"a": 1}) == pytest.approx(4 / 6)
    # whichever of the three: right in every row, as nothing is better
    assert math.isnan(value("CorrectFlip", {"a": 1, "b": 1, "c": 1}))
    assert math.isnan(value("CorrectFlip", None))


def test_gold_accuracy_served_and_shuffled():
    assert value("GoldAccuracy", {"a": 2, "b": 1}) == 1
    assert value("GoldAccuracy", {"a": 2, "b": 1}, "shuffled") == 0.5
    assert math.isnan(value("GoldAccuracy", None))


def test_margin_over_the_random_rows():
    # .7, .7, .1, .7
    assert value("Margin", None) == pytest.approx(2.2 / 4)
