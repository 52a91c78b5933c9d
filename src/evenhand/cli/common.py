"""What the verbs share: where things are printed, progress, exit codes."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer

from evenhand.errors import MissingExtraError, UsageError
from evenhand.study.counted import counted

if TYPE_CHECKING:
    from evenhand.report.result import Result

Step = Callable[[int, int], None]

PARTLY = 7
FAULT = 70
INTERRUPTED = 130

JSON = typer.Option("--json", help="Print one JSON document instead of text.")


def tell(message: str) -> None:
    """Print a message for people to standard error."""
    with contextlib.suppress(OSError):  # there is nobody to tell
        print(_printable(message, sys.stderr), file=sys.stderr, flush=True)


def put(text: str) -> None:
    """Print a result to standard output; a reader that has left early is no fault.

    Raises:
        UsageError: standard output cannot be written.
    """
    try:
        print(_printable(text, sys.stdout).rstrip("\n"), flush=True)
    except BrokenPipeError:
        drop_output()
    except OSError as error:
        drop_output()
        raise UsageError(f"standard output cannot be written ({error.strerror})") from None


def drop_output() -> None:
    """Send what is still to come on standard output nowhere, also what is flushed at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    with contextlib.suppress(OSError, ValueError):
        os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _printable(text: str, stream: TextIO) -> str:
    """Replace what the stream cannot encode, so that odd input never stops a verb."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "replace").decode(encoding)


def put_json(value: object) -> None:
    """Print plain values as one strict ASCII JSON document to standard output."""
    put(json.dumps(value, allow_nan=False, ensure_ascii=True, indent=2))


def show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    """Print a warning of evenhand's own as one line on standard error; others are not the user's."""
    if category.__module__.partition(".")[0] == "evenhand":
        tell(f"evenhand: warning: {message}")


class _Told(logging.Handler):
    """Prints what evenhand's own log says to people, on the standard error of the moment."""

    def emit(self, record: logging.LogRecord) -> None:
        tell(f"evenhand: {record.getMessage()}")


@contextlib.contextmanager
def told_log() -> Iterator[None]:
    """Print the log of evenhand (what is fetched, converted) to standard error inside a block."""
    log, handler = logging.getLogger("evenhand"), _Told(logging.INFO)
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


@contextlib.contextmanager
def progress(label: str, *, resumes: bool = False) -> Iterator[Step]:
    """Give a callback (done, in all) that draws a bar with the time left on standard error.

    Nothing is drawn where standard error is no terminal; a line at the start and
    one at the end are printed instead.

    Args:
        label: what stands before the bar.
        resumes: the first call tells what an earlier call of the verb has done; say so.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TextColumn("slates"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    if not console.is_terminal:
        tell(f"{label}: scoring")
        yield _told_at_first(label, tell, lambda done, total: None, resumes)
        tell(f"{label}: scored")
        return
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield _told_at_first(
            label,
            lambda message: bar.console.print(message, markup=False, highlight=False),
            lambda done, total: bar.update(task, completed=done, total=total),
            resumes,
        )


def _told_at_first(label: str, say: Callable[[str], None], then: Step, resumes: bool) -> Step:
    """Return `then`; where a verb resumes, its first call says what had been done before."""
    called = not resumes

    def step(done: int, total: int) -> None:
        nonlocal called
        if not called and done:
            left = "nothing was left to score" if done >= total else f"{total - done} left"
            say(f"{label}: {done} of {counted(total, 'slate')} scored by an earlier call; {left}")
        called = True
        then(done, total)

    return step


@contextlib.contextmanager
def resumable(out: object | None) -> Iterator[None]:
    """Turn an interruption into its exit code, and say how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        hint = "run the same command again to go on" if out is not None else "nothing was kept"
        tell(f"evenhand: interrupted; {hint}")
        raise typer.Exit(INTERRUPTED) from None


def put_results(results: Sequence[Result], *, as_json: bool, title: str | None = None) -> None:
    """Print results side by side to standard output, as a table or as JSON."""
    analyses = [result.analysis for result in results]
    if as_json:
        from evenhand import __version__
        from evenhand.study.found.summary import analysis_to_dict

        entries = [
            {"path": str(result.path), **analysis_to_dict(result.analysis)} for result in results
        ]
        put_json({"evenhand": __version__, "results": entries})
        return
    from rich.console import Console

    from evenhand.report import text
    from evenhand.report.result import labels_of

    console, labels = Console(), labels_of(results)
    if console.is_terminal:
        console.print(text.render(analyses, title=title, labels=labels, width=console.width))
    else:
        put(text.to_text(analyses, title=title, labels=labels))


def keep_result(out: Path | None, found: Mapping[str, Any]) -> None:
    """Write what a study found beside its kept answers, where it has a folder, and say so."""
    if out is None:
        return
    from evenhand.study.rows.kept import write_result

    write_result(out, found)
    tell(f"records: {out}")


def check_reports(html: Path | None, markdown: Path | None) -> None:
    """Refuse, before anything is scored, reports that could not be written after it.

    Raises:
        UsageError: a path is a folder, or no file can be made there.
        MissingExtraError: HTML is asked for, and what draws it is not installed.
    """
    for path in (html, markdown):
        if path is None:
            continue
        held = next(place for place in (path, *path.absolute().parents) if os.path.exists(place))
        if os.path.isdir(path) or not (held == path or os.path.isdir(held)):
            raise UsageError(f"{path}: no file can be made there; name a file for the report")
        if not os.access(held, os.W_OK):
            raise UsageError(f"{path}: {held} cannot be written; name another place for the report")
    for module in ("plotly", "jinja2") if html is not None else ():
        if importlib.util.find_spec(module) is None:
            raise MissingExtraError(module, "report")


def write_reports(results: Sequence[Result], html: object | None, markdown: object | None) -> None:
    """Write the files that were asked for and say where they are."""
    from evenhand.report.markdown import to_markdown
    from evenhand.report.result import labels_of, write_html, write_text

    if html is not None:
        tell(f"report: {write_html(results, str(html))}")
    if markdown is not None:
        analyses = [result.analysis for result in results]
        document = to_markdown(analyses, labels=labels_of(results))
        tell(f"report: {write_text(str(markdown), document)}")


def leave(results: Sequence[Result]) -> None:
    """End the verb with the exit code of the gravest verdict over its results."""
    from evenhand.report.result import labels_of
    from evenhand.report.settings import column_names
    from evenhand.study.found.verdict import verdict

    analyses = [result.analysis for result in results]
    ends = [verdict(analysis) for analysis in analyses]
    for name, end in zip(column_names(analyses, labels_of(results)), ends, strict=True):
        if end.exit_code:
            tell(f"evenhand: {name}: {end.word} (exit {end.exit_code})")
    code = max((end.exit_code for end in ends), default=0)
    if code:
        raise typer.Exit(code)
