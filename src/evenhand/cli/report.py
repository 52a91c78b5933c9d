"""`evenhand report`: show finished runs again, one or several side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli import readers
from evenhand.cli.common import JSON, leave, put_results, write_reports


def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, one column each.", metavar="RUN...")],
    threshold: Annotated[
        float | None, typer.Option(help="Keep candidates at or above it. Default: as in the run.")
    ] = None,
    measure: Annotated[
        list[str] | None, typer.Option(help="A further measure; repeat for more.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write the HTML report to this file.")] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write the Markdown report to this file.")
    ] = None,
    reader: Annotated[str | None, readers.READER] = None,
    reader_task: Annotated[str | None, readers.TASK] = None,
    reader_top: Annotated[int | None, readers.TOP] = None,
    reader_retained: Annotated[bool, readers.RETAINED] = False,
    reader_setting: Annotated[list[str] | None, readers.SETTING] = None,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Show finished runs side by side; nothing is scored again. A reader may read them."""
    from evenhand.report.result import Result

    asked = (reader, reader_task, reader_top, reader_retained, reader_setting)
    wanted = readers.check_reader(*asked)
    results = [Result(run, threshold=threshold, measures=measure or None) for run in runs]
    readers.read_results(results, wanted)
    put_results(results, as_json=as_json)
    write_reports(results, html, markdown)
    leave(results)
