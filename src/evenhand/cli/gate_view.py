"""The verdict of a gate as a table in the terminal."""

from __future__ import annotations

import io
import math

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from evenhand.gate import Judged, Outcome, RunVerdict, Verdict
from evenhand.report.clean import one_line
from evenhand.report.columns import table_width, whole_widths
from evenhand.report.digits import number

HEADINGS = ("criterion", "value", "interval", "n", "noise floor", "verdict")
_STYLE = {Outcome.PASSED: "green", Outcome.FAILED: "bold red"}
_WIDTH = 140
_REVISION = 16


def cells(one: Judged) -> tuple[str, ...]:
    """Return the cells of one criterion, under HEADINGS."""
    interval = "" if math.isnan(one.low) else f"[{number(one.low)}, {number(one.high)}]"
    undefined = f", {one.undefined} undefined" if one.undefined else ""
    value = number(one.value)
    if one.criterion.change is not None and not math.isnan(one.before):
        value += f" ({number(one.before)} to {number(one.after)})"
    numbers = (value, interval, f"{one.n}{undefined}", number(one.floor))
    return (str(one.criterion), *numbers, one.outcome.word)


def render(found: Verdict, *, width: int = _WIDTH) -> RenderableType:
    """Return a table for each run, then the verdict, to print with rich.

    Args:
        found: the verdict.
        width: of the page; where a table would cut numbers, a block of lines stands.
    """
    parts = [part for run in found.runs for part in _run(run, width)]
    rule = "the whole interval decides" if found.on == "bound" else "the mean decides"
    ends = [end for end in Outcome if found.count(end)]
    counts = ", ".join(f"{found.count(end)} {end.word}" for end in ends)
    last = Text("gate: ", style="bold")
    last.append(found.outcome.word, style=_STYLE.get(found.outcome, "yellow"))
    last.append(f" ({counts}; {rule}, level {found.level:.10g})", style="dim")
    return Group(*parts, last)


def _run(run: RunVerdict, width: int) -> list[RenderableType]:
    title = Text(one_line(f"{run.run}: {run.outcome.word}"))
    parts: list[RenderableType] = [_grid(title, run, width)]
    for one in run.results:
        if one.reason:
            parts.append(_line(one.outcome.word, f"{one.criterion}: {one.reason}", "yellow"))
    if run.problem:
        parts.append(_line(run.scored.word, run.problem, "yellow"))
    parts.append(Text(one_line(setting_line(run)), style="dim"))
    parts += [Text(one_line(note), style="yellow") for note in run.notes]
    return parts


def _line(word: str, said: str, style: str) -> Text:
    line = Text(f"{word} ", style=style)
    return line.append(one_line(said), style="default")


def setting_line(run: RunVerdict) -> str:
    """Return what travels with the numbers of a run, in one line; counts of 0 are left out."""
    facts = {name: value for name, value in run.facts.items() if value is not None}
    if "threshold" in facts:
        facts["threshold"] = " / ".join(number(value) for value in facts["threshold"])
    if "revision" in facts:
        facts["revision"] = one_line(str(facts["revision"]), _REVISION)
    told = [(name, value) for name, value in facts.items() if value or name == "seed"]
    return "; ".join(f"{name.replace('_', ' ')} {value}" for name, value in told)


def _grid(title: Text, run: RunVerdict, width: int) -> RenderableType:
    rows = [[one_line(cell) for cell in cells(one)] for one in run.results]
    styles = [_STYLE.get(one.outcome, "yellow") for one in run.results]
    widths = whole_widths(HEADINGS, rows, fold=True)
    if table_width(widths) > width:
        pairs = zip(rows, styles, strict=True)
        return Group(title, *(_block(row, style) for row, style in pairs))
    grid = Table(title=title, title_justify="left")
    for head, each in zip(HEADINGS, widths, strict=True):
        grid.add_column(head, width=each)
    for row, style in zip(rows, styles, strict=True):
        grid.add_row(*row[:-1], Text(row[-1], style=style))
    return grid


def _block(row: list[str], style: str) -> Text:
    """Return one criterion with a line for each of its numbers."""
    across = max(map(len, HEADINGS)) + 2
    pairs = zip(HEADINGS[1:], row[1:], strict=True)
    lines = [row[0], *(f"  {head:<{across}}{cell}" for head, cell in pairs)]
    return Text("\n".join(lines), style=style)


def to_text(found: Verdict, *, width: int = _WIDTH) -> str:
    """Return the same as plain text without colour, `width` columns wide."""
    console = Console(file=io.StringIO(), width=width, color_system=None, force_terminal=False)
    console.print(render(found, width=width))
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"
