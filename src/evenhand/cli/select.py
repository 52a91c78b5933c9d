"""`evenhand select`: which lambda and checkpoint to ship."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.common import JSON, put, put_json, tell
from evenhand.study.counted import counted

if TYPE_CHECKING:
    from evenhand.train.judged import Judged, Selection
    from evenhand.train.trials import Trial

INCONCLUSIVE = 8


def select(
    runs: Annotated[
        list[Path],
        typer.Argument(
            help="Trials as JSON files, or folders of training runs (all held_out/*.json in each).",
            metavar="RUN...",
        ),
    ],
    baseline: Annotated[
        str | None,
        typer.Option(
            help="Quality to beat: a number, or the trial of an untrained scorer.",
            metavar="NUMBER|FILE",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Write the choice to this file.")] = Path("selection.json"),
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Choose among lambdas and checkpoints, on quality alone and on quality and stability."""
    from evenhand import __version__
    from evenhand.train.select import select as choose
    from evenhand.train.select import write_selection
    from evenhand.train.trials import read_trials

    found = choose(read_trials(runs), baseline=_baseline(baseline))
    write_selection(out, found)
    if as_json:
        put_json({"evenhand": __version__, **found.to_dict()})
    else:
        put("\n".join(selection_lines(found)))
    tell(f"selection: {out}")
    if found.refused is not None:
        tell(f"evenhand: nothing is chosen: {found.refused} (exit {INCONCLUSIVE})")
        raise typer.Exit(INCONCLUSIVE)


def _baseline(text: str | None) -> float | Trial | None:
    from evenhand.train.trials import read_trial

    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return read_trial(text)


def selection_lines(found: Selection) -> list[str]:
    """Return the table of trials, then why each was or was not chosen."""
    from evenhand.report.digits import number

    names = ("shuffled", "psi", "overlap", "spread")
    wide = max(len("trial"), *(len(one.label) for one in found.trials)) + 2
    heads = ("nDCG@10", "tau-PSI", "overlap", "spread", "below best", "error")
    lines = [
        f"{counted(len(found.trials), 'trial')} over {counted(found.slates, 'held-out slate')}"
        + (f", {found.undefined} without a quality" if found.undefined else "")
        + ("" if found.baseline is None else f"; quality to beat {number(found.baseline)}"),
        f"{'trial':<{wide}}" + "".join(f"{head:>12}" for head in heads),
    ]
    for one in found.trials:
        cells = [one.means[name] for name in names] + [one.difference, one.error]
        lines.append(f"{one.label:<{wide}}" + "".join(f"{number(cell, 4):>12}" for cell in cells))
    for rule, title, choice in (
        ("paper", "quality alone", found.paper),
        ("ours", "quality and stability", found.ours),
    ):
        lines += ["", f"{title}: {_named(choice)}"]
        lines += [f"  {one.label:<{wide}}{getattr(one, rule)}" for one in found.trials]
    return lines


def _named(choice: Judged | None) -> str:
    return "nothing" if choice is None else choice.label
