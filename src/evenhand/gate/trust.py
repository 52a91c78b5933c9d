"""Whether the numbers of a run say what they seem to, before they decide anything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from evenhand.gate.outcome import Outcome
from evenhand.gate.settings import GateSettings
from evenhand.gate.verdict import Judged
from evenhand.study.analysis import Analysis, Finding
from evenhand.study.counted import counted


def missing(analysis: Analysis, settings: GateSettings) -> str:
    """Return what a run lacks beyond the share that is allowed, or "".

    Readings count where a criterion is about a reader.
    """
    counts = analysis.counts
    lost, every = counts.get("missing_scores", 0), counts.get("scores", 0)
    said = []
    if lost and lost / every > settings.max_missing:
        said.append(
            f"{lost} of {counted(every, 'score')} missing, in {counts.get('failed_rows', 0)} of "
            f"{counted(counts.get('rows', 0), 'row')}"
        )
    if _reads(settings) and analysis.reader is not None:
        lost, every = analysis.reader.counts["missing"], analysis.reader.counts["readings"]
        if lost and lost / every > settings.max_missing:
            said.append(f"{lost} of {counted(every, 'reading')} missing")
    return "; ".join(said)


def _reads(settings: GateSettings) -> bool:
    return any(one.line is None for one in settings.criteria)


def _findings(analysis: Analysis, settings: GateSettings) -> tuple[Finding, ...]:
    read = analysis.reader if _reads(settings) else None
    return analysis.findings + (() if read is None else read.findings)


def _blocks(finding: Finding, strict: bool) -> bool:
    """Whether nothing can be decided beside a finding.

    The noise of an unsteady scorer is held against each bound by itself, so it blocks only a
    strict gate; the other errors say that the numbers mean something else.
    """
    if finding.code == "unsteady":
        return strict and finding.severity != "note"
    return finding.severity == "error"


def blocking(
    results: Sequence[Judged], analysis: Analysis, settings: GateSettings
) -> tuple[Judged, ...]:
    """Return the results, undecided where what they are of cannot be trusted.

    Args:
        results: what the numbers say.
        analysis: of the run; its findings are read, those of a reader for its flips alone.
        settings: `strict` lets an unsteady scorer block too.
    """
    own = _codes(analysis.findings, settings)
    read = () if analysis.reader is None else _codes(analysis.reader.findings, settings)
    return tuple(_open(one, (*own, *read) if one.criterion.line is None else own) for one in results)


def _codes(findings: Iterable[Finding], settings: GateSettings) -> tuple[str, ...]:
    return tuple(one.code for one in findings if _blocks(one, settings.strict))


def _open(one: Judged, codes: tuple[str, ...]) -> Judged:
    if not codes:
        return one
    why = f"the numbers cannot be trusted ({', '.join(dict.fromkeys(codes))}; see the notes)"
    reason = f"{one.reason}; {why}" if one.reason else why
    return replace(one, outcome=Outcome.INCONCLUSIVE, reason=reason)


def told(analysis: Analysis, settings: GateSettings) -> tuple[str, ...]:
    """Return what to know of a run: warnings and errors of it, then criteria that are odd."""
    found = [
        f"{one.severity}: {one.message} ({one.code})"
        for one in _findings(analysis, settings)
        if one.severity != "note"
    ]
    return (*found, *(f"warning: {one.remark}" for one in settings.criteria if one.remark))
