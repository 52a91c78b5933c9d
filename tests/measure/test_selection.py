import math

import numpy as np
import pytest

from evenhand.errors import UsageError
from evenhand.measure.outcomes import modal_from_pairwise
from evenhand.measure.selection import correctness_flip, gold_accuracy, gold_correct, margin

NAN = float("nan")


def test_right_is_the_top_grade_of_the_slate():
    scores = [[0.9, 0.1, 0.5], [0.1, 0.9, 0.5], [0.2, 0.3, 0.9]]
    # grades 2 2 1: the first two candidates are right picks
    np.testing.assert_array_equal(gold_correct(scores, [2, 2, 1], [0, 1, 2]), [1, 1, 0])
    assert gold_accuracy(scores, [2, 2, 1], [0, 1, 2]) == pytest.approx(2 / 3)


def test_ties_go_by_hash_never_by_column():
    tied = [[0.5, 0.5]]
    assert gold_accuracy(tied, [1, 0], [1, 0]) == 0
    assert gold_accuracy(tied, [1, 0], [0, 1]) == 1


def test_undefined():
    assert np.isnan(gold_correct([[0.1, 0.2]], [1, 1], [0, 1])).all()
    assert np.isnan(gold_correct([[0.1]], [1], [0])).all()
    # the best candidate has no score in row 0; row 1 has one score only
    found = gold_correct([[NAN, 0.2, 0.1], [0.3, NAN, NAN], [0.3, NAN, 0.1]], [1, 0, 0], [0, 1, 2])
    np.testing.assert_array_equal(found, [NAN, NAN, 1])
    assert math.isnan(gold_accuracy([[NAN, 0.2]], [1, 0], [0, 1]))


def test_correctness_flip_by_hand():
    # 3 right, 1 wrong: 3 of 6 pairs differ; modal 1/4; pairs with themselves: 6 of 16 ordered
    rows = [1.0, 1.0, 0.0, 1.0, NAN, None]
    assert correctness_flip(rows) == 1
    assert correctness_flip(rows, kind="pairwise") == 0.5
    assert correctness_flip(rows, kind="pairwise", exhaustive=True) == 6 / 16
    assert correctness_flip(rows, kind="modal") == 0.25
    assert modal_from_pairwise(0.5, rows=4) == pytest.approx(0.25)
    assert correctness_flip([0.0, 0.0]) == 0
    assert math.isnan(correctness_flip([1.0, NAN]))
    with pytest.raises(UsageError, match="any"):
        correctness_flip([1.0, 0.0], kind="each")


@pytest.mark.parametrize("seed", range(5))
def test_correctness_flip_against_a_loop(seed):
    rows = np.random.default_rng(seed).integers(0, 2, 9).astype(float)
    pairs = [(a, b) for a in range(9) for b in range(a)]
    assert correctness_flip(rows, kind="pairwise") == pytest.approx(
        np.mean([rows[a] != rows[b] for a, b in pairs])
    )
    assert correctness_flip(rows, kind="modal") == pytest.approx(min(rows.mean(), 1 - rows.mean()))


def test_margin():
    # .9 - .5 and .4 - .1; the row with one score is left out
    rows = [[0.9, 0.5, 0.1], [NAN, 0.1, 0.4], [NAN, NAN, 0.4]]
    assert margin(rows) == pytest.approx((0.4 + 0.3) / 2)
    assert margin([[0.5, 0.5]]) == 0
    assert math.isnan(margin([[0.5]]))
