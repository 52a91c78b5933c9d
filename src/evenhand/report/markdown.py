"""Results as a Markdown document."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.report.clean import markdown_cell
from evenhand.report.table import Cell, Table, build
from evenhand.study.analysis import Analysis


def to_markdown(
    analyses: Sequence[Analysis],
    *,
    title: str = "Presentation audit",
    labels: Sequence[str] | None = None,
) -> str:
    """Return headline table, settings and findings as Markdown.

    Names and messages from outside are escaped, so they cannot become markup.

    Args:
        analyses: one column each.
        title: heading.
        labels: of each, to tell columns of one scorer apart.
    """
    table = build(analyses, labels)
    lines = [f"# {markdown_cell(title)}", "", *_rows(table), ""]
    if table.setup:
        lines += ["## Settings", ""]
        lines += [f"- {markdown_cell(label)}: {markdown_cell(value)}" for label, value in table.setup]
        lines.append("")
    if table.findings:
        lines += ["## Findings", ""]
        for column, finding in table.findings:
            message = markdown_cell(f"{column}: {finding.message}")
            lines.append(f"- **{finding.severity}** {message} ({markdown_cell(finding.code)})")
        lines.append("")
    return "\n".join(lines)


def _rows(table: Table) -> list[str]:
    lines = [_line(["", *map(markdown_cell, table.columns)]), _line(["---"] * (len(table.columns) + 1))]
    for section in table.sections:
        lines.append(_line([f"**{markdown_cell(section.title)}**", *[""] * len(table.columns)]))
        for row in section.rows:
            label = ("↳ " if row.minor else "") + markdown_cell(row.label)
            lines.append(_line([label, *map(_cell, row.cells)]))
    return lines


def _cell(cell: Cell) -> str:
    return markdown_cell(f"{cell.value} {cell.aside}".strip())


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
