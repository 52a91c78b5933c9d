"""`evenhand serve`: a scorer behind HTTP."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli import options
from evenhand.cli.common import JSON, PARTLY, put, put_json, tell
from evenhand.errors import UsageError

if TYPE_CHECKING:
    from socket import socket

    from evenhand.report.result import Result
    from evenhand.serve.app import Service
    from evenhand.serve.settings import Serving
    from evenhand.types import Scorer


def serve(
    scorer: Annotated[str | None, options.SCORER] = None,
    adapter: Annotated[
        str | None, typer.Option(help="PEFT adapter on the model: a folder or a hub id.")
    ] = None,
    remedy: Annotated[list[str] | None, options.REMEDY] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="Keep documents at or above it. Default: that of --run, else none."),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(help="Finished run of this scorer: its figures, and its stored threshold."),
    ] = None,
    width: Annotated[int | None, options.WIDTH] = None,
    rule: Annotated[str, options.RULE] = "contiguous",
    setting: Annotated[list[str] | None, options.SETTING] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(help="A name clients may ask for the model by; repeat for more.", metavar="NAME"),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.", metavar="HOST")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 = a free one.")] = 8000,
    queue: Annotated[int, typer.Option(help="Most requests that wait; more get 429.")] = 64,
    batch: Annotated[int, typer.Option(help="Most requests of one scorer call.")] = 8,
    timeout: Annotated[float, typer.Option(help="Seconds to answer a request; then 504.")] = 60.0,
    drain: Annotated[
        float, typer.Option(help="Seconds to finish accepted requests after SIGTERM.")
    ] = 30.0,
    max_body: Annotated[int, typer.Option(help="Most bytes of a request; more get 413.")] = 4 * 2**20,
    max_documents: Annotated[int, typer.Option(help="Most documents of a request.")] = 1000,
    max_characters: Annotated[int, typer.Option(help="Most characters of a text.")] = 100_000,
    max_scores: Annotated[
        int, typer.Option(help="Most documents of a request times the orders that it asks for.")
    ] = 5000,
    read_timeout: Annotated[
        float, typer.Option(help="Seconds that the body of a request has to come; then 408.")
    ] = 10.0,
    max_orders: Annotated[
        int, typer.Option(help="Most inner orders that a request's own remedy may cost.")
    ] = 20,
    uncertain_at: Annotated[
        float, typer.Option(help="Flip probability from which a result is called uncertain.")
    ] = 0.1,
    api_key_env: Annotated[
        str | None,
        typer.Option(help="Environment variable that holds the key clients must send.", metavar="NAME"),
    ] = None,
    log_texts: Annotated[
        bool, typer.Option("--log-texts", help="Also log queries and documents.")
    ] = False,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Serve a scorer over HTTP in the shapes that rerank clients speak, until SIGTERM."""
    from evenhand.cli.inputs import parse_settings, scorer_named
    from evenhand.score import open_scorer
    from evenhand.serve.settings import Limits, Serving, key_from

    limits = Limits(
        queue, batch, timeout, drain, max_body, max_documents, max_characters, max_orders,
        read_timeout, max_scores,
    )  # fmt: skip
    serving = Serving(
        tuple(remedy or ()), threshold, width, rule, tuple(name or ()), key_from(api_key_env),
        uncertain_at, log_texts, limits,
    )  # fmt: skip
    from evenhand.gate.judge import open_finished
    from evenhand.report.result import Result
    from evenhand.serve import run as running
    from evenhand.serve.app import Service

    result = None if run is None else Result(open_finished(run).path)
    given = parse_settings(setting or [])
    if adapter is not None:
        given["adapter"] = _once(given, adapter)
    scorer = scorer_named(scorer)
    with running.bind(host, port) as sock:
        tell(f"{scorer}: opening")
        opened = open_scorer(scorer, **given)
        measured, serving = _measured(result, opened, serving)
        laid = given.get("adapter")
        spec = scorer if laid is None else f"{scorer}+{laid}"
        service = Service(opened, serving, spec=spec, measured=measured)
        unfinished = running.run(service, sock, lambda: _tell_ready(service, sock, as_json))
    _end(service, opened, unfinished)


def _end(service: Service, opened: Scorer, unfinished: int) -> None:
    """Close the scorer, and leave with the code that tells whether all was finished."""
    if unfinished:
        tell(f"evenhand: {unfinished} requests were not finished in time (exit {PARTLY})")
    if not service.close(1.0):
        # Native code that goes on scoring would abort the interpreter while that is taken down.
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(PARTLY if unfinished else 0)
    getattr(opened, "close", lambda: None)()
    if unfinished:
        raise typer.Exit(PARTLY)


def _tell_ready(service: Service, sock: socket, as_json: bool) -> None:
    """Print where a server listens, and in JSON what it serves."""
    from evenhand import __version__
    from evenhand.serve.run import address_of

    url = address_of(sock)
    if as_json:
        put_json({"evenhand": __version__, "serving": {"url": url, **service.info}})
    else:
        put(f"{service.reader.default.scorer.name}: {url}")


def _once(given: dict[str, Any], adapter: str) -> str:
    if "adapter" in given:
        raise UsageError("given twice, as an option and by --set: adapter; name it once")
    return adapter


def _measured(
    result: Result | None, opened: Scorer, serving: Serving
) -> tuple[dict[str, Any] | None, Serving]:
    """Return the figures of a run of what is served, and the settings with its stored threshold."""
    from dataclasses import replace

    from evenhand.decide.stored import NAME, read_threshold
    from evenhand.serve.ask import Reader
    from evenhand.serve.info import require_same, shown_as
    from evenhand.study.found.analyse import threshold_revision
    from evenhand.study.found.summary import analysis_to_dict

    if result is None:
        return None, serving
    run = result.path
    served = shown_as(Reader(opened, serving, opened.name))
    require_same(served, result.folder.settings, str(run))
    if serving.threshold is None and (run / NAME).exists():
        stored = read_threshold(run, threshold_revision(served))
        serving = replace(serving, threshold=stored.threshold)
    elif serving.threshold is None:
        tell(f"note: {run} stores no threshold, and none is given: nothing is kept or dropped")
    found = analysis_to_dict(result.analysis)
    kept = ("settings", "stability", "floor", "served", "decisions", "counts")
    return {"source": "run", **{key: found[key] for key in kept if key in found}}, serving
