"""`evenhand advise`: where to cut the scores of a finished run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.common import JSON, PARTLY, put, put_json, tell

INCONCLUSIVE = 8


def advise(
    run: Annotated[Path, typer.Argument(help="A finished run folder.")],
    floor: Annotated[float, typer.Option(help="Least overlap without both-empty pairs.")] = 0.8,
    most: Annotated[float, typer.Option(help="Largest share that may be retained.")] = 0.95,
    min_grade: Annotated[int, typer.Option(help="Lowest grade that counts as relevant.")] = 1,
    lines: Annotated[int, typer.Option(help="Most thresholds shown.", min=2)] = 21,
    store: Annotated[
        bool, typer.Option("--store", help="Keep the threshold in the run folder.")
    ] = False,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Advise a threshold: the best F1 among those whose retained sets agree, and sparse places."""
    from evenhand.records import RunFolder
    from evenhand.study.found.advise import advise_run, store_advice
    from evenhand.study.plain import plain

    advice = advise_run(RunFolder.open(run), min_grade=min_grade, floor=floor, most=most)
    if as_json:
        put_json(plain(advice))
    else:
        put(advice.to_text(lines).rstrip("\n"))
    if advice.threshold is None:
        raise typer.Exit(INCONCLUSIVE)
    if store:
        tell(f"threshold: {store_advice(run, advice)}")
    if advice.lost:
        tell(
            f"evenhand: {advice.lost} of {advice.slates} slates without a canonical row: partly "
            f"measured (exit {PARTLY})"
        )
        raise typer.Exit(PARTLY)
