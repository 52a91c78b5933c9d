"""`evenhand audit`: how far a scorer depends on presentation."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli import options, readers
from evenhand.cli import ray as spread
from evenhand.cli.channels import asked_channels, audit_channels
from evenhand.cli.common import (
    JSON,
    check_reports,
    leave,
    progress,
    put_results,
    resumable,
    tell,
    write_reports,
)
from evenhand.cli.declared import as_declared
from evenhand.errors import UsageError

if TYPE_CHECKING:
    from evenhand.types import Scorer


def audit(
    context: typer.Context,
    slates: Annotated[str, options.SLATES],
    scorer: Annotated[str | None, options.SCORER] = None,
    run: Annotated[str | None, options.RUN] = None,
    depth: Annotated[int | None, options.DEPTH] = None,
    limit: Annotated[int | None, options.LIMIT] = None,
    rows: Annotated[int, typer.Option(help="M, random presentations of each slate.")] = 10,
    width: Annotated[int | None, options.WIDTH] = None,
    rule: Annotated[str, options.RULE] = "contiguous",
    design: Annotated[
        str, typer.Option(help="What varies: reorder, order, companions, ...")
    ] = "reorder",
    channels: Annotated[
        str | None,
        typer.Option(
            help="Instead of a design, one row for each of order, companions, marker, skeleton, "
            "rubric, window, membership.",
            metavar="A,B,...",
        ),
    ] = None,
    seed: Annotated[int, options.SEED] = 0,
    visibility: Annotated[
        str | None, typer.Option(help="What sees what: sequential, parallel or isolated.")
    ] = None,
    markers: Annotated[
        str | None, typer.Option(help="Tags of the slots: numeric, letters, random, single.")
    ] = None,
    rubric: Annotated[
        str | None,
        typer.Option(
            help="What grades mean: relevance, answer_support, response_quality, counter_argument; "
            "each also as NAME/2, NAME/3, ... in other words."
        ),
    ] = None,
    query_place: Annotated[str | None, typer.Option(help="Query before, after or around.")] = None,
    max_candidate_tokens: Annotated[int | None, typer.Option(help="Cut each candidate there.")] = None,
    device: Annotated[
        str | None, typer.Option(help="Where the model runs, e.g. cpu or cuda:0.")
    ] = None,
    dtype: Annotated[str | None, typer.Option(help="Number type of the weights, e.g. float32.")] = None,
    setting: Annotated[list[str] | None, options.SETTING] = None,
    remedy: Annotated[list[str] | None, options.REMEDY] = None,
    threshold: Annotated[float | None, options.THRESHOLD] = None,
    measure: Annotated[
        list[str] | None, typer.Option(help="A further measure; repeat for more.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run; resumed when it exists.")] = None,
    part_size: Annotated[
        int, typer.Option(help="Slates between two writes to --out: what a stop loses at most.", min=1)
    ] = 4,
    ray: Annotated[bool, spread.RAY] = False,
    ray_workers: Annotated[int | None, spread.WORKERS] = None,
    ray_address: Annotated[str | None, spread.ADDRESS] = None,
    ray_gpus: Annotated[float | None, spread.GPUS] = None,
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
    """Score slates in many presentations and show how far scores and decisions depend on them."""
    from evenhand.cli.inputs import open_remedied, open_slates, parse_settings, scorer_named
    from evenhand.report import result

    named = {
        "visibility": visibility,
        "markers": markers,
        "rubric": rubric,
        "query": query_place,
        "max_candidate_tokens": max_candidate_tokens,
        "device": device,
        "dtype": dtype,
    }
    check_reports(html, markdown)
    reading = (reader, reader_task, reader_top, reader_retained, reader_setting)
    wanted = readers.check_reader(*reading, channels=channels)
    asked = asked_channels(channels, design)
    workers = spread.asked_ray(ray, ray_workers, ray_address, ray_gpus)
    found = open_slates(slates, run=run, depth=depth, limit=limit)
    given = _given(named, parse_settings(setting or []))
    opener = partial(open_remedied, scorer_named(scorer), given, remedy, seed=seed)
    opened, engine = spread.opened(context, opener, workers)
    settings: dict[str, Any] = {"rows": rows, "width": width, "rule": rule, "seed": seed}
    settings |= {"threshold": threshold, "measures": measure or None}
    settings |= {"part_size": part_size, "engine": engine}
    settings |= as_declared(slates, opened, width, given.get("rubric"))
    _tell_settled(opened, threshold)
    if asked is not None:
        files = {"out": out, "html": html, "markdown": markdown}
        audit_channels(opened, found, asked, as_json=as_json, **files, **settings)
        return
    readers.load_reader(wanted)
    with resumable(out), progress(opened.name, resumes=True) as bar:
        done = result.audit(opened, found, design=design, out=out, progress=bar, **settings)
    readers.read_results([done], wanted, kept=out is not None)
    put_results([done], as_json=as_json)
    write_reports([done], html, markdown)
    tell(f"records: {out}" if out is not None else "records were not kept; --out FOLDER keeps them")
    leave([done])


def _tell_settled(opened: Scorer, threshold: float | None) -> None:
    """Say, before anything is scored, that the audit cuts elsewhere than `adaptive` settles."""
    settles = getattr(opened, "settles_at", None)
    if settles is None or settles == threshold:
        return
    cut = "fits a threshold of its own" if threshold is None else f"cuts at {threshold:g}"
    tell(
        f"note: adaptive settles candidates at {settles:g} and the audit {cut}; --threshold "
        f"{settles:g} cuts where its orders are spent"
    )


def _given(options: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were set; a scorer refuses those it does not know."""
    given = {name: value for name, value in options.items() if value is not None}
    if twice := sorted(given.keys() & settings.keys()):
        raise UsageError(f"given twice, as an option and by --set: {', '.join(twice)}; name each once")
    return given | settings
