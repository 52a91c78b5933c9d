"""`evenhand demo`: what training does to a small model, on a few bundled slates."""

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
from evenhand.models.shipped import DEFAULT, SINGLE

BASE = "smollm2-135m"
# Name of a column: how its scorer is opened.
Columns = Mapping[str, tuple[str, Mapping[str, Any]]]
TOYS: Columns = {"toy": ("toy:slot_bias=0.3", {}), "steady toy": ("toy", {})}


def demo(
    slates: Annotated[int, typer.Option(help="How many bundled slates.", min=1)] = 4,
    rows: Annotated[int, typer.Option(help="M, random presentations of each slate.", min=2)] = 3,
    out: Annotated[Path, typer.Option(help="Folder for the runs and the report.")] = Path("runs/demo"),
    model: Annotated[
        bool, typer.Option("--model/--no-model", help="Without: toys only, no download.")
    ] = True,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Audit SmolLM2 as it is and as it was trained, in windows and blind to each other.

    Columns: the untrained base, the scorer trained on one order of each slate, the one
    trained to agree with itself (evenhand-smol), the same with candidates blind to each
    other, and the query likelihood of the base. All graders see the same prompts.

    The model reads about 330 tokens a second on 2 cores; the defaults take a few
    minutes. A run that was stopped goes on where it was.
    """
    from evenhand.data.demo import demo_slates
    from evenhand.report import result
    from evenhand.score import open_scorer

    check_reports(out / "report.html", None)
    chosen = demo_slates(slates)
    results = []
    for name, (spec, options) in (models() if model else TOYS).items():
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


def models() -> Columns:
    """Return the columns that run a model; the base is shown what the trained ones are shown."""
    from dataclasses import asdict

    from evenhand.models.shipped import folder
    from evenhand.score.shipped import NAME, read_shipped

    trained = read_shipped(folder(DEFAULT) / NAME)
    form: dict[str, Any] = {}
    if trained is not None:
        form = {"width": trained.width, "max_candidate_tokens": trained.max_candidate_tokens}
        form |= asdict(trained.surface)
    return {
        "base": (BASE, form),
        "single-order": (SINGLE, {}),
        "trained": (DEFAULT, {}),
        "isolated": (DEFAULT, {"visibility": "isolated"}),
        "likelihood": (f"ql:{BASE}", {}),
    }
