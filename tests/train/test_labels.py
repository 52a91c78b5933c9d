"""Labelled slates: a label in [0, 1] for every candidate, or a reason."""

from __future__ import annotations

import numpy as np
import pytest
from train_help import make_slate

from evenhand.errors import InputError
from evenhand.train.labels import Labelled, graded


def test_labels_are_kept_as_float64():
    one = Labelled(make_slate(n=2), [0, 1])
    assert one.labels.dtype == np.float64
    assert one.known_doubt().tolist() == [0, 0]
    assert Labelled(make_slate(n=2), [0, 1], [0.1, 0.2]).known_doubt().tolist() == [0.1, 0.2]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0.5], r"labels of shape \(1,\) for 2 candidates"),
        ([0.5, np.nan], "label of candidate 'c1' is nan"),
        ([-0.1, 0.5], "label of candidate 'c0' is -0.1"),
        ([0.5, 1.01], "needs a label in"),
    ],
)
def test_labels_that_cannot_be_trained_on_are_refused(labels, message):
    with pytest.raises(InputError, match=message):
        Labelled(make_slate(n=2), labels)


def test_doubt_has_the_shape_of_the_labels():
    with pytest.raises(InputError, match="doubt of shape"):
        Labelled(make_slate(n=2), [0, 1], [0.1])


def test_grades_become_labels():
    # 3/3, 1/3, unjudged 0, negative 0, 5/3 clipped.
    slate = make_slate(n=5, grades={"c0": 3, "c1": 1, "c3": -2, "c4": 5})
    assert graded(slate).labels.tolist() == pytest.approx([1, 1 / 3, 0, 0, 1])
    assert graded(slate, highest=5).labels.tolist() == pytest.approx([0.6, 0.2, 0, 0, 1])


def test_a_slate_without_grades_is_refused():
    with pytest.raises(InputError, match="'s1' has no grades"):
        graded(make_slate())
