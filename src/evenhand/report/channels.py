"""A channel study as a table: one row a channel, the same measures as columns."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from evenhand.report.clean import markdown_cell, one_line
from evenhand.report.digits import NONE, count, number
from evenhand.report.result import Result, require_askable
from evenhand.study.channels import COLUMNS, FURTHER, ChannelRow, ChannelStudy, study_channels
from evenhand.study.counted import counted
from evenhand.types import Estimate, Scorer, Slate

_HEADS = {
    "tauPSI": "tauPSI",
    "CanonicalPSI": "from canonical",
    "Overlap": "overlap",
    "SetFlip": "set flip",
    "Top1Flip": "top-1 flip",
    "PairFlip": "pair flip",
    "ScoreChange": "score change",
}
HEADS = ("channel", *_HEADS.values(), "noise floor", "score floor", "rows", "undefined")
_MEMBERS = {
    "PoolPSI(kind='replaced')": "Pool-PSI, replaced in place",
    "PoolPSI(kind='dropped')": "Pool-PSI, dropped",
    "TopSetFlip@10": "top-10 set flip",
    "RetainedDelta": "score change of the retained",
}
LEGEND = (
    "tauPSI, overlap and flips compare varied rows with each other; from canonical and score change "
    "compare each with the canonical row; the two floors are the same between the canonical row and "
    "its repeat. rows: varied rows of a slate. undefined: slates without a value."
)


def _mean(estimate: Estimate | None) -> str:
    return NONE if estimate is None else number(estimate.mean)


def cells(row: ChannelRow) -> tuple[str, ...]:
    """Return the cells of one channel, in the order of `HEADS`."""
    tau = row.value("tauPSI")
    return (
        row.channel,
        *(_mean(row.value(name)) for name in COLUMNS),
        _mean(row.floor("tauPSI")),
        _mean(row.floor("ScoreChange")),
        number(row.variants, 1) if row.variants % 1 else count(row.variants),
        NONE if tau is None else count(tau.undefined),
    )


def _setup(study: ChannelStudy) -> str:
    settings, scorer = study.settings, study.scorer
    width = settings["width"]
    parts = (
        f"{scorer['name']} (revision {str(scorer['revision'])[:16]}, scale {scorer['scale']})",
        counted(settings["n_slates"], "slate"),
        f"M {settings['rows']}",
        f"B {'whole slate' if width is None else width}",
        f"rule {settings['rule']}",
        f"seed {settings['seed']}",
    )
    return one_line("; ".join(parts))


def _member_lines(study: ChannelStudy) -> list[str]:
    """Return what is measured of membership alone."""
    found = [row for row in study.rows if row.channel == "membership"]
    lines = []
    for row in found:
        said = [f"{label} {_mean(row.value(name))}" for name, label in _MEMBERS.items()]
        lines.append("membership: " + "; ".join(said))
    return lines


def render(study: ChannelStudy) -> RenderableType:
    """Return the table, its settings and the findings, to print with rich."""
    grid = RichTable()
    for place, head in enumerate(HEADS):
        grid.add_column(head, justify="left" if place == 0 else "right", no_wrap=True)
    for row in study.rows:
        grid.add_row(*map(Text, cells(row)))
    lines: list[RenderableType] = [grid]
    for line in (*_member_lines(study), _setup(study), LEGEND):
        lines.append(Text(line, style="dim"))
    for finding in study.findings:
        message = one_line(finding.message)
        lines.append(Text(f"{finding.severity} {message} ({finding.code})"))
    return Group(*lines)


def to_text(study: ChannelStudy) -> str:
    """Return the same as plain text without colour."""
    console = Console(file=io.StringIO(), width=160, color_system=None, force_terminal=False)
    console.print(render(study))
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"


def to_markdown(study: ChannelStudy, *, title: str = "Channel audit") -> str:
    """Return table, settings and findings as Markdown; text from outside is escaped."""

    def line(parts: Sequence[str]) -> str:
        return "| " + " | ".join(map(markdown_cell, parts)) + " |"

    lines = [f"# {markdown_cell(title)}", "", line(HEADS), "|" + "---|" * len(HEADS)]
    lines += [line(cells(row)) for row in study.rows]
    lines += ["", *(f"- {markdown_cell(text)}" for text in _member_lines(study))]
    lines += [f"- {markdown_cell(_setup(study))}", f"- {LEGEND}", ""]
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
        channels: names of `study.channels.CHANNELS`.
        out: folder of the runs, one a channel; None = a temporary folder that
            lives as long as the result.
        threshold: keep candidates at or above it; None = fitted for F1.
        measures: further measures of each run.
        settings: the other settings of `study.channels.study_channels`.

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
