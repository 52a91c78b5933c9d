import numpy as np
import pytest

from evenhand.errors import InputError, ScorerError
from evenhand.present.design import design
from evenhand.study.rows.ask import ask
from evenhand.types import Scored


class Given:
    """Answers what it was given."""

    name = "given"

    def __init__(self, answer):
        self.answer = answer

    def score(self, shown):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def shown(kit):
    slate = kit.slate("s")
    return list(design(rows=2, repeat=False).draw(slate).shown(slate))


def scored(*values):
    return Scored(np.array(values, dtype=float))


GOOD = scored(0.1, 0.2, 0.3, np.nan)


def test_answers_pass_as_they_are(shown):
    answer = [GOOD, Scored.failed(4, "lost"), GOOD]
    assert ask(Given(answer), shown) == answer
    assert ask(Given(RuntimeError("never asked")), []) == []


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ([GOOD, GOOD], "given gave 2 results for 3 presentations of slates 's' to 's'"),
        (None, "given gave a NoneType for 3 presentations"),
        ([GOOD, scored(1, 2, 3), GOOD], "slate 's', row 1: got 3 scores for 4 candidates"),
        ([GOOD, GOOD, [0.1] * 4], "slate 's', row 2: got a list, need a Scored"),
        ([scored(0, 0, -np.inf, 0), GOOD, GOOD], "row 0: the score of candidate 'c' is -inf"),
        (RuntimeError("no memory"), "given failed on slates 's' to 's': RuntimeError: no memory"),
        (ScorerError("as it is"), "^as it is$"),
    ],
)
def test_what_is_no_scores_is_refused(shown, answer, says):
    with pytest.raises(ScorerError, match=says):
        ask(Given(answer), shown)


def test_errors_of_ours_pass(shown):
    with pytest.raises(InputError, match="too long"):
        ask(Given(InputError("too long")), shown)
