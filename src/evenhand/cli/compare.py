"""`evenhand compare`: are two systems different, and how sure is that."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from evenhand.cli.common import JSON, put, put_json, tell
from evenhand.errors import UsageError
from evenhand.study.counted import counted

if TYPE_CHECKING:
    from evenhand.study.against.compare import Compared, Pairs


def compare(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Run folders over the same slates; the first is the baseline.", metavar="RUN..."
        ),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            help="A system of several runs (collections, training seeds); repeat, baseline first.",
            metavar="NAME=RUN,RUN,...",
        ),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(help="Compare this measure instead of the usual; repeat for more."),
    ] = None,
    pairs: Annotated[
        str, typer.Option(help="Which pairs: each with the baseline, or all.", metavar="baseline|all")
    ] = "baseline",
    vary: Annotated[
        list[str] | None,
        typer.Option(help="Setting that is the thing compared, e.g. width; repeat for more."),
    ] = None,
    match_retention: Annotated[
        bool, typer.Option("--match-retention", help="Cut all at the share that the baseline keeps.")
    ] = False,
    max_missing: Annotated[
        float,
        typer.Option(
            help="Largest share of pairs lacking scores that still gives an interval of the others; "
            "a p-value is given where no pair lacks any."
        ),
    ] = 0.0,
    draws: Annotated[int, typer.Option(help="Bootstrap draws and drawn sign flips.")] = 20_000,
    level: Annotated[float, typer.Option(help="Coverage of the intervals; alpha is 1 - level.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Seed of the resampling and of the threshold folds.")] = 0,
    markdown: Annotated[
        Path | None, typer.Option(help="Write the Markdown report to this file.")
    ] = None,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Compare finished runs slate by slate: differences, intervals, corrected p-values."""
    from evenhand.measure.paired import PairedOptions
    from evenhand.report.compare import to_markdown
    from evenhand.report.result import write_text
    from evenhand.study.against import compare as study

    found = study.compare(
        {name: list(paths) for name, paths in _groups(runs or [], group or []).items()},
        measures=measure or None,
        pairs=cast("Pairs", pairs),
        vary=vary or [],
        match_retention=match_retention,
        options=PairedOptions(draws=draws, seed=seed, level=level, max_missing=max_missing),
    )
    _put(found, as_json)
    if markdown is not None:
        tell(f"report: {write_text(markdown, to_markdown(found))}")
    _leave(found)


def _groups(runs: Sequence[Path], groups: Sequence[str]) -> dict[str, list[Path]]:
    """Return the runs of each system; plain runs are a system each, named by their folder."""
    if runs and groups:
        raise UsageError("give either run folders or --group NAME=RUN,RUN,..., not both")
    if not groups:
        short = [run.name or str(run) for run in runs]
        named = short if len(set(short)) == len(set(runs)) else [str(run) for run in runs]
        return {
            name if named.count(name) == 1 else f"{name} ({named[: at + 1].count(name)})": [run]
            for at, (name, run) in enumerate(zip(named, runs, strict=True))
        }
    found: dict[str, list[Path]] = {}
    for word in groups:
        name, equals, rest = word.partition("=")
        paths = [Path(path) for path in rest.split(",") if path]
        if not (name and equals and paths):
            raise UsageError(f"--group takes NAME=RUN,RUN,..., got {word!r}")
        if name in found:
            raise UsageError(f"--group names {name!r} twice; write all its runs in one")
        found[name] = paths
    return found


def _put(found: Compared, as_json: bool) -> None:
    from rich.console import Console

    from evenhand import __version__
    from evenhand.report.compare import render, to_dict, to_text

    if as_json:
        put_json({"evenhand": __version__, **to_dict(found)})
        return
    console = Console()
    if console.is_terminal:
        console.print(render(found, width=console.width))
    else:
        put(to_text(found))


def _leave(found: Compared) -> None:
    """End with 7 where scores are missing, 8 where a p-value is withheld for another reason."""
    if found.missing_scores:
        missing = counted(found.missing_scores, "missing score")
        tell(f"evenhand: {missing}: partly measured (exit 7)")
        raise typer.Exit(7)
    withheld = sum(row.verdict == "withheld" for row in found.rows)
    if withheld:
        without = counted(withheld, "comparison")
        tell(f"evenhand: {without} without a p-value: inconclusive (exit 8)")
        raise typer.Exit(8)
