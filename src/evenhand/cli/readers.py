"""The options of a reader, shared by the verbs that can use one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from evenhand.cli.common import progress, resumable
from evenhand.errors import UsageError

if TYPE_CHECKING:
    from evenhand.report.result import Result

READER = typer.Option(
    "--reader",
    help="Let a reader read each row: smollm2-135m, hf:MODEL, gguf:FILE or openai:MODEL.",
    metavar="SPEC",
)
TASK = typer.Option("--reader-task", help="What the reader gives: answer or verdict.")
TOP = typer.Option("--reader-top", help="Candidates it reads, best first.", metavar="K")
RETAINED = typer.Option("--reader-retained", help="It reads what the threshold retains instead.")
SETTING = typer.Option(
    "--reader-set", help="A reader option, e.g. base_url=...; repeat for more.", metavar="NAME=VALUE"
)


def check_reader(
    spec: str | None,
    task: str | None,
    top: int | None,
    retained: bool,
    settings: Sequence[str] | None,
    *,
    channels: str | None = None,
) -> None:
    """Refuse reader options without a reader, or that exclude each other.

    Raises:
        UsageError: they do.
    """
    if spec is None and (task is not None or top is not None or retained or settings):
        raise UsageError("--reader-... is for a reader; name one with --reader SPEC")
    if spec is not None and channels is not None:
        raise UsageError("--reader and --channels exclude each other; read the run of one design")
    if spec is not None:
        _check_names(spec, task)
    if retained and top is not None:
        raise UsageError("--reader-top and --reader-retained exclude each other")
    if top is not None and top < 1:
        raise UsageError(f"--reader-top must be at least 1, got {top}")


def _check_names(spec: str, task: str | None) -> None:
    """Refuse a task or a model's name that is none, before anything is scored."""
    from evenhand.decide.prompts import check_task
    from evenhand.models.source import parse

    check_task(task or "answer")
    if not spec.startswith("openai:"):
        parse(spec)


def read_results(
    results: Sequence[Result],
    spec: str | None,
    task: str | None,
    top: int | None,
    retained: bool,
    settings: Sequence[str] | None,
) -> None:
    """Let the reader that was asked for read each run; nothing where none was."""
    if spec is None:
        return
    from evenhand.cli.inputs import parse_settings
    from evenhand.decide import open_reader
    from evenhand.decide.prompts import check_task
    from evenhand.decide.reading import TOP as USUAL

    asked = task or "answer"
    reader = open_reader(spec, check_task(asked), **parse_settings(settings or []))
    for result in results:
        with resumable(result.path), progress(f"reader {reader.name}") as bar:
            most = None if retained else top or USUAL
            result.read(reader, top=most, retained=retained, progress=bar)
