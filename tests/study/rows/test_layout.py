import pytest

from evenhand.errors import InputError, UsageError
from evenhand.score.function import scorer
from evenhand.score.toy import Toy
from evenhand.study.rows.layout import Layout, layout
from evenhand.types import Candidate, Slate, Surface

SLATES = [Slate("q", "query", tuple(Candidate(f"c{i}", "x") for i in range(5)))]
NARROW = scorer(lambda query, texts: [0] * len(texts), max_window=3)


def test_present_cuts_an_order():
    shown = Layout(2, "interleaved", Surface(dummy=1)).present([4, 3, 2, 1, 0])
    assert shown.order == (4, 3, 2, 1, 0)
    # ceil(5 / 2) = 3 windows dealt round-robin.
    assert shown.windows == ((4, 1), (3, 0), (2,))
    assert shown.surface.dummy == 1


def test_defaults_are_the_scorers():
    assert layout(NARROW, SLATES).width == 3
    assert layout(NARROW, SLATES, width=2).width == 2
    assert layout(Toy(), SLATES).width is None
    assert layout(Toy(), SLATES, surface=Surface(dummy=3)).surface.dummy == 3


def test_what_cannot_be_shown_is_refused():
    with pytest.raises(UsageError, match="takes at most 3"):
        layout(NARROW, SLATES, width=4)
    with pytest.raises(UsageError, match="contiguous"):
        layout(Toy(), SLATES, rule="odd")
    with pytest.raises(UsageError, match="varies marker"):
        layout(Toy(noise=0.1), SLATES, channels=frozenset({"marker", "order"}))
    with pytest.raises(InputError, match="'q' comes twice"):
        layout(Toy(), SLATES * 2)
    # Five candidates fit into one prompt however wide it may be.
    assert (
        layout(scorer(lambda query, texts: [0] * len(texts), max_window=5), SLATES, width=9).width == 9
    )


def test_an_order_free_scorer_honours_what_never_reaches_it():
    assert layout(Toy(), SLATES, channels=frozenset({"marker"})) == Layout()
