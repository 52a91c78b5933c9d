import pytest

from evenhand.errors import UsageError
from evenhand.score.toy import Toy
from evenhand.study.rows.given import require_scorer, require_width, slates_of
from evenhand.types import Slate

ONE = Slate("q", "query", ())


def test_slates_are_a_list_of_slates():
    assert slates_of(iter([ONE])) == [ONE]
    for value, said in (
        (ONE, "put it in a list"),
        ("q", "must be a list"),
        ([ONE, 3], "got 3"),
        ([None], "got None"),
    ):
        with pytest.raises(UsageError, match=said):
            slates_of(value)


def test_a_scorer_is_an_object_that_scores():
    require_scorer(Toy())
    for value in (Toy, None, len, "toy"):
        with pytest.raises(UsageError, match="a scorer is needed"):
            require_scorer(value)


def test_a_width_is_whole():
    require_width(None)
    require_width(3)
    for value in (0, 2.5, "3", float("inf")):
        with pytest.raises(UsageError, match="width must be at least 1"):
            require_width(value)
