import pytest

from evenhand.errors import ScorerError
from evenhand.score.windows import require_width, window_texts
from evenhand.types import Candidate, Presentation, Shown, Slate

SLATE = Slate("s", "q", (Candidate("a", "A"), Candidate("b", "B", title="T"), Candidate("c", "")))
SHOWN = Shown(SLATE, Presentation((2, 0, 1), ((2, 0), (1,))), 0)


def test_texts_by_window_in_slot_order():
    assert window_texts(SHOWN) == [["", "A"], ["T: B"]]


def test_windows_over_a_limit():
    require_width(SHOWN, None, "x")
    require_width(SHOWN, 2, "x")
    with pytest.raises(
        ScorerError, match="'s': a window of 2 candidates, but it takes at most 1. Choose"
    ):
        require_width(SHOWN, 1, "it takes at most")
