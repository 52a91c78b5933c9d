"""`evenhand worst`: the order of each slate that changes its decision most."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli import options
from evenhand.cli.common import JSON, PARTLY, keep_result, progress, put, put_json, resumable, tell
from evenhand.errors import UsageError
from evenhand.study.counted import counted

if TYPE_CHECKING:
    from evenhand.study.causes.worst import WorstCases

_LISTED = 10


def worst(
    slates: Annotated[str, options.SLATES],
    scorer: Annotated[str | None, options.SCORER] = None,
    run: Annotated[str | None, options.RUN] = None,
    depth: Annotated[int | None, options.DEPTH] = None,
    limit: Annotated[int | None, options.LIMIT] = None,
    objective: Annotated[
        str, typer.Option(help="What to make large: overlap (lost), kendall, rank_drop or top1.")
    ] = "overlap",
    threshold: Annotated[float | None, options.THRESHOLD] = None,
    budget: Annotated[
        int | None,
        typer.Option(help="Prompts a slate. Default: all orders up to 6 candidates, else 400."),
    ] = None,
    width: Annotated[int | None, options.WIDTH] = None,
    rule: Annotated[str, options.RULE] = "contiguous",
    seed: Annotated[int, options.SEED] = 0,
    setting: Annotated[list[str] | None, options.SETTING] = None,
    remedy: Annotated[list[str] | None, options.REMEDY] = None,
    out: Annotated[Path | None, options.OUT] = None,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Search each slate for the order that changes its decision most."""
    from evenhand import __version__
    from evenhand.cli.inputs import open_remedied, open_slates, parse_settings
    from evenhand.study.causes.worst import worst_orders
    from evenhand.study.rows.kept import kept

    found = list(open_slates(slates, run=run, depth=depth, limit=limit))
    opened = open_remedied(scorer, parse_settings(setting or []), remedy, seed=seed)
    if getattr(opened, "draws", False):
        raise UsageError(
            f"{opened.name} draws orders of its own, so no order is its worst: a search would find "
            "chance. Search the scorer without that remedy."
        )
    settings: dict[str, Any] = {
        "objective": objective, "threshold": threshold, "budget": budget,
        "width": opened.default_window if width is None else width, "rule": rule, "seed": seed,
    }  # fmt: skip
    with (
        resumable(out),
        kept(opened, out, "worst", settings, found) as asked,
        progress(opened.name) as shown,
    ):
        done = worst_orders(asked, found, **settings, progress=shown)
    keep_result(out, done.to_dict())
    if as_json:
        put_json({"evenhand": __version__, **done.to_dict()})
    else:
        put("\n".join(worst_lines(done)))
    failed = sum(one.failed for one in done.slates)
    if failed or done.value.undefined:
        tell(
            f"evenhand: {counted(failed, 'order')} lacked a score and "
            f"{counted(done.value.undefined, 'slate')} could not be searched (exit {PARTLY})"
        )
        raise typer.Exit(PARTLY)


def worst_lines(found: WorstCases) -> list[str]:
    """Return the summary over slates, and the slates with the worst orders."""
    from evenhand.report.clean import one_line
    from evenhand.report.digits import count, interval, number

    settings = found.settings
    lines = [
        f"{found.scorer['name']}: {counted(len(found.slates), 'slate')}, "
        f"objective {settings['objective']}, B {settings['width'] or 'whole slate'}, "
        f"{settings['rule']}, seed {settings['seed']}",
        f"{'worst order found':<24}{interval(found.value)}",
        f"{'the same, read again':<24}{interval(found.confirmed)}",
        f"{'random orders, mean':<24}{interval(found.random_mean)}",
        f"{'noise floor':<24}{interval(found.floor)}",
        f"{count(found.prompts)} prompts; worst order certain in {found.exact} of {len(found.slates)} "
        "slates, a lower bound in the others",
    ]
    worst = sorted(found.slates, key=lambda one: (one.value != one.value, -one.value))[:_LISTED]
    if len(found.slates) > _LISTED:
        lines.append(f"the {_LISTED} slates with the worst orders:")
    for one in worst:
        order = " ".join(str(index) for index in one.order)
        lines.append(
            f"  {one_line(one.slate_id)}: {number(one.value)} (random {number(one.random_mean)}, "
            f"at most {number(one.random_max)}; {one.orders} orders) by {order}"
        )
    return lines
