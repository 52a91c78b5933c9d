"""`evenhand demo`: four scorers on a few bundled slates, in one table and one page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

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
from evenhand.errors import MissingExtraError

# Column name: how the scorer is opened.
MODELS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "sequential": ("smollm2-135m", {"visibility": "sequential"}),
    "parallel": ("smollm2-135m", {"visibility": "parallel"}),
    "likelihood": ("ql:smollm2-135m", {}),
}
TOYS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "toy": ("toy:slot_bias=0.3", {}),
}
STEADY_TOY: Mapping[str, tuple[str, Mapping[str, Any]]] = {"steady toy": ("toy", {})}


def demo(
    slates: Annotated[int, typer.Option(help="How many bundled slates.", min=1)] = 4,
    rows: Annotated[int, typer.Option(help="M, random presentations of each slate.", min=2)] = 4,
    out: Annotated[Path, typer.Option(help="Folder for the runs and the report.")] = Path("runs/demo"),
    model: Annotated[
        bool, typer.Option("--model/--no-model", help="Without: toys only, no download.")
    ] = True,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Audit SmolLM2 in three ways and a toy, on a few bundled slates.

    The model reads about 330 tokens a second on 2 cores; the defaults take a few
    minutes. A run that was stopped goes on where it was.
    """
    from evenhand.data.demo import demo_slates
    from evenhand.report import result
    from evenhand.score import open_scorer

    check_reports(out / "report.html", None)
    chosen = demo_slates(slates)
    results = []
    for name, (spec, options) in _scorers(model).items():
        where = out / f"{re.sub(r'[^a-z0-9]+', '-', name)}-{slates}x{rows}"
        try:
            scorer = open_scorer(spec, **options)
        except MissingExtraError:
            tell("evenhand: the demo runs a model; with --no-model it runs toys only")
            raise
        with resumable(out), progress(f"{scorer.name} ({name})", resumes=True) as report_progress:
            results.append(
                result.audit(
                    scorer, chosen, rows=rows, out=where, part_size=1, progress=report_progress
                )
            )
    title = f"{slates} bundled slates, canonical order + M = {rows} random presentations of each"
    put_results(results, as_json=as_json, title=title)
    write_reports(results, out / "report.html", None)
    leave(results)


def _scorers(model: bool) -> dict[str, tuple[str, Mapping[str, Any]]]:
    return {**MODELS, **TOYS} if model else {**TOYS, **STEADY_TOY}
