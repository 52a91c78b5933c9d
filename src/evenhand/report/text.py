"""Results as a table in the terminal."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from evenhand.report.clean import one_line
from evenhand.report.table import Cell, Table, build
from evenhand.study.analysis import Analysis

_STYLE = {"error": "bold red", "warning": "yellow", "note": "cyan"}
_FIRST = 28
_EACH = 30
# Under it a number and its interval break in two.
_LEAST = 24


def render(
    analyses: Sequence[Analysis],
    *,
    title: str | None = None,
    labels: Sequence[str] | None = None,
    width: int | None = None,
) -> RenderableType:
    """Return the table, its settings and the findings, to print with rich.

    Args:
        analyses: one column each.
        title: a line above the table.
        labels: of each, to tell columns of one scorer apart.
        width: columns of the page; results that do not fit side by side go into
            further tables below. None = one table.
    """
    table = build(analyses, labels)
    some = len(analyses) if width is None else max(1, (width - _FIRST) // _LEAST)
    starts = range(0, len(table.columns), max(1, some))
    parts: list[RenderableType] = [
        _grid(table, range(len(table.columns))[start : start + some], None if start else title)
        for start in starts
    ]
    parts.append(_setup(table))
    parts.extend(_findings(table))
    return Group(*parts)


def to_text(
    analyses: Sequence[Analysis],
    *,
    title: str | None = None,
    width: int | None = None,
    labels: Sequence[str] | None = None,
) -> str:
    """Return the same as plain text without colour.

    Args:
        analyses: one column each.
        title: a line above the table.
        width: columns of the page; None = as many as the table wants.
        labels: of each, to tell columns of one scorer apart.
    """
    page = _FIRST + _EACH * len(analyses) + 20 if width is None else width
    console = Console(file=io.StringIO(), width=max(page, 80), color_system=None, force_terminal=False)
    console.print(render(analyses, title=title, labels=labels, width=width))
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _grid(table: Table, places: Sequence[int], title: str | None) -> RichTable:
    grid = RichTable(title=None if title is None else Text(one_line(title)), title_justify="left")
    grid.add_column("", no_wrap=True)
    for place in places:
        grid.add_column(Text(one_line(table.columns[place])), justify="left", overflow="fold")
    for section in table.sections:
        grid.add_section()
        grid.add_row(Text(section.title, style="bold"), *[""] * len(places))
        for row in section.rows:
            indent = "    " if row.minor else "  "
            style = "dim" if row.minor else ""
            cells = [_cell(row.cells[place], style) for place in places]
            grid.add_row(Text(indent + one_line(row.label), style=style), *cells)
    return grid


def _cell(cell: Cell, style: str) -> Text:
    text = Text(one_line(cell.value), style=style)
    if cell.aside:
        text.append(" " + one_line(cell.aside), style="dim")
    return text


def _setup(table: Table) -> Text:
    shared = "; ".join(f"{label} {value}" for label, value in table.setup)
    return Text(one_line(shared), style="dim")


def _findings(table: Table) -> list[Text]:
    lines = []
    for column, finding in table.findings:
        line = Text(f"{finding.severity} ", style=_STYLE.get(finding.severity, ""))
        line.append(one_line(f"{column}: {finding.message} ({finding.code})"), style="default")
        lines.append(line)
    return lines
