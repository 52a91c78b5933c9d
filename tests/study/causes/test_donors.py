import math

import pytest

from evenhand.errors import UsageError
from evenhand.study.causes.donors import FILLER, Donors, filled, length
from evenhand.types import Candidate, Slate


def slate(key, texts, grades=None):
    return Slate(
        key, "query", tuple(Candidate(f"{key}{i}", text) for i, text in enumerate(texts)), grades
    )


OWN = slate("a", ["x" * 10, "y" * 50, "z" * 90], {"a1": 2, "a2": 1})
OTHER = slate("b", ["k" * 12, "l" * 48, "m" * 88, "y" * 50])


def test_length_counts_title_and_text():
    assert length(Candidate("c", "four", "five!")) == 9


def test_filled_keeps_the_candidate_its_slot_and_its_grade():
    found = filled(OWN, (2, 0, 1), 2)
    assert [one.text for one in found.candidates] == [FILLER, FILLER, "y" * 50]
    assert found.candidates[2] == OWN.candidates[1]
    assert dict(found.grades) == {"a1": 2}
    assert found.query == "query"
    assert filled(OWN, (2, 0, 1), 1).grades == {}
    assert filled(OTHER, (0, 1), 0).grades is None
    assert len({filled(OWN, (0, 1, 2), slot).id for slot in range(3)}) == 3


def test_stand_ins_are_of_other_slates_and_about_as_long():
    donors = Donors([OWN, OTHER])
    found = donors.unrelated(OWN, (0, 1, 2), 0)
    # Not the text that the slate holds itself, though its length is just right.
    assert [one.text for one in found.candidates] == ["x" * 10, "l" * 48, "m" * 88]
    assert donors.length_ratio == pytest.approx((48 + 88) / (50 + 90))


def test_no_text_stands_in_twice_in_a_window():
    own = slate("a", ["x", "y", "z"])
    donors = Donors([own, slate("b", ["k", "k", "l"])])
    found = donors.unrelated(own, (0, 1, 2), 1)
    assert sorted(one.text for one in found.candidates) == ["k", "l", "y"]


def test_draws_depend_on_seed_slate_and_candidate_alone():
    pool = [OWN, *(slate(f"b{i}", [f"{i}{j}" * 25 for j in range(9)]) for i in range(30))]
    first = Donors(pool).unrelated(OWN, (0, 1, 2), 1)
    again = Donors(pool)
    again.unrelated(OWN, (0, 1, 2), 0)
    assert again.unrelated(OWN, (0, 1, 2), 1) == first
    assert Donors(pool, seed=1).unrelated(OWN, (0, 1, 2), 1) != first


def test_nothing_left_to_lend():
    assert math.isnan(Donors([OWN]).length_ratio)
    with pytest.raises(UsageError, match="'a': the other slates hold no text"):
        Donors([OWN]).unrelated(OWN, (0, 1), 0)
