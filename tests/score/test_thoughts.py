import pytest

from evenhand.score.thoughts import without_thought


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1] > [2]", "[1] > [2]"),
        ("<think>[2] first?</think>[1]", "[1]"),
        ("[2] first?</think>[1]", "[1]"),
        ("a</think>b</think>c", "c"),
        (" <think>[2] and on and on", ""),
        ("say <think>", "say <think>"),
        ("", ""),
    ],
)
def test_what_was_said(text, said):
    assert without_thought(text) == said
