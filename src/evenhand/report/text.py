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


def render(analyses: Sequence[Analysis], *, title: str | None = None) -> RenderableType:
    """Return the table, its settings and the findings, to print with rich.

    Args:
        analyses: one column each.
        title: a line above the table.
    """
    table = build(analyses)
    parts: list[RenderableType] = [_grid(table, title), _setup(table)]
    parts.extend(_findings(table))
    return Group(*parts)


def to_text(analyses: Sequence[Analysis], *, title: str | None = None, width: int | None = None) -> str:
    """Return the same as plain text without colour.

    Args:
        analyses: one column each.
        title: a line above the table.
        width: columns of the page; None = as many as the table wants.
    """
    page = _FIRST + _EACH * len(analyses) + 20 if width is None else width
    console = Console(file=io.StringIO(), width=max(page, 80), color_system=None, force_terminal=False)
    console.print(render(analyses, title=title))
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _grid(table: Table, title: str | None) -> RichTable:
    grid = RichTable(title=None if title is None else Text(one_line(title)), title_justify="left")
    grid.add_column("", no_wrap=True)
    for column in table.columns:
        grid.add_column(Text(one_line(column)), justify="left", overflow="fold")
    for section in table.sections:
        grid.add_section()
        grid.add_row(Text(section.title, style="bold"), *[""] * len(table.columns))
        for row in section.rows:
            indent = "    " if row.minor else "  "
            style = "dim" if row.minor else ""
            cells = [_cell(cell, style) for cell in row.cells]
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
