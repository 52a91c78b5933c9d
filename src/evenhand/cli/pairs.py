"""`evenhand pairs`: preference data for DPO from finished runs over responses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli.common import JSON, PARTLY, check_reports, put, put_json, tell
from evenhand.study.counted import counted

if TYPE_CHECKING:
    from evenhand.study.pairs import FoundPairs, PairForm


def pairs(
    runs: Annotated[list[Path], typer.Argument(help="Finished runs over responses.", metavar="RUN...")],
    out: Annotated[Path, typer.Option(help="File of the pairs, .jsonl or .parquet; must not exist.")],
    max_flip: Annotated[
        float, typer.Option(help="Largest share of rows in which a pair reverses, 0 to .5.")
    ] = 0.1,
    min_gap: Annotated[
        float, typer.Option(help="Least difference of the two scores, in units of the scorer.")
    ] = 0.0,
    by: Annotated[
        str,
        typer.Option(help="Best and worst of the mean over rows, or of canonical.", metavar="NAME"),
    ] = "mean",
    form: Annotated[
        str,
        typer.Option(help="conversational (messages) or standard (strings).", metavar="NAME"),
    ] = "conversational",
    template: Annotated[
        str | None,
        typer.Option(help=r"The prompt, with {query} in it; \n and \t are line break and tab."),
    ] = None,
    weights: Annotated[
        bool, typer.Option("--weights", help="A column weight, 1 - 2 x flip probability.")
    ] = False,
    details: Annotated[
        bool, typer.Option("--details", help="Columns run, slate, ids, gap, flip, rows.")
    ] = False,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Write best and worst response of each slate as pairs to train on; unsteady pairs are dropped."""
    from evenhand import __version__
    from evenhand.decide.pairs import PairRule
    from evenhand.study.pairs import PairForm, find_pairs, require_free, write_pairs

    rule = PairRule(by, max_flip, min_gap)  # type: ignore[arg-type]
    shape = PairForm(form, _unescaped(template), weights, details)  # type: ignore[arg-type]
    require_free(out)
    check_reports(None, out)
    found = find_pairs(runs, rule)
    write_pairs(found, out, shape)
    if as_json:
        put_json({"evenhand": __version__, "pairs": _record(found, out, shape)})
    else:
        put("\n".join(pair_lines(found)))
    tell(f"pairs: {out}")
    if missing := found.dropped["missing"]:
        tell(f"evenhand: {counted(missing, 'slate')} with missing scores left out (exit {PARTLY})")
        raise typer.Exit(PARTLY)


def _unescaped(template: str | None) -> str | None:
    """Return a template with the line breaks and tabs that a shell makes hard to type."""
    return None if template is None else template.replace("\\n", "\n").replace("\\t", "\t")


def _record(found: FoundPairs, out: Path, shape: PairForm) -> dict[str, Any]:
    from evenhand.study.pairs import QUERY
    from evenhand.study.plain import plain

    form = plain(shape) | {"template": shape.prompt(QUERY)}
    return {"out": str(out), "form": form} | found.to_dict()


def pair_lines(found: FoundPairs) -> list[str]:
    """Return the summary: how many pairs, how steady, and how many slates gave none, and why."""
    from evenhand.report.digits import number
    from evenhand.study.pairs import why_dropped

    kept, rule = len(found.pairs), found.rule
    places = {"mean": "the mean over random rows", "canonical": "the canonical row"}
    lines = [
        f"{counted(kept, 'pair')} of {counted(found.slates, 'slate')} in "
        f"{counted(len(found.runs), 'run')}: best and worst of {places[rule.by]}",
        f"flip probability  {number(found.flip_kept)} on average, {number(found.flip_all)} before any "
        f"pair was dropped; at most {rule.max_flip:g} is kept",
    ]
    if found.fewer_rows:
        lines.append(f"fewer rows        {counted(found.fewer_rows, 'pair')}: some rows lack a score")
    reasons = why_dropped(found.dropped) or ["0"]
    for place, reason in enumerate(reasons):
        lines.append(f"{'' if place else 'dropped':<18}{reason}")
    return lines
