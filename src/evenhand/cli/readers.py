"""The options of a reader, shared by the verbs that can use one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import typer

from evenhand.cli.common import progress, resumable
from evenhand.errors import UsageError

if TYPE_CHECKING:
    from evenhand.decide.prompts import Task
    from evenhand.decide.reading import Reader
    from evenhand.report.result import Result

READER = typer.Option(
    "--reader",
    help="Let a reader read each row: smollm2-135m, hf:MODEL, gguf:FILE or openai:MODEL.",
    metavar="SPEC",
)
TASK = typer.Option(
    "--reader-task", help="What the reader gives: answer or verdict.  [default: answer]"
)
TOP = typer.Option("--reader-top", help="Candidates it reads, best first.  [default: 5]", metavar="K")
RETAINED = typer.Option("--reader-retained", help="It reads what the threshold retains instead.")
SETTING = typer.Option(
    "--reader-set", help="A reader option, e.g. base_url=...; repeat for more.", metavar="NAME=VALUE"
)


@dataclass(frozen=True)
class Asked:
    """A reader that was asked for, its names and options checked.

    Attributes:
        spec, task: as given; the usual task where none was.
        top: candidates it reads; None = all that are retained.
        retained: it reads what the threshold retains.
        options: of the reader.
    """

    spec: str
    task: Task
    top: int | None
    retained: bool
    options: Mapping[str, Any]

    @cached_property
    def reader(self) -> Reader:
        """The reader itself; its weights are loaded at the first look."""
        from evenhand.decide import open_reader

        return open_reader(self.spec, self.task, **self.options)


def check_reader(
    spec: str | None,
    task: str | None,
    top: int | None,
    retained: bool,
    settings: Sequence[str] | None,
    *,
    channels: str | None = None,
) -> Asked | None:
    """Return the reader that is asked for, None where none is; nothing is loaded yet.

    Raises:
        UsageError: reader options without a reader, that exclude each other, are unknown
            or of the wrong kind; an unknown task or model.
        InputError: a local model is not there.
        MissingExtraError: the model needs an extra that is not installed.
    """
    if spec is None:
        if task is not None or top is not None or retained or settings:
            raise UsageError("--reader-... is for a reader; name one with --reader SPEC")
        return None
    if channels is not None:
        raise UsageError("--reader and --channels exclude each other; read the run of one design")
    if retained and top is not None:
        raise UsageError("--reader-top and --reader-retained exclude each other")
    if top is not None and top < 1:
        raise UsageError(f"--reader-top must be at least 1, got {top}")
    from evenhand.cli.inputs import parse_settings
    from evenhand.decide import check_reader as check
    from evenhand.decide.prompts import check_task
    from evenhand.decide.reading import TOP as USUAL

    options = parse_settings(settings or [], flag="--reader-set")
    known = check_task(task or "answer")
    check(spec, known, **options)
    return Asked(spec, known, None if retained else top or USUAL, retained, options)


def load_reader(asked: Asked | None) -> None:
    """Load the reader that is asked for, so that what fails of it fails before anything is scored."""
    if asked is not None:
        _ = asked.reader


def read_results(results: Sequence[Result], asked: Asked | None, *, kept: bool = True) -> None:
    """Let the reader that was asked for read each run; nothing where none was.

    Args:
        results: the runs. asked: of `check_reader`.
        kept: the runs outlive this call, so that a stopped reading goes on in the next.
    """
    if asked is None:
        return
    name = f"reader {asked.reader.name}"
    for result in results:
        with resumable(result.path if kept else None), progress(name, resumes=True) as bar:
            result.read(asked.reader, top=asked.top, retained=asked.retained, progress=bar)
