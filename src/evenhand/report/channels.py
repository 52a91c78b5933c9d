"""A channel study as a table: one row a channel, the same measures as columns."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from evenhand.report.channel_page import to_html
from evenhand.report.channel_table import HEADS, LEGEND, cells, note_lines, setup_line
from evenhand.report.clean import markdown_cell, one_line
from evenhand.report.columns import packed, whole_widths
from evenhand.report.result import Result, require_askable, write_text
from evenhand.study.causes.channels import COLUMNS, FURTHER, ChannelStudy, study_channels
from evenhand.types import Estimate, Scorer, Slate

_WIDTH = 160


def render(study: ChannelStudy, *, width: int = _WIDTH) -> RenderableType:
    """Return the table, its settings and the findings, to print with rich.

    Args:
        study: what was found.
        width: of the page; columns that do not fit go into further tables below.
    """
    shown = [cells(row) for row in study.rows]
    widths = whole_widths(HEADS, shown, fold=False)
    lines: list[RenderableType] = [_grid(places, widths, shown) for places in packed(widths, width)]
    for line in (*note_lines(study), setup_line(study), LEGEND):
        lines.append(Text(line, style="dim"))
    for finding in study.findings:
        message = one_line(finding.message)
        lines.append(Text(f"{finding.severity} {message} ({finding.code})"))
    return Group(*lines)


def _grid(places: Sequence[int], widths: Sequence[int], shown: Sequence[Sequence[str]]) -> RichTable:
    grid = RichTable()
    for place in places:
        grid.add_column(
            HEADS[place], justify="left" if place == 0 else "right", width=widths[place], no_wrap=True
        )
    for row in shown:
        grid.add_row(*(Text(row[place]) for place in places))
    return grid


def to_text(study: ChannelStudy, *, width: int = _WIDTH) -> str:
    """Return the same as plain text without colour, `width` columns wide."""
    console = Console(file=io.StringIO(), width=width, color_system=None, force_terminal=False)
    console.print(render(study, width=width))
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"


def to_markdown(study: ChannelStudy, *, title: str = "Channel audit") -> str:
    """Return table, settings and findings as Markdown; text from outside is escaped."""

    def line(parts: Sequence[str]) -> str:
        return "| " + " | ".join(map(markdown_cell, parts)) + " |"

    lines = [f"# {markdown_cell(title)}", "", line(HEADS), "|" + "---|" * len(HEADS)]
    lines += [line(cells(row)) for row in study.rows]
    lines += ["", *(f"- {markdown_cell(text)}" for text in note_lines(study))]
    lines += [f"- {markdown_cell(setup_line(study))}", f"- {LEGEND}", ""]
    if study.findings:
        lines += ["## Findings", ""]
        for finding in study.findings:
            message = markdown_cell(finding.message)
            lines.append(f"- **{finding.severity}** {message} ({markdown_cell(finding.code)})")
        lines.append("")
    return "\n".join(lines)


def _estimate(estimate: Estimate | None) -> dict[str, Any] | None:
    return None if estimate is None else _plain(asdict(estimate))


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values with null for what is not a number."""
    return {
        name: None if isinstance(value, float) and value - value != 0 else value
        for name, value in values.items()
    }


def to_dict(study: ChannelStudy) -> dict[str, Any]:
    """Return the study as JSON values; what is not a number is null."""
    channels = {
        row.channel: {
            "path": str(row.path),
            "rows": row.variants,
            "values": {name: _estimate(row.value(name)) for name in (*COLUMNS, *FURTHER)},
            "floor": {name: _estimate(row.floor(name)) for name in COLUMNS},
            "signs": _plain(asdict(row.signs)),
            "failure": row.failure or None,
            "findings": [] if row.analysis is None else [asdict(f) for f in row.analysis.findings],
        }
        for row in study.rows
    }
    settings = {**study.settings, "surface": asdict(study.settings["surface"])}
    return {
        "scorer": dict(study.scorer),
        "settings": settings,
        "channels": channels,
        "findings": [asdict(finding) for finding in study.findings],
    }


@dataclass(frozen=True, eq=False)
class ChannelResult:
    """A finished channel study; `audit_channels` makes one.

    Attributes:
        study: everything computed.
        threshold, measures: as in the call, to read the runs again.
    """

    study: ChannelStudy
    threshold: float | None = None
    measures: tuple[str, ...] | None = None

    def table(self) -> str:
        """Return the table as plain text."""
        return to_text(self.study)

    def to_markdown(self) -> str:
        """Return the study as Markdown."""
        return to_markdown(self.study)

    def to_html(self, path: str | os.PathLike[str]) -> Path:
        """Write the study as one HTML file, the run of each channel in it, and return its path.

        Raises:
            MissingExtraError: plotly or jinja2 is not installed.
        """
        runs = [(result.analysis, result.folder) for result in self.results()]
        return write_text(path, to_html(self.study, runs))

    def to_dict(self) -> dict[str, Any]:
        """Return the study as JSON values."""
        return to_dict(self.study)

    def results(self) -> list[Result]:
        """Return the run of each channel of which something was measured."""
        return [
            Result(row.path, threshold=self.threshold, measures=self.measures)
            for row in self.study.rows
            if row.analysis is not None
        ]


def audit_channels(
    scorer: Scorer,
    slates: Iterable[Slate],
    channels: Sequence[str],
    *,
    out: str | os.PathLike[str] | None = None,
    threshold: float | None = None,
    measures: Sequence[str] | None = None,
    **settings: Any,
) -> ChannelResult:
    """Measure one scorer under several channels, on the same slates.

    Args:
        scorer: what is audited.
        slates: the input, read once.
        channels: names of `study.causes.channels.CHANNELS`.
        out: folder of the runs, one a channel; None = a temporary folder that
            lives as long as the result.
        threshold: keep candidates at or above it; None = fitted for F1.
        measures: further measures of each run.
        settings: the other settings of `study.causes.channels.study_channels`.

    Raises:
        UsageError: a channel is unknown, or the scorer cannot honour it; nothing
            has been scored then.
        NothingMeasuredError: no channel gives any defined value.
    """
    require_askable(scorer, slates, threshold, measures)
    settings |= {"threshold": threshold, "measures": measures}
    kept = None if measures is None else tuple(measures)
    if out is not None:
        return ChannelResult(study_channels(scorer, slates, channels, out, **settings), threshold, kept)
    temporary = tempfile.mkdtemp(prefix="evenhand-")
    try:
        study = study_channels(scorer, slates, channels, temporary, **settings)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    result = ChannelResult(study, threshold, kept)
    weakref.finalize(result, shutil.rmtree, temporary, ignore_errors=True)
    return result
