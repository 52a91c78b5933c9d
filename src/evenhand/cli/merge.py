"""`evenhand merge`: a trained adapter made part of its base's weights."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli import options
from evenhand.cli.common import JSON, put, put_json, tell
from evenhand.study.counted import counted

if TYPE_CHECKING:
    from evenhand.train.merge import Merged


def merge(
    model: Annotated[str, typer.Argument(help="Base and adapter, e.g. smollm2-135m+runs/mine/scorer.")],
    out: Annotated[Path, typer.Option(help="Folder of the merged model; must not hold anything.")],
    probe: Annotated[
        str, typer.Option(help="Slates to compare scores on: JSONL file, collection, or 'demo'.")
    ] = "demo",
    limit: Annotated[int | None, options.LIMIT] = None,
    device: Annotated[
        str | None, typer.Option(help="Where it is compared, e.g. cpu or cuda:0.")
    ] = None,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Merge an adapter into its base in float32 and check that the scores stay."""
    from evenhand import __version__
    from evenhand.cli.inputs import open_slates
    from evenhand.models.quiet import model_packages

    slates = list(open_slates(probe, limit=limit))
    tell(f"{model}: merging, and comparing scores on {counted(len(slates), 'slate')}")
    with model_packages():
        from evenhand.train import merge as merging

        done = merging.merge(model, out, slates, device=device)
    if as_json:
        put_json({"evenhand": __version__, "merged": _record(done)})
    else:
        put("\n".join(merged_lines(done)))


def _record(done: Merged) -> dict[str, object]:
    return {
        "folder": str(done.folder),
        "open_as": done.open_as,
        "gap": done.gap,
        "scores": done.scores,
        "slates": done.slates,
        "scorer_json": done.form,
    }


def merged_lines(done: Merged) -> list[str]:
    """Return where the model is, how far its scores are from the unmerged ones, and how to open it."""
    lines = [
        f"merged: {done.folder}",
        f"largest difference of {counted(done.scores, 'score')} on {counted(done.slates, 'slate')}: "
        f"{done.gap:.2g}",
    ]
    if not done.form:
        lines.append("the adapter has no scorer.json: name the surface it was trained on yourself")
    return [*lines, f"open it as: {done.open_as}"]
