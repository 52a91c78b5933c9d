"""`evenhand gate`: do finished runs meet their bounds; one verdict, one exit code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli.common import JSON, check_reports, put, put_json, tell
from evenhand.errors import EvenhandError, UsageError

if TYPE_CHECKING:
    from evenhand.gate import GateSettings, Verdict


def gate(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, each judged.", metavar="RUN...")],
    max_tau_psi: Annotated[
        float | None, typer.Option(help="Short for --require tauPSI<=NUMBER.")
    ] = None,
    min_overlap: Annotated[
        float | None, typer.Option(help="Short for --require Overlap>=NUMBER.")
    ] = None,
    max_pair_flip: Annotated[
        float | None, typer.Option(help="Short for --require PairFlip<=NUMBER.")
    ] = None,
    min_ndcg: Annotated[float | None, typer.Option(help="Short for --require nDCG@10>=NUMBER.")] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            help="A measure, one of <= >= < >, a bound: 'Overlap(t=0.5)>=0.8'; repeat for more.",
            metavar="CRITERION",
        ),
    ] = None,
    baseline: Annotated[
        list[Path] | None,
        typer.Option(
            help="Run over the same slates to compare with; with several sets of slates, one for each.",
            metavar="RUN",
        ),
    ] = None,
    max_drop: Annotated[
        list[str] | None,
        typer.Option(help="Largest drop from the baseline: nDCG@10=0.01.", metavar="MEASURE=NUMBER"),
    ] = None,
    max_rise: Annotated[
        list[str] | None,
        typer.Option(help="Largest rise from the baseline: tauPSI=0.02.", metavar="MEASURE=NUMBER"),
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(
            help="What decides: the whole interval (bound, the default) or the mean.",
            metavar="bound|mean",
        ),
    ] = None,
    level: Annotated[
        float | None, typer.Option(help="Coverage of the intervals. Default: 0.95.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Keep candidates at or above it. Default: as in the run.")
    ] = None,
    max_missing: Annotated[
        float | None,
        typer.Option(help="Share of missing scores that still counts as complete. Default: 0."),
    ] = None,
    min_slates: Annotated[
        int | None, typer.Option(help="A measure with a value on fewer slates is inconclusive.")
    ] = None,
    strict: Annotated[
        bool | None,
        typer.Option("--strict/--no-strict", help="An unsteady scorer makes all inconclusive."),
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(help="Setting in which the baseline may differ, e.g. width; repeat for more."),
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML to this file.")] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="Settings file. Default: the nearest pyproject.toml or evenhand.toml."),
    ] = None,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Judge finished runs by bounds on their measures; nothing is scored again."""
    from evenhand.gate import judge

    given = {
        "max-tau-psi": max_tau_psi,
        "min-overlap": min_overlap,
        "max-pair-flip": max_pair_flip,
        "min-ndcg": min_ndcg,
        "require": require or None,
        "baseline": baseline or None,
        "max-drop": max_drop or None,
        "max-rise": max_rise or None,
        "on": on,
        "level": level,
        "threshold": threshold,
        "max-missing": max_missing,
        "min-slates": min_slates,
        "strict": strict,
        "vary": vary or None,
        "junit": junit,
    }
    try:
        settings = _settings(given, config)
    except EvenhandError:
        if junit is not None:
            _no_old_verdict(junit, runs)
        raise
    if settings.junit is not None:
        check_reports(None, settings.junit)
        _no_old_verdict(settings.junit, (*runs, *settings.baselines))
    found = judge(runs, settings)
    _put(found, settings, as_json)
    if found.exit_code:
        tell(f"evenhand: the gate {_ended(found)} (exit {found.exit_code})")
        raise typer.Exit(found.exit_code)


def _no_old_verdict(junit: Path, folders: Sequence[str | Path]) -> None:
    """Remove a verdict of an earlier call: it must not stand where this one ends in an error.

    Raises:
        UsageError: the file is no such verdict, or lies in a folder that is judged.
    """
    from evenhand.gate import is_junit

    whole = junit.resolve()
    if any(whole.is_relative_to(Path(folder).resolve()) for folder in folders):
        raise UsageError(f"--junit {junit} lies in a run; name a file outside of it")
    if not junit.is_file():
        return
    if not is_junit(junit):
        raise UsageError(f"--junit {junit} is there and is no verdict of a gate; name another file")
    junit.unlink()


def _settings(given: dict[str, Any], config: Path | None) -> GateSettings:
    """Return the settings of the file, where there is one, under those of the command line."""
    from evenhand.gate.files import find_settings, read_settings
    from evenhand.gate.options import joined, read_options

    # What is typed wrong is told before what stands wrong in a file.
    typed = read_options(given, lambda name: f"--{name}")
    if config is not None:
        return joined(read_settings(config), typed)
    stored, source = find_settings(Path.cwd())
    if source is not None:
        tell(f"settings: {source}")
    return joined(stored, typed)


def _put(found: Verdict, settings: GateSettings, as_json: bool) -> None:
    from rich.console import Console

    from evenhand import __version__
    from evenhand.cli.gate_view import render, to_text
    from evenhand.gate import to_dict, to_junit
    from evenhand.report.result import write_text

    console = Console()
    if as_json:
        put_json({"evenhand": __version__, **to_dict(found)})
    elif console.is_terminal:
        console.print(render(found, width=console.width))
    else:
        put(to_text(found))
    if settings.junit is not None:
        tell(f"junit: {write_text(settings.junit, to_junit(found))}")


def _ended(found: Verdict) -> str:
    from evenhand.gate import Outcome

    words = {
        Outcome.FAILED: "failed",
        Outcome.INCONCLUSIVE: "is inconclusive",
        Outcome.PARTLY: "is open, scores are missing",
        Outcome.UNSCORED: "is open, the scorer of a run gave no score",
        Outcome.UNMEASURED: "is open, nothing was measured in a run",
    }
    return words[found.outcome]
