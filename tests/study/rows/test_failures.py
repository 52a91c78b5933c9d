import pytest

from evenhand.errors import ScorerError
from evenhand.study.rows.failures import Failures
from evenhand.types import Scored

NAN = float("nan")


def test_one_score_is_enough():
    found = Failures("toy")
    found.add_all([Scored.failed(2, "out of memory"), Scored([NAN, 1.0], failure="cut")])
    assert (found.asked, found.given, found.first) == (4, 1, "out of memory")
    found.require_a_score()


def test_no_score_at_all_quotes_the_first_reason():
    found = Failures("toy")
    found.require_a_score()  # nothing was asked
    found.add([NAN, NAN])
    with pytest.raises(
        ScorerError, match="toy gave none of 2 scores, the first failure: the scorer gave"
    ):
        found.require_a_score()
    found.add([NAN], [None, "first", "second"])
    with pytest.raises(ScorerError, match="none of 3 scores, the first failure: first"):
        found.require_a_score()
