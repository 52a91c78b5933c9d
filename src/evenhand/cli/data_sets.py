"""`evenhand data list`, `plan` and `fetch`, and what `check` says of declared collections."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli.common import JSON, put, put_json, tell
from evenhand.errors import UsageError

if TYPE_CHECKING:
    from evenhand.data.collections import Planned, Verdict

ROOT = typer.Option("--root", help="Folder of collection folders; without it EVENHAND_DATA names it.")


def columns(rows: Sequence[Mapping[str, object]], names: Sequence[str]) -> str:
    """Return rows as text in columns under their names; a column without any value is left out."""
    shown = [name for name in names if any(row.get(name) not in (None, "") for row in rows)]
    cells = [[name.replace("_", " ") for name in shown]]
    cells += [["" if row.get(name) is None else str(row[name]) for name in shown] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in cells]
    return "\n".join(lines)


def list_sets(
    task: Annotated[
        str | None, typer.Option(help="One of passages, qa, verdict, responses; without it all.")
    ] = None,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """List the declared collections, their terms and needs."""
    from evenhand.data.collections import listing

    rows = listing()
    known = sorted({row["task"] for row in rows})
    if task is not None and task not in known:
        raise UsageError(f"unknown task {task!r}; known are {known}")
    rows = [row for row in rows if task in (None, row["task"])]
    if as_json:
        put_json(rows)
        return
    shown = [{**row, "task": f"{row['task']}, {row['use']}"} for row in rows]
    put(columns(shown, ("name", "task", "slates", "need", "licence")))


def plan_sets(
    names: Annotated[
        list[str] | None, typer.Argument(help="Collections; without any, all.", metavar="NAMES")
    ] = None,
    root: Annotated[Path | None, ROOT] = None,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Show what a fetch would take; nothing is fetched."""
    from evenhand.data.collections import plan

    planned = plan(names or None, root)
    if as_json:
        put_json([dataclasses.asdict(one) for one in planned])
        return
    put(columns([_plan_row(one) for one in planned], ("name", "state", "size", "lacks", "licence")))
    if names:
        put("\n".join(f"\n{one.name}: {one.source}\n  {one.get or 'is here'}" for one in planned))
    sizes = [one.megabytes for one in planned if one.state in ("begun", "missing")]
    known = sum(size for size in sizes if size is not None)
    put(f"\nto download, about: {_size(known)}; nothing was fetched")


def _plan_row(one: Planned) -> dict[str, object]:
    size = "" if one.need in ("agreement", "files by hand") else _size(one.megabytes)
    return {
        "name": one.name,
        "state": one.state,
        "size": size,
        "lacks": "; ".join(one.lacks),
        "licence": one.licence,
    }


def _size(megabytes: float | None) -> str:
    if megabytes is None:
        return "not known"
    return f"{megabytes / 1000:,.1f} GB" if megabytes >= 1000 else f"{megabytes:,.1f} MB"


def fetch_sets(
    names: Annotated[list[str], typer.Argument(help="Collections to fetch.", metavar="NAMES")],
    root: Annotated[Path | None, ROOT] = None,
    mirror: Annotated[
        Path | None,
        typer.Option("--from", help="Folder with the sources' files, instead of the network."),
    ] = None,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Fetch collections; one that was cut goes on."""
    from evenhand.data.collections import collection, fetch

    for name in names:
        collection(name)  # a wrong name is told before a long download
    made = []
    for name in names:
        tell(f"{name}: {collection(name).source}; {collection(name).licence}")
        folder = fetch(name, root, mirror=mirror, say=tell)
        made.append({"name": name, "folder": str(folder)})
    if as_json:
        put_json(made)
    else:
        put(columns(made, ("name", "folder")))


def verdict_rows(verdicts: Iterable[Verdict]) -> list[dict[str, Any]]:
    """Return what a check found, as plain values."""
    return [
        {
            "name": one.name,
            "folder": one.folder,
            "slates": one.slates,
            "expected_slates": one.expected[0],
            "candidates": one.candidates,
            "expected_candidates": one.expected[1],
            "hashes": one.words,
            "unlisted": list(one.unlisted),
            "problems": list(one.problems),
        }
        for one in verdicts
    ]


def show_verdicts(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a line a collection, and the problems of each under it."""
    shown = [{**row, "found": "; ".join(row["problems"]) or "good"} for row in rows]
    names = (
        "name",
        "slates",
        "expected_slates",
        "candidates",
        "expected_candidates",
        "hashes",
        "found",
    )
    put(columns(shown, names))
