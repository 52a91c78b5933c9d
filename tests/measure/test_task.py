import numpy as np
import pytest

from evenhand.errors import UsageError
from evenhand.measure.task import Task
from evenhand.seeds import tie_ranks
from evenhand.types import Candidate, Plan, Presentation, ScoreMatrix, Slate

ABC = Slate("q", "a query", tuple(Candidate(key, "text") for key in "abc"))
KINDS = ("canonical", "random", "random")
# Windows of two: in the second row c stands alone, in the third a.
SHOWN = (
    Presentation((0, 1, 2), ((0, 1), (2,))),
    Presentation((1, 0, 2), ((1, 0), (2,))),
    Presentation((2, 1, 0), ((2, 1), (0,))),
)
MATRIX = ScoreMatrix(np.array([[1.0, 2, 3], [4, 5, 6], [9, 8, 7]]), Plan(SHOWN, KINDS, True))


def task(*, threshold=None, rows="served", t=None):
    return Task(MATRIX, ABC, threshold, rows, "Overlap", None, {"t": t})


def test_rows_are_those_asked_for():
    assert task().random.tolist() == [[4, 5, 6], [9, 8, 7]]
    assert task().judged.tolist() == [[1, 2, 3]]
    assert task(rows="shuffled").judged.tolist() == [[4, 5, 6], [9, 8, 7]]
    assert task().exhaustive


def test_places_are_those_of_the_random_rows():
    assert task().placed("positions").tolist() == [[1, 0, 2], [2, 1, 0]]
    assert task().placed("slots").tolist() == [[1, 0, 0], [0, 1, 0]]
    assert task().ties.tolist() == tie_ranks("q", ("a", "b", "c")).tolist()


def test_the_written_threshold_goes_first():
    assert task(threshold=5.0).cut == 5.0
    assert task(threshold=5.0, t=0).cut == 0.0
    assert task(threshold=6.0).retained.tolist() == [[0, 0, 1], [1, 1, 1]]
    with pytest.raises(UsageError, match="Overlap needs a threshold"):
        _ = task().cut
