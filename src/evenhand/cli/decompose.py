"""`evenhand decompose`: which channel moves a scorer's scores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli import options
from evenhand.cli.common import JSON, PARTLY, keep_result, progress, put, put_json, resumable, tell
from evenhand.study.counted import counted

if TYPE_CHECKING:
    from evenhand.study.causes.decompose import Decomposition
    from evenhand.study.causes.reference import Reference
    from evenhand.study.causes.width import Width


def decompose(
    slates: Annotated[str, options.SLATES],
    scorer: Annotated[str | None, options.SCORER] = None,
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
    reference: Annotated[
        Path | None,
        typer.Option(
            help="Folder of a decompose --out: the share of its residual variance that is left here."
        ),
    ] = None,
    setting: Annotated[list[str] | None, options.SETTING] = None,
    remedy: Annotated[list[str] | None, options.REMEDY] = None,
    out: Annotated[Path | None, options.OUT] = None,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Split the movement of scores into companions, order inside the window and noise."""
    from evenhand import __version__
    from evenhand.cli.inputs import open_remedied, open_slates, parse_settings
    from evenhand.study.causes import decompose as study
    from evenhand.study.causes.reference import open_reference
    from evenhand.study.causes.width import require_width_effect, width_effect
    from evenhand.study.rows.kept import kept

    found = list(open_slates(slates, run=run, depth=depth, limit=limit))
    opened = open_remedied(scorer, parse_settings(setting or []), remedy, seed=seed)
    if alone:  # what it lacks is told before anything is scored
        require_width_effect(opened, found, width=width, rule=rule, seed=seed)
    width = opened.default_window if width is None else width
    shape: dict[str, Any] = {"width": width, "rule": rule, "seed": seed}
    drawn: dict[str, Any] = {"partitions": partitions, "orders": orders}
    settings, apart = {**drawn, **shape}, None
    against = None if reference is None else open_reference(reference, opened, found, settings)
    with resumable(out), kept(opened, out, "decompose", settings, found) as asked:
        with progress(opened.name) as shown:
            done = study.decompose(asked, found, **drawn, **shape, progress=shown)
        if alone:
            with progress(f"{opened.name}, alone and beside others") as shown:
                apart = width_effect(asked, found, **shape, progress=shown)
    document = {"decomposition": done.to_dict(), "width": None if apart is None else apart.to_dict()}
    if against is not None:
        document["reference"] = reference_dict(done, against)
    keep_result(out, document)
    if as_json:
        put_json({"evenhand": __version__, **document})
    else:
        lines = channel_lines(done)
        lines += [] if against is None else [reference_line(done, against)]
        lines += [] if apart is None else width_lines(apart)
        put("\n".join(lines))
    missing = done.missing + (0 if apart is None else apart.missing)
    if missing:
        tell(f"evenhand: {missing} scores are missing (exit {PARTLY})")
        raise typer.Exit(PARTLY)


def channel_lines(found: Decomposition) -> list[str]:
    """Return the table of components, shares and the nested estimate."""
    from evenhand.report.digits import NONE, count, interval, number

    crossed, settings = found.crossed, found.settings
    lines = [
        f"{found.scorer['name']}: {counted(len(found.slate_ids), 'slate')}, "
        f"C {settings['partitions']}, R {settings['orders']}, 2 repeats, "
        f"B {settings['width'] or 'whole slate'}, {settings['rule']}, seed {settings['seed']}",
        f"{'':<22}{'share':<26}sd, score units",
    ]
    alone = found.one_window == len(found.slate_ids)
    for name, label in (("companions", "companions"), ("order", "order in window"), ("noise", "noise")):
        if name == "companions" and alone:
            lines.append(f"{label:<22}{NONE:<26}{NONE}  (no companions vary; use --width)")
            continue
        share, part = getattr(crossed, f"{name}_share"), getattr(crossed, name)
        lines.append(f"{label:<22}{interval(share):<26}{number(max(0.0, part.mean) ** 0.5)}")
    lines.append(f"{'all':<22}{'':<26}{number(max(0.0, crossed.total.mean) ** 0.5)}")
    lines.append(
        "shares are unbiased estimates and may leave [0, 1]; the sd of a variance estimated below 0 is "
        "shown as 0"
    )
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


def reference_dict(found: Decomposition, against: Reference) -> dict[str, Any]:
    """Return the residual share against a reference, as JSON values."""
    from evenhand.study.plain import plain

    share: object = plain(against.residual_share(found.nested))
    return {"scorer": against.name, "folder": against.folder, "residual_share": share}


def reference_line(found: Decomposition, against: Reference) -> str:
    """Return the residual share against a reference, in one line."""
    from evenhand.report.clean import one_line
    from evenhand.report.digits import number

    share = against.residual_share(found.nested)
    why = "" if share == share else "; missing scores leave other candidates, or it does not move"
    return (
        f"residual variance over that of {one_line(against.name)}: {number(share)}{why} "
        "(nested estimate; 1 = as there, 0 = nothing left)"
    )


def width_lines(found: Width) -> list[str]:
    """Return the table of what company does to a score."""
    from evenhand.report.digits import interval, number

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
        cells = [interval(one) for one in (step.difference, step.kendall)]
        lines.append(
            f"{label:<24}" + "".join(f"{cell:<26}" for cell in cells) + number(step.correlation.mean)
        )
    lines.append(f"stand-ins are {number(found.length_ratio, 2)} times as long as those they replace")
    return lines
