"""`evenhand audit --channels`: what moves a scorer, one row a channel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from evenhand.cli.common import PARTLY, progress, put, put_json, resumable, tell
from evenhand.errors import UsageError

if TYPE_CHECKING:
    from evenhand.report.channels import ChannelResult
    from evenhand.types import Scorer, Slate


def asked_channels(channels: str | None, design: str) -> tuple[str, ...] | None:
    """Return the channels of `--channels`, None without it; told before a model is loaded.

    Raises:
        UsageError: a channel is unknown, or a design was asked for as well.
    """
    from evenhand.study.causes.channels import parse_channels

    if channels is None:
        return None
    if design != "reorder":
        raise UsageError(
            "--design and --channels exclude each other; each channel has a design of its own"
        )
    return parse_channels(channels)


def audit_channels(
    scorer: Scorer,
    slates: Iterable[Slate],
    channels: Sequence[str],
    *,
    out: Path | None,
    html: Path | None,
    markdown: Path | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Score slates once per channel, print one table and leave with its exit code.

    Args:
        scorer: what is audited.
        slates: the input.
        channels: names of `study.causes.channels.CHANNELS`.
        out: folder of the runs, one a channel; None = not kept.
        html, markdown: files to write. as_json: print JSON instead of the table.
        settings: of `report.channels.audit_channels`.

    Raises:
        UsageError: a channel is unknown, or the scorer does not honour it.
    """
    from evenhand.report import channels as report
    from evenhand.report.result import write_text
    from evenhand.study.causes.channels import require_honoured

    require_honoured(scorer, channels)
    with resumable(out), progress(scorer.name, resumes=True) as report_progress:
        done = report.audit_channels(
            scorer, slates, channels, out=out, progress=report_progress, **settings
        )
    _put(done, as_json)
    if html is not None:
        tell(f"report: {done.to_html(html)}")
    if markdown is not None:
        tell(f"report: {write_text(markdown, done.to_markdown())}")
    tell(f"records: {out}" if out is not None else "records were not kept; --out FOLDER keeps them")
    _leave(done)


def _put(done: ChannelResult, as_json: bool) -> None:
    if not as_json:
        from rich.console import Console

        from evenhand.report.channels import render

        console = Console()
        if console.is_terminal:
            console.print(render(done.study, width=console.width))
        else:
            put(done.table())
        return
    from evenhand import __version__

    put_json({"evenhand": __version__, **done.to_dict()})


def _leave(done: ChannelResult) -> None:
    """End with the exit code of the gravest verdict over the channels."""
    from evenhand.study.found.verdict import verdict

    code = 0
    for row in done.study.rows:
        if row.failure:
            tell(f"evenhand: {row.channel}: failed throughout (exit {PARTLY})")
            code = max(code, PARTLY)
        end = None if row.analysis is None else verdict(row.analysis)
        if end is not None and end.exit_code:
            tell(f"evenhand: {row.channel}: {end.word} (exit {end.exit_code})")
            code = max(code, end.exit_code)
    if code:
        raise typer.Exit(code)
