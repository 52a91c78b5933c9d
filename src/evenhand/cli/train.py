"""`evenhand train`: a scorer trained on labelled slates."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli import options
from evenhand.cli.common import JSON, put, put_json, resumable, tell
from evenhand.errors import InputError, UsageError
from evenhand.study.counted import counted

if TYPE_CHECKING:
    from evenhand.train.forecast import Forecast
    from evenhand.train.labels import Labelled
    from evenhand.train.session import Finished
    from evenhand.train.settings import Training
    from evenhand.types import Slate

GATE = 1
LEAST_HOURS = 0.02
GRADES = "grades"
_LOOKED = {
    "served": "quality served",
    "shuffled": "quality shuffled",
    "psi": "tau-PSI",
    "overlap": "overlap",
    "spread": "score spread",
}


def train(
    config: Annotated[Path, typer.Argument(help="TOML file of settings; may name a preset.")],
    labels: Annotated[
        str,
        typer.Option(help="Folder that `evenhand label` wrote, a Parquet file of labels, or grades."),
    ],
    slates: Annotated[str, typer.Option(help="What is trained on: JSONL file, collection, or 'demo'.")],
    out: Annotated[Path, typer.Option(help="Folder of the run; training that was stopped goes on.")],
    run: Annotated[str | None, options.RUN] = None,
    depth: Annotated[int | None, options.DEPTH] = None,
    limit: Annotated[int | None, options.LIMIT] = None,
    scale: Annotated[
        str | None, typer.Option(help="How scores become labels: unit, logistic, rank, ...")
    ] = None,
    orders: Annotated[
        int | None, typer.Option(help="T: only the first so many orders of each label.")
    ] = None,
    drop_missing: Annotated[
        bool, typer.Option("--drop-missing", help="Leave out slates that lack a label.")
    ] = False,
    held_out: Annotated[
        str | None, typer.Option(help="Slates to look at during training; never trained on.")
    ] = None,
    held_out_limit: Annotated[int | None, typer.Option(help="Only the first N of them.")] = None,
    device: Annotated[str | None, typer.Option(help="Where it runs, e.g. cpu or cuda:0.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what it would take; nothing is trained.")
    ] = False,
    rate: Annotated[
        float | None, typer.Option(help="Tokens a second, for the hours of --dry-run.")
    ] = None,
    measure_rate: Annotated[
        bool, typer.Option("--measure-rate", help="Measure it: two steps for nothing.")
    ] = False,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Train a scorer on labelled slates; write it with the form of its prompts."""
    from evenhand import __version__
    from evenhand.cli.inputs import open_slates
    from evenhand.study.plain import plain

    if (rate is not None or measure_rate) and not dry_run:
        raise UsageError("--rate and --measure-rate are for --dry-run")
    if rate is not None and measure_rate:
        raise UsageError("--rate gives what --measure-rate would measure; use one")
    settings = _settings(config)
    found = list(open_slates(slates, run=run, depth=depth, limit=limit))
    labelled, facts = read_labels(labels, found, scale=scale, orders=orders, drop=drop_missing)
    looked = [] if held_out is None else list(open_slates(held_out, limit=held_out_limit))
    if dry_run:
        told = _forecast(settings, labelled, looked, rate, measure_rate, device)
        if as_json:
            put_json({"evenhand": __version__, "forecast": plain(told)})
        else:
            put("\n".join(forecast_lines(settings.base, told)))
        return
    done = _trained(settings, labelled, looked, out, facts, device)
    if as_json and done.main:
        put_json({"evenhand": __version__, "training": _record(done)})
    elif done.main:
        put("\n".join(finished_lines(done)))
    if done.outcome.stopped is not None:
        if done.main:
            tell(f"evenhand: stopped: {done.outcome.stopped} (exit {GATE})")
        raise typer.Exit(GATE)


def _settings(config: Path) -> Training:
    from evenhand.models.quiet import model_packages

    with model_packages():
        from evenhand.train.settings import read_training

        return read_training(config)


def read_labels(
    source: str, slates: Sequence[Slate], *, scale: str | None, orders: int | None, drop: bool
) -> tuple[list[Labelled], dict[str, Any]]:
    """Return labelled slates and what a record of the training should say of the labels.

    Raises:
        UsageError: an option for a file of labels beside human grades.
        InputError: labels are missing, and they are not to be left out; says how many.
    """
    from evenhand.train.session import graded_slates
    from evenhand.train.silver import LabelWarning, read_silver

    if source == GRADES:
        if scale is not None or orders is not None:
            raise UsageError(f"--scale and --orders are for a teacher's labels, not for {GRADES}")
        return graded_slates(slates), {"teacher": {"name": GRADES}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelWarning)
        found = read_silver(source, slates, scale=scale, orders=orders, drop_missing=True)
    if found.dropped and not drop:
        raise InputError(
            f"{len(found.dropped)} of {counted(len(slates), 'slate')} lack the label of a candidate "
            f"(first: {found.dropped[0]!r}); label them again, or leave them out with --drop-missing",
            path=source,
        )
    if found.dropped:
        tell(f"left out: {counted(len(found.dropped), 'slate')} that lack the label of a candidate")
    return list(found.labelled), found.facts


def _forecast(
    settings: Training, labelled: Sequence[Labelled], held_out: Sequence[Slate], rate: float | None,
    measure: bool, device: str | None,
) -> Forecast:  # fmt: skip
    from evenhand.train.forecast import forecast, measured_rate
    from evenhand.train.session import require_apart, require_plain_base
    from evenhand.train.tracking import require_tracker

    require_apart(labelled, held_out)
    require_plain_base(settings)
    require_tracker(settings.run.tracker)
    if measure:
        tell("measuring the rate: two steps")
        rate = measured_rate(settings, labelled, device=device)
    return forecast(settings, labelled, rate=rate)


def forecast_lines(base: str, found: Forecast) -> list[str]:
    """Return what a run would take, a line a fact."""
    head, hours = "hours", "unknown; give --rate or --measure-rate"
    if found.hours is not None and found.rate is not None:
        # Of a few seconds hours would say nothing.
        long = found.hours >= LEAST_HOURS
        head = "hours" if long else "time"
        took = f"{found.hours:.2f}" if long else f"{found.hours * 3600:.3g} seconds"
        hours = f"{took} at {found.rate:,.0f} tokens a second"
    whole = " (of a sample)" if found.sampled < found.steps else ""
    return [
        f"{base}: {counted(found.slates, 'slate')}, {counted(found.candidates, 'candidate')}",
        f"steps       {found.steps:,}",
        f"windows     {found.windows:,} of first views, {found.prompts:,} prompts in all views",
        f"tokens      {found.tokens:,}{whole}; {counted(found.truncated, 'token')} cut from candidates",
        f"weights     {found.parameters:,}, of which {found.trained:,} are trained",
        f"memory      about {found.memory / 2**30:.1f} GiB at token_budget {found.token_budget:,} "
        f"(largest batch {found.batch:,} tokens; a rough estimate)",
        f"{head:<12}{hours}",
    ]


def _trained(
    settings: Training, labelled: Sequence[Labelled], held_out: Sequence[Slate], out: Path,
    facts: dict[str, Any], device: str | None,
) -> Finished:  # fmt: skip
    from evenhand.train.session import train_scorer

    with resumable(out), steps_told() as progress:
        return train_scorer(
            settings, labelled, out, held_out=held_out, facts=facts, device=device, progress=progress
        )


@contextmanager
def steps_told(every: int = 10) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Give a callback that prints a line on standard error for every tenth step and each look."""

    def told(record: dict[str, Any]) -> None:
        look = record.get("evaluation")
        if look is None and record["step"] % every and record["step"] != 1:
            return
        rate = record["tokens"] / max(record["seconds"], 1e-9)
        line = f"step {record['step']}: loss {record['loss']:.5f}, {rate:,.0f} tokens a second"
        if look is not None:
            names = (("shuffled", "quality"), ("psi", "tau-PSI"), ("overlap", "overlap"))
            line += "; held out: " + ", ".join(f"{word} {look[name]:.4f}" for name, word in names)
        tell(line)

    yield told


def _record(done: Finished) -> dict[str, Any]:
    from evenhand.study.plain import plain

    last = done.outcome.log[-1] if done.outcome.log else {}
    return {
        "steps": done.outcome.steps,
        "stopped": done.outcome.stopped,
        "loss": plain(last.get("loss")),
        "scorer": None if done.scorer is None else str(done.scorer),
        "open_as": done.open_as,
        "measures": plain(done.measures),
    }


def finished_lines(done: Finished) -> list[str]:
    """Return how a training ended, what held-out slates gave, and how to open the scorer."""
    from evenhand.report.digits import number

    lines = [counted(done.outcome.steps, "step")]
    if done.outcome.log:
        lines[0] += f", last loss {done.outcome.log[-1]['loss']:.5f}"
    if done.measures is not None:
        lines += [f"{word:<18}{number(done.measures[name])}" for name, word in _LOOKED.items()]
    if done.scorer is not None:
        lines += [f"scorer: {done.scorer}", f"open it as: {done.open_as}"]
    return lines
