import io
import logging

from evenhand.cli import common


def test_a_bar_with_the_time_left_is_drawn_on_a_terminal_only(monkeypatch, capsys):
    with common.progress("name") as callback:
        callback(1, 2)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == ["name: scoring", "name: scored"]


def test_the_bar_goes_to_standard_error(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", stream)
    with common.progress("name [b]x[/b]") as callback:
        callback(3, 4)
    drawn = stream.getvalue()
    assert "name [b]x[/b]" in drawn
    assert "3/4" in drawn


def test_odd_text_is_replaced_not_raised(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", stream)
    common.put("é \ud800 x")
    stream.seek(0)
    assert stream.read().strip() == "? ? x"


def test_what_an_earlier_call_did_is_told_once(capsys):
    for first in ((0, 3), (2, 3), (3, 3), (1, 1)):
        with common.progress("name", resumes=True) as callback:
            callback(*first)
            callback(first[1], first[1])
    told = [line for line in capsys.readouterr().err.splitlines() if "earlier" in line]
    assert told == [
        "name: 2 of 3 slates scored by an earlier call; 1 left",
        "name: 3 of 3 slates scored by an earlier call; nothing was left to score",
        "name: 1 of 1 slate scored by an earlier call; nothing was left to score",
    ]


def test_the_log_is_told_on_standard_error_inside_a_verb_only(capsys):
    log = logging.getLogger("evenhand.models.fetch")
    with common.told_log():
        log.info("fetching %s", "it")
    log.info("again")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "evenhand: fetching it\n")
