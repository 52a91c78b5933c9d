import json

import pytest

from evenhand.report.clean import markdown_cell, one_line, script_json


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("two  words\n and\ttab", "two words and tab"),
        ("nul\x00 esc\x1b[31m", "nul\ufffd esc\ufffd[31m"),
        ("lone \ud800 surrogate", "lone \ufffd surrogate"),
        ("\u202eevil\u202c", "\ufffdevil\ufffd"),
        ("שלום עולם", "שלום עולם"),
        ("line\u2028separator", "line separator"),
        ("   ", ""),
    ],
)
def test_one_line_shows_letters_and_marks_what_acts(text, shown):
    assert one_line(text) == shown
    one_line(text).encode("utf-8")


def test_one_line_cuts_at_the_limit_with_a_mark():
    # "abcdefghij" has 10 characters: 10 fit, in 6 there is room for 5 and the mark.
    assert one_line("abcdefghij", 10) == "abcdefghij"
    assert one_line("abcdefghij", 6) == "abcde…"
    assert one_line("abcd fghij", 6) == "abcd…"


def test_script_json_is_the_same_value_and_cannot_close_a_script():
    value = {"text": "</script><!-- & \u2028 \u2029"}
    escaped = script_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(escaped) == value
    assert not set("<>&\u2028\u2029") & set(escaped)


def test_markdown_cell_is_literal():
    assert markdown_cell("a|b *c* [d](e) <f>\n`g`") == "a\\|b \\*c\\* \\[d\\](e) \\<f\\> \\`g\\`"
