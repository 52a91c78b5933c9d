"""`evenhand data`: check, convert and write slates."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli.common import JSON, put, put_json
from evenhand.cli.verb import Verb
from evenhand.errors import InputError

if TYPE_CHECKING:
    from evenhand.types import Slate

app = typer.Typer(help="Check, convert and write slates.", no_args_is_help=True, rich_markup_mode=None)


@app.command(cls=Verb)
def check(
    file: Annotated[
        str, typer.Argument(help="JSONL file of slates, a collection's folder, or 'demo'.")
    ],
    run: Annotated[str | None, typer.Option(help="First-stage run of a collection's folder.")] = None,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Read slates to the end, and count what is in them."""
    from evenhand.cli.inputs import open_slates

    slates = open_slates(file, run=run)
    found = survey(slates)
    found["notes"] = _notes(slates)
    if not found["slates"]:
        raise InputError("holds no slates", path=file)
    _show({"file": file, **found}, as_json)


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
    lines = dict(values)
    lines.update(lines.pop("notes", {}))
    width = max(map(len, lines))
    put("\n".join(f"{name.replace('_', ' '):<{width}}  {value}" for name, value in lines.items()))
