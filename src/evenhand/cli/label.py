"""`evenhand label`: a teacher's scores of slates under random orders, as labels to train on."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli import options
from evenhand.cli import ray as spread
from evenhand.cli.common import JSON, PARTLY, progress, put, put_json, resumable, tell
from evenhand.cli.declared import as_declared
from evenhand.study.counted import counted

if TYPE_CHECKING:
    from evenhand.train.label_report import LabelReport
    from evenhand.types import Estimate, Scorer

_LISTED = 5


def label(
    context: typer.Context,
    slates: Annotated[str, options.SLATES],
    scorer: Annotated[
        str,
        typer.Option(
            help="The teacher: smollm2-135m, hf:MODEL, ql:MODEL, any other scorer, or grades (human)."
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="Folder of the labels; labelling that was stopped goes on there.")
    ],
    run: Annotated[str | None, options.RUN] = None,
    depth: Annotated[int | None, options.DEPTH] = None,
    limit: Annotated[int | None, options.LIMIT] = None,
    orders: Annotated[
        int, typer.Option(help="T, random orders of the whole slate, each labelled.")
    ] = 1,
    width: Annotated[int | None, options.WIDTH] = None,
    rule: Annotated[str, options.RULE] = "contiguous",
    seed: Annotated[int, options.SEED] = 0,
    setting: Annotated[list[str] | None, options.SETTING] = None,
    remedy: Annotated[list[str] | None, options.REMEDY] = None,
    part_size: Annotated[
        int, typer.Option(help="Slates between two writes to --out: what a stop loses at most.", min=1)
    ] = 4,
    ray: Annotated[bool, spread.RAY] = False,
    ray_workers: Annotated[int | None, spread.WORKERS] = None,
    ray_address: Annotated[str | None, spread.ADDRESS] = None,
    ray_gpus: Annotated[float | None, spread.GPUS] = None,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Label slates by a teacher under random orders; say how good and how steady the labels are."""
    from evenhand import __version__
    from evenhand.cli.inputs import open_slates, parse_settings
    from evenhand.study.plain import plain
    from evenhand.train import silver

    workers = spread.asked_ray(ray, ray_workers, ray_address, ray_gpus)
    found = open_slates(slates, run=run, depth=depth, limit=limit)
    given = parse_settings(setting or [])
    opener = partial(open_teacher, scorer, given, remedy, seed)
    teacher, engine = spread.opened(context, opener, workers)
    settings: dict[str, Any] = {
        "engine": engine,
        "orders": orders,
        "width": width,
        "rule": rule,
        "seed": seed,
    }
    settings |= as_declared(slates, teacher, width, given.get("rubric"))
    with resumable(out), progress(teacher.name, resumes=True) as bar:
        done = silver.label(teacher, found, out, part_size=part_size, progress=bar, **settings)
    if as_json:
        put_json({"evenhand": __version__, "labels": plain(done)})
    else:
        put("\n".join(label_lines(done)))
    tell(f"labels: {out}")
    if done.missing:
        tell(
            f"evenhand: {counted(done.missing, 'label')} missing in "
            f"{counted(len(done.missing_slates), 'slate')} ({_first(done.missing_slates)}), which "
            f"training refuses; delete {_first(done.missing_parts)} in {out / 'parts'} and run the "
            f"same command to have them labelled again (exit {PARTLY})"
        )
        raise typer.Exit(PARTLY)


def open_teacher(spec: str, given: dict[str, Any], remedies: list[str] | None, seed: int) -> Scorer:
    """Return the teacher that a spec names, human grades or any scorer, behind remedies.

    Raises:
        UsageError: a name or option is unknown, or a remedy for human grades.
    """
    from evenhand.cli.inputs import open_remedied
    from evenhand.errors import UsageError
    from evenhand.train.teacher import GRADES, grades_teacher

    if spec != GRADES:
        return open_remedied(spec, given, remedies, seed=seed)
    if remedies:
        raise UsageError(
            f"--scorer {GRADES} reads no candidates: a remedy changes nothing; leave it out"
        )
    return grades_teacher(given)


def label_lines(found: LabelReport) -> list[str]:
    """Return the summary of a run of labels."""
    from evenhand.report.digits import count, number

    settings, teacher = found.settings, found.teacher
    several = settings["orders"] > 1
    lines = [
        f"{teacher['name']}: {counted(found.slates, 'slate')}, "
        f"{counted(found.candidates, 'candidate')}, T {settings['orders']}, "
        f"B {settings['width'] or 'whole slate'}, {settings['rule']}, seed {settings['seed']}, "
        f"scores on the scale {teacher['scale']}",
    ]
    if found.single.n:
        low, high = (number(pick(found.per_order)) for pick in (min, max))
        spread = f", by order {low} to {high}" if several else ""
        lines.append(
            f"nDCG@10 of one order   {_interval(found.single)}{spread}; "
            f"{counted(found.single.n, 'complete slate' if found.missing else 'slate')} with grades"
        )
        if several:
            lines.append(f"nDCG@10 of their mean  {_interval(found.averaged)}")
    else:
        lacking = "no complete slate has grades" if found.missing else "no slate has grades"
        lines.append(f"nDCG@10                {lacking}")
    if several:
        lines.append(
            f"silver-beta            {number(found.silver_beta)}, corrected for T and n "
            f"{number(found.corrected)}"
        )
    each = max(1, found.slates)
    lines.append(
        f"cost                   {count(found.prompts / each)} prompts, "
        f"{count(found.tokens / each)} tokens a slate; {count(found.prompts)} prompts, "
        f"{count(found.tokens)} tokens in all"
    )
    if teacher["order_free"] and several:
        lines.append("the teacher is order-free: it was asked once a slate, and all orders agree")
    return lines


def _interval(estimate: Estimate) -> str:
    from evenhand.report.digits import number

    return f"{number(estimate.mean)} [{number(estimate.low)}, {number(estimate.high)}]"


def _first(names: tuple[str, ...]) -> str:
    more = ", ..." if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
