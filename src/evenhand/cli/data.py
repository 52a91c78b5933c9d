"""`evenhand data`: list, plan, fetch and check collections; convert and write slates."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli.common import JSON, put, put_json
from evenhand.cli.data_sets import (
    ROOT,
    fetch_sets,
    list_sets,
    plan_sets,
    show_verdicts,
    verdict_rows,
)
from evenhand.cli.verb import Verb
from evenhand.errors import InputError, UsageError

if TYPE_CHECKING:
    from evenhand.types import Slate

app = typer.Typer(
    help="List, fetch and check collections; convert slates.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("list", cls=Verb)(list_sets)
app.command("plan", cls=Verb)(plan_sets)
app.command("fetch", cls=Verb)(fetch_sets)


@app.command(cls=Verb)
def check(
    file: Annotated[
        str | None,
        typer.Argument(
            help="JSONL file of slates, a collection's folder or name, or 'demo'; without it every "
            "collection that has a folder."
        ),
    ] = None,
    run: Annotated[str | None, typer.Option(help="First-stage run of a collection's folder.")] = None,
    root: Annotated[Path | None, ROOT] = None,
    record: Annotated[
        bool, typer.Option("--record", help="Write the hashes of files that were placed by hand.")
    ] = False,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Count slates; compare collections with what is declared."""
    from evenhand.cli.inputs import declared, open_slates

    if file is None or declared(file) is not None:
        _check_declared(file, root, run, record, as_json)
        return
    if record or root is not None:
        raise UsageError(f"--record and --root go with the name of a collection, and {file!r} is none")
    slates = open_slates(file, run=run)
    found = survey(slates)
    found["notes"] = _notes(slates)
    if not found["slates"]:
        raise InputError("holds no slates", path=file)
    _show({"file": file, **found}, as_json)


def _check_declared(
    name: str | None, root: Path | None, run: str | None, record: bool, as_json: bool
) -> None:
    """Check one collection in full, or a line for each that has a folder; a problem ends in exit 4."""
    from evenhand.data.collections import lying, open_collection, verify
    from evenhand.data.collections import record as write_manifest

    if name is None and (record or run is not None):
        raise UsageError("--record and --run need the name of a collection")
    if name is None:
        rows = verdict_rows(verify(one, root) for one in lying(root))
        if not rows:
            raise InputError("no collection has a folder where they are looked for")
        if as_json:
            put_json(rows)
        else:
            show_verdicts(rows)
    else:
        if record:
            write_manifest(name, root)
        slates = open_collection(name, root, run=run)
        found = survey(slates)
        rows = verdict_rows([verify(name, root, found=(found["slates"], found["candidates"]))])
        _show({**rows[0], **found, "notes": _notes(slates)}, as_json)
    wrong = [row["name"] for row in rows if row["problems"]]
    if wrong:
        raise InputError(f"not as declared or recorded: {', '.join(wrong)}")


@app.command(cls=Verb)
def convert(
    run: Annotated[Path, typer.Option(help="TREC run of the first stage.")],
    corpus: Annotated[Path, typer.Option(help="Candidate texts: JSONL {_id, title, text}.")],
    queries: Annotated[
        Path, typer.Option(help="Query texts: JSONL {_id, text} or id and text by tab.")
    ],
    out: Annotated[Path, typer.Option(help="JSONL file to write.")],
    qrels: Annotated[
        Path | None, typer.Option(help="Judgments; left out, slates have no grades.")
    ] = None,
    depth: Annotated[int, typer.Option(help="Most candidates of a slate.")] = 100,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Make slates from a run, judgments, a corpus and queries."""
    from evenhand.data import from_trec, write_slates

    slates = from_trec(run, qrels, corpus, queries, depth)
    written = write_slates(out, slates)
    _show({"file": str(out), "slates": written, "notes": _notes(slates)}, as_json)


@app.command(cls=Verb)
def demo(
    out: Annotated[Path, typer.Option(help="JSONL file to write.")],
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Write the bundled slates, as an example of the form."""
    from evenhand.data import write_slates
    from evenhand.data.demo import demo_slates

    _show({"file": str(out), "slates": write_slates(out, demo_slates())}, as_json)


def survey(slates: Iterable[Slate]) -> dict[str, Any]:
    """Return counts over slates: candidates, grades, sizes, texts that are empty or alike."""
    sizes: list[int] = []
    graded = judged = relevant = empty = repeated = 0
    for slate in slates:
        sizes.append(len(slate))
        texts = [candidate.text.strip() for candidate in slate.candidates]
        empty += sum(not text for text in texts)
        repeated += len(texts) - len(set(texts))
        if slate.grades is not None:
            graded += 1
            judged += sum(key in slate.grades for key in slate.ids)
            relevant += int((slate.gains() > 0).sum())
    return {
        "slates": len(sizes),
        "candidates": sum(sizes),
        "smallest_slate": min(sizes, default=0),
        "largest_slate": max(sizes, default=0),
        "slates_with_grades": graded,
        "judged_candidates": judged,
        "relevant_candidates": relevant,
        "empty_texts": empty,
        "repeated_texts": repeated,
    }


def _notes(slates: object) -> dict[str, int]:
    report = getattr(slates, "report", None)
    return {} if report is None else dict(report.to_dict())


def _show(values: dict[str, Any], as_json: bool) -> None:
    if as_json:
        put_json(values)
        return
    lines = {name: value for name, value in values.items() if value not in (None, [])}
    lines.update(lines.pop("notes", {}))
    if "problems" in lines:
        lines["problems"] = "; ".join(lines["problems"])
    width = max(map(len, lines))
    put("\n".join(f"{name.replace('_', ' '):<{width}}  {value}" for name, value in lines.items()))
