"""`evenhand decompose`: which channel moves a scorer's scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli import options
from evenhand.cli.common import JSON, progress, put, put_json, resumable, tell
from evenhand.study.counted import counted

if TYPE_CHECKING:
    from evenhand.study.decompose import Decomposition
    from evenhand.study.width import Width
    from evenhand.types import Estimate

PARTLY = 7


def decompose(
    slates: Annotated[str, options.SLATES],
    scorer: Annotated[
        str, typer.Option(help="What to decompose: smollm2-135m, hf:MODEL, toy:slot_bias=0.3, ...")
    ],
    run: Annotated[str | None, options.RUN] = None,
    depth: Annotated[int | None, options.DEPTH] = None,
    limit: Annotated[int | None, options.LIMIT] = None,
    partitions: Annotated[int, typer.Option(help="C, random cuts of a slate into windows.")] = 5,
    orders: Annotated[int, typer.Option(help="R, random orders inside the windows of each.")] = 3,
    width: Annotated[int | None, options.WIDTH] = None,
    rule: Annotated[str, options.RULE] = "contiguous",
    seed: Annotated[int, options.SEED] = 0,
    alone: Annotated[
        bool,
        typer.Option(
            "--alone", help="Read each candidate alone and with stand-ins too: three prompts each."
        ),
    ] = False,
    setting: Annotated[list[str] | None, options.SETTING] = None,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Split the movement of scores into companions, order inside the window and noise."""
    from evenhand import __version__
    from evenhand.cli.inputs import open_slates, parse_settings
    from evenhand.score import open_scorer
    from evenhand.study import decompose as study
    from evenhand.study.width import width_effect

    found = list(open_slates(slates, run=run, depth=depth, limit=limit))
    opened = open_scorer(scorer, **parse_settings(setting or []))
    with resumable(None), progress(opened.name) as shown:
        done = study.decompose(
            opened, found, partitions=partitions, orders=orders, width=width, rule=rule, seed=seed,
            progress=shown,
        )  # fmt: skip
    apart = None
    if alone:
        with resumable(None), progress(f"{opened.name}, alone and beside others") as shown:
            apart = width_effect(opened, found, width=width, rule=rule, seed=seed, progress=shown)
    if as_json:
        width_part = None if apart is None else apart.to_dict()
        put_json({"evenhand": __version__, "decomposition": done.to_dict(), "width": width_part})
    else:
        put("\n".join([*channel_lines(done), *([] if apart is None else width_lines(apart))]))
    missing = done.missing + (0 if apart is None else apart.missing)
    if missing:
        tell(f"evenhand: {missing} scores are missing (exit {PARTLY})")
        raise typer.Exit(PARTLY)


def channel_lines(found: Decomposition) -> list[str]:
    """Return the table of components, shares and the nested estimate."""
    from evenhand.report.digits import count, number

    crossed, settings = found.crossed, found.settings
    lines = [
        f"{found.scorer['name']}: {counted(len(found.slate_ids), 'slate')}, "
        f"C {settings['partitions']}, R {settings['orders']}, 2 repeats, "
        f"B {settings['width'] or 'whole slate'}, {settings['rule']}, seed {settings['seed']}",
        f"{'':<22}{'share':<26}sd, score units",
    ]
    for name, label in (("companions", "companions"), ("order", "order in window"), ("noise", "noise")):
        share, part = getattr(crossed, f"{name}_share"), getattr(crossed, name)
        # Estimates below 0 are kept in the numbers; a share or sd shown is never negative.
        lines.append(f"{label:<22}{_interval(share):<26}{number(max(0.0, part.mean) ** 0.5)}")
    lines.append(f"{'all':<22}{'':<26}{number(max(0.0, crossed.total.mean) ** 0.5)}")
    nested = found.nested.shares()
    lines.append(
        f"nested estimate: slot {number(nested.slot)}, window {number(nested.window)}, "
        f"residual {number(nested.residual)} (residual = companions, inner order and noise)"
    )
    lines.append(
        f"{count(found.cost.prompts_per_slate)} prompts a slate; undefined slates "
        f"{crossed.total.undefined}; slates of one window {found.one_window}; "
        f"missing scores {found.missing} of {found.scores}"
    )
    return lines


def width_lines(found: Width) -> list[str]:
    """Return the table of what company does to a score."""
    from evenhand.report.digits import number

    named = {
        "slot": "place in the form",
        "length": "length of the prompt",
        "content": "what companions say",
        "all": "all three together",
    }
    lines = [
        "",
        f"{'alone and beside others':<24}{'mean |difference|':<26}{'Kendall distance':<26}correlation",
    ]
    for name, label in named.items():
        step = found.steps[name]
        cells = [_interval(one, clip=False) for one in (step.difference, step.kendall)]
        lines.append(
            f"{label:<24}" + "".join(f"{cell:<26}" for cell in cells) + number(step.correlation.mean)
        )
    lines.append(f"stand-ins are {number(found.length_ratio, 2)} times as long as those they replace")
    return lines


def _interval(estimate: Estimate, clip: bool = True) -> str:
    from evenhand.report.digits import number

    low = 0.0 if clip else -float("inf")
    mean, bottom, top = (
        value if value != value else max(low, value)
        for value in (estimate.mean, estimate.low, estimate.high)
    )
    return f"{number(mean)} [{number(bottom)}, {number(top)}]"
