import io

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
