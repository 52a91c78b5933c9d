"""The figures of an audit: as properties of a test, as a line of the summary, as a failure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from evenhand.gate.verdict import Judged, RunVerdict
from evenhand.report.digits import NONE, number
from evenhand.study.analysis import Analysis, mean_of
from evenhand.study.counted import counted

# Printed in this order: property, what stands before it in the summary.
_SHOWN = {
    "nDCG@10.served": "nDCG@10 served",
    "nDCG@10.shuffled": "shuffled",
    "tauPSI": "tauPSI",
    "tauPSI.floor": "floor",
    "Overlap": "overlap",
}


def figures_of(analysis: Analysis) -> dict[str, Any]:
    """Return the figures of an audit by name, as texts and plain numbers.

    Args:
        analysis: of the run.

    Returns:
        A measure that is undefined is not in it.
    """
    measured = {
        "nDCG@10.served": mean_of(analysis.served, "nDCG@10"),
        "nDCG@10.shuffled": mean_of(analysis.shuffled, "nDCG@10"),
        "tauPSI": mean_of(analysis.stability, "tauPSI"),
        "tauPSI.floor": mean_of(analysis.floor, "tauPSI"),
        "Overlap": mean_of(analysis.decisions, "Overlap"),
    }
    settings, width = analysis.settings, analysis.settings.get("width")
    found: dict[str, Any] = {"scorer": str(analysis.scorer.get("name"))}
    found |= {name: float(value) for name, value in measured.items() if not math.isnan(value)}
    found |= {"M": settings.get("rows"), "B": "whole slate" if width is None else width}
    found |= {"n": len(analysis.slate_ids), "missing": int(analysis.counts.get("missing_scores", 0))}
    codes = [one.code for one in analysis.findings if one.severity != "note"]
    return found | ({"findings": ", ".join(dict.fromkeys(codes))} if codes else {})


def line(figures: Mapping[str, Any]) -> str:
    """Return the summary of one audit; a dash stands for what is undefined.

    Args:
        figures: those of `figures_of`; "reused" (nothing was scored) and "verdict" may
            stand beside them.
    """
    shown = ", ".join(
        f"{label} {number(figures.get(name, math.nan))}" for name, label in _SHOWN.items()
    )
    setup = ", ".join(f"{name} {figures.get(name, NONE)}" for name in ("M", "B", "n"))
    parts = [str(figures.get("scorer", NONE)), shown, setup]
    if missing := figures.get("missing"):
        parts.append(f"{counted(missing, 'score')} missing")
    if codes := figures.get("findings"):
        parts.append(f"warnings: {codes}")
    if figures.get("reused"):
        parts.append("reused")
    if verdict := figures.get("verdict"):
        parts.append(str(verdict))
    return "; ".join(parts)


def failure(run: RunVerdict) -> str:
    """Return why a run does not keep its bounds: each bound with its numbers, then remarks."""
    facts, slates = run.facts, counted(int(run.facts.get("slates", 0)), "slate")
    setup = f"M {facts.get('M')}, B {facts.get('B')}"
    head = f"{run.outcome.word}: {facts.get('scorer')} on {slates}, {setup}"
    problem = [f"  {run.problem}"] if run.problem else []
    notes = [f"  note: {note}" for note in run.notes]
    return "\n".join([head, *problem, *map(_judged, run.results), *notes])


def _judged(one: Judged) -> str:
    return "  " + "; ".join(_said(one))


def _said(one: Judged) -> Iterator[str]:
    mean, low, high = map(number, (one.value, one.low, one.high))
    yield f"{one.criterion}: {one.outcome.word}, {mean} [{low}, {high}]"
    if not math.isnan(one.floor):
        yield f"noise floor {number(one.floor)}"
    if one.criterion.change is not None:
        yield f"baseline {number(one.before)}, here {number(one.after)}"
    if one.reason:
        yield one.reason
