"""A channel study as one HTML file: the kind of scorer, the channels, the run of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from evenhand.report.bars import Series, bars
from evenhand.report.channel_table import HEADS, LEGEND, note_lines, setup_line
from evenhand.report.clean import one_line
from evenhand.report.digits import NONE, count, number
from evenhand.report.figures import BLUE, GREY, ORANGE, Figure
from evenhand.report.grouped import grouped
from evenhand.report.html import page_values
from evenhand.report.page import fill, require_drawing
from evenhand.report.slates import Records
from evenhand.report.table import Cell, estimate_cell
from evenhand.study.analysis import Analysis
from evenhand.study.causes.channels import COLUMNS, ChannelRow, ChannelStudy


@dataclass(frozen=True, slots=True)
class Line:
    """One channel in the table of the page."""

    channel: str
    cells: tuple[Cell, ...]


def to_html(
    study: ChannelStudy,
    runs: Sequence[tuple[Analysis, Records]],
    *,
    title: str = "Channel audit",
    drill: int | None = None,
) -> str:
    """Return the page of a channel study.

    Args:
        study: the channels and the kind of scorer they point to.
        runs: analysis and records of each channel of which something was measured,
            in the order of `study.rows`.
        title: heading of the page.
        drill: most slates that can be opened up, of each channel; None = what keeps
            the page small.

    Raises:
        MissingExtraError: plotly or jinja2 is not installed.
    """
    require_drawing()
    names = [row.channel for row in study.rows if row.analysis is not None]
    values, drawn = page_values(runs, names, drill)
    values |= {
        "title": one_line(title),
        "lede": f"{one_line(str(study.scorer['name']))}: {values['lede']}",
        "kinds": grouped([("", finding) for finding in study.findings], 1),
        "heads": HEADS,
        "lines": [Line(row.channel, line_cells(row)) for row in study.rows],
        "notes": [*note_lines(study), setup_line(study), LEGEND],
        "signs": _signs(study.rows),
        "channels": [row.channel for row in study.rows],
        "chapter_kind": "Channel",
    }
    figures = {f"channels-{name}": figure for name, figure in channel_figures(study.rows).items()}
    return fill("channels.html.j2", drawn | figures, **values)


def line_cells(row: ChannelRow) -> tuple[Cell, ...]:
    """Return the cells of one channel under `HEADS`, the first left out, with intervals."""
    tau = row.value("tauPSI")
    return (
        *(estimate_cell(row.value(name)) for name in COLUMNS),
        *(estimate_cell(row.floor(name)) for name in ("tauPSI", "ScoreChange")),
        Cell(number(row.variants, 1) if row.variants % 1 else count(row.variants)),
        Cell(NONE if tau is None else count(tau.undefined)),
    )


def channel_figures(rows: Sequence[ChannelRow]) -> dict[str, Figure]:
    """Return tau-PSI and overlap of each channel with intervals, each beside its noise floor."""
    names = [row.channel for row in rows]

    def pair(measure: str, colour: str) -> tuple[Series, Series]:
        return (
            Series("varied rows", colour, tuple(row.value(measure) for row in rows)),
            Series("noise floor", GREY, tuple(row.floor(measure) for row in rows), marker=True),
        )

    return {
        "tau": bars(names, pair("tauPSI", ORANGE), "tau-PSI", most=None),
        "overlap": bars(names, pair("Overlap", BLUE), "overlap of the retained sets"),
    }


def _signs(rows: Sequence[ChannelRow]) -> list[tuple[str, list[str]]]:
    """Return (sign, its value in each channel): what the kind of scorer was read from."""
    found = [asdict(row.signs) for row in rows]
    names = list(found[0]) if found else []
    return [(name.replace("_", " "), [_sign(one[name]) for one in found]) for name in names]


def _sign(value: float) -> str:
    return count(value) if isinstance(value, int) else number(value)
