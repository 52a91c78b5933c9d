"""The command line: `evenhand demo`, `audit`, `report` and the other verbs.

Tables go to standard output, progress and messages to standard error. Exit
codes: 0 good, 1 a gate failed, 2 wrong use, 3 a missing extra, 4 missing or bad
input, 5 nothing measured, 6 backend failed, 7 partly done, 8 inconclusive; 70 a
fault of evenhand itself (with its traceback), 130 interrupted.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence

import typer

from evenhand import __version__
from evenhand.cli import (
    advise,
    audit,
    compare,
    data,
    decompose,
    demo,
    doctor,
    gate,
    label,
    merge,
    pairs,
    report,
    select,
    serve,
    train,
    worst,
)
from evenhand.cli.common import FAULT, show_warning, tell, told_log
from evenhand.cli.verb import Verb
from evenhand.errors import EvenhandError

__all__ = ["app", "main"]

app = typer.Typer(
    name="evenhand",
    help="Measure how far LLM scores and decisions depend on the way candidates are shown.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
# Each in under 55 signs: longer ones are cut in the list of verbs.
_VERBS: Mapping[str, tuple[Callable[..., None], str]] = {
    "demo": (demo.demo, "Audit a small model and a toy on bundled slates."),
    "audit": (audit.audit, "Measure how far scores depend on presentation."),
    "report": (report.report, "Show finished runs again, side by side."),
    "advise": (advise.advise, "Advise a threshold whose kept sets agree."),
    "compare": (compare.compare, "Say how sure the difference of finished runs is."),
    "gate": (gate.gate, "Judge finished runs by bounds; one verdict, one code."),
    "decompose": (decompose.decompose, "Say what moves scores: companions, order, noise."),
    "worst": (worst.worst, "Find the order that changes a decision most."),
    "label": (label.label, "Label slates by a teacher, to train on."),
    "train": (train.train, "Train a scorer on labelled slates."),
    "select": (select.select, "Choose among lambdas and checkpoints."),
    "merge": (merge.merge, "Make a trained adapter part of its base."),
    "pairs": (pairs.pairs, "Make preference pairs of finished runs, for DPO."),
    "serve": (serve.serve, "Serve a scorer over HTTP to rerank clients."),
    "doctor": (doctor.doctor, "Say what is installed and what is missing."),
}
for _name, (_verb, _short) in _VERBS.items():
    app.command(_name, cls=Verb, short_help=_short)(_verb)
app.add_typer(data.app, name="data")


def _version(asked: bool) -> None:
    if asked:
        print(f"evenhand {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Measure how far LLM scores and decisions depend on the way candidates are shown."""


def _open_closed_streams() -> None:
    """Give a stream that the caller closed (`2>&-`) a place to write to."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code.

    Args:
        arguments: words after the program's name; None = those of the process.

    Raises:
        SystemExit: always, with the code.
    """
    with warnings.catch_warnings(), told_log():
        warnings.showwarning = show_warning
        _open_closed_streams()
        try:
            app(args=None if arguments is None else list(arguments), prog_name="evenhand")
        except EvenhandError as error:
            tell(f"evenhand: error: {error}")
            sys.exit(error.exit_code)
        except Exception:
            traceback.print_exc()
            tell("evenhand: this is a fault of evenhand; please report it with the lines above")
            sys.exit(FAULT)
