"""The headline table, apart from how it is drawn: sections, rows and cells."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.report.digits import NONE, count, number
from evenhand.report.judge import JUDGE_FACTS
from evenhand.report.reader import READER_FACTS, READER_WORDS
from evenhand.report.settings import SETUP, column_names
from evenhand.report.words import describe, in_order
from evenhand.study.analysis import Analysis, Finding, gravity
from evenhand.types import Estimate


@dataclass(frozen=True, slots=True)
class Cell:
    """One value of the table: the number, and its interval or a remark."""

    value: str = NONE
    aside: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table, one cell per result.

    Attributes:
        label: what stands in the first column. hint: how to read the value.
        minor: belongs to the row above it, as a noise floor does.
    """

    label: str
    cells: tuple[Cell, ...]
    hint: str = ""
    minor: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """Rows under one heading."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Results side by side.

    Attributes:
        columns: one name per result, told apart where two are the same.
        sections: the rows. setup: (label, value) of settings all results share.
        findings: (whose, finding), the gravest first.
    """

    columns: tuple[str, ...]
    sections: tuple[Section, ...]
    setup: tuple[tuple[str, str], ...]
    findings: tuple[tuple[str, Finding], ...]


def estimate_cell(estimate: Estimate | None) -> Cell:
    """Return mean and interval; the remark says how many slates are undefined."""
    if estimate is None:
        return Cell()
    if estimate.n == 0:
        return Cell(NONE, "undefined")
    parts = []
    if math.isfinite(estimate.low) and math.isfinite(estimate.high):
        parts.append(f"[{number(estimate.low)}, {number(estimate.high)}]")
    if estimate.undefined:
        parts.append(f"{estimate.undefined} undefined")
    return Cell(number(estimate.mean), ", ".join(parts))


def _union(mappings: Iterable[Mapping[str, Any]]) -> list[str]:
    names: dict[str, None] = {}
    for mapping in mappings:
        names.update(dict.fromkeys(mapping))
    return list(names)


def _cells(analyses: Sequence[Analysis], which: str, name: str) -> tuple[Cell, ...]:
    return tuple(estimate_cell(getattr(analysis, which).get(name)) for analysis in analyses)


def _quality(analyses: Sequence[Analysis]) -> Section:
    rows = []
    names = _union(part for analysis in analyses for part in (analysis.served, analysis.shuffled))
    for name in in_order(names):
        label, hint = describe(name)
        for which in ("served", "shuffled"):
            if any(name in getattr(analysis, which) for analysis in analyses):
                rows.append(Row(f"{label}, {which}", _cells(analyses, which, name), hint))
    return Section("Quality", tuple(rows))


_FLOORED = frozenset(
    {"tauPSI", "Overlap", "Top1Flip", "PairFlip", "PoolPSI", "TopSetFlip@10", "RetainedDelta"}
)


def _agreement(title: str, analyses: Sequence[Analysis], which: str) -> Section:
    """Return measures of agreement, the noise floor under the ones that decide."""
    rows: list[Row] = []
    for name in in_order(_union(getattr(analysis, which) for analysis in analyses)):
        label, hint = describe(name)
        rows.append(Row(label, _cells(analyses, which, name), hint))
        if name in _FLOORED and any(name in analysis.floor for analysis in analyses):
            floor = _cells(analyses, "floor", name)
            rows.append(Row("noise floor", floor, "the same presentation scored twice", minor=True))
    return Section(title, tuple(rows))


def _cost(analyses: Sequence[Analysis]) -> Section:
    prompts = tuple(Cell(count(analysis.cost.prompts_per_slate)) for analysis in analyses)
    tokens = tuple(Cell(_tokens(analysis)) for analysis in analyses)
    return Section(
        "Cost of one presentation",
        (
            Row("prompts per slate", prompts, "mean over slates and rows"),
            Row("tokens per slate", tokens, "tokens read, all prompts together"),
        ),
    )


def _tokens(analysis: Analysis) -> str:
    # A prompt without a token is one whose tokens the scorer does not know.
    cost = analysis.cost
    return (
        NONE
        if cost.prompts_per_slate > 0 and not cost.tokens_per_slate
        else count(cost.tokens_per_slate)
    )


def _size(analyses: Sequence[Analysis]) -> Section:
    names = _union(analysis.counts for analysis in analyses)
    rows = []
    for name in names:
        values = [analysis.counts.get(name) for analysis in analyses]
        if name != "slates" and not any(values):
            continue
        cells = tuple(Cell() if value is None else Cell(count(value)) for value in values)
        label, hint = describe(name)
        rows.append(Row(label, cells, hint))
    return Section("Counts", tuple(rows))


def _setup(analyses: Sequence[Analysis]) -> tuple[tuple[tuple[str, str], ...], Section]:
    shared, differing = [], []
    for label, read in SETUP.items():
        values = [read(analysis) for analysis in analyses]
        if all(value == NONE for value in values):
            continue
        if len(set(values)) == 1:
            shared.append((label, values[0]))
        else:
            differing.append(Row(label, tuple(Cell(value) for value in values)))
    return tuple(shared), Section("Setup", tuple(differing))


def _judge(analyses: Sequence[Analysis]) -> Section:
    """Return what each makes of slates of two in both orders; empty where none has such slates."""
    judges = [analysis.judge for analysis in analyses]
    if not any(judges):
        return Section("Judge of two", ())
    rows = [
        Row(label, tuple(Cell() if one is None else Cell(read(one)) for one in judges), hint)
        for label, (read, hint) in JUDGE_FACTS.items()
    ]
    return Section("Judge of two", tuple(rows))


def _reader(analyses: Sequence[Analysis]) -> Section:
    """Return what a reader makes of each run; empty where none has read any."""
    readers = [analysis.reader for analysis in analyses]
    if not any(readers):
        return Section("Reader", ())
    rows = []
    for label, read in READER_FACTS.items():
        facts = tuple(Cell() if one is None else Cell(*read(one)) for one in readers)
        if any(cell.value != NONE for cell in facts):
            rows.append(Row(label, facts))
    for name, (label, hint) in READER_WORDS.items():
        known = [one.estimates[name]["score"].n for one in readers if one and name in one.estimates]
        # Without gold nothing is right or wrong; a flip without a value is worth saying.
        if not known or (name != "flip" and not any(known)):
            continue
        for order, said in (("score", ""), ("canonical", "same set in canonical order")):
            cells = tuple(
                estimate_cell(None if one is None else one.estimates.get(name, {}).get(order))  # type: ignore[call-overload]
                for one in readers
            )
            rows.append(Row(said or label, cells, hint, minor=bool(said)))
    own = tuple(estimate_cell(None if one is None else one.own_order) for one in readers)
    rows.append(Row("reader's own order dependence", own, "the two input orders of a set disagree"))
    return Section("Reader", tuple(rows))


def _findings(columns: Sequence[str], analyses: Sequence[Analysis]) -> tuple[tuple[str, Finding], ...]:
    """Return (whose, finding), the gravest first; one that several results share stands once."""
    whose: dict[Finding, list[str]] = {}
    for column, analysis in zip(columns, analyses, strict=True):
        of_reader = () if analysis.reader is None else analysis.reader.findings
        for finding in (*analysis.findings, *of_reader):
            whose.setdefault(finding, []).append(column)
    found = sorted(whose.items(), key=lambda pair: gravity(pair[0]))
    every = f"all {len(columns)}"
    return tuple(
        (every if len(names) == len(columns) > 1 else "; ".join(names), finding)
        for finding, names in found
    )


def build(
    analyses: Sequence[Analysis],
    labels: Sequence[str] | None = None,
    *,
    names: Sequence[str] | None = None,
) -> Table:
    """Return the headline table of one or several results side by side.

    A row that no result has anything for is left out; a value that one of them
    lacks is a dash. Settings that all share stand once in `setup`; the others
    are a section of the table.

    Args:
        analyses: one column each.
        labels: of each, to tell columns of one scorer apart; see `settings.column_names`.
        names: of the columns, all different; None = made from scorers and labels.
    """
    columns = column_names(analyses, labels) if names is None else tuple(names)
    shared, differing = _setup(analyses)
    sections = (
        _quality(analyses),
        _agreement("Stability", analyses, "stability"),
        _agreement("Decisions", analyses, "decisions"),
        _judge(analyses),
        _reader(analyses),
        _cost(analyses),
        _size(analyses),
        differing,
    )
    kept = tuple(section for section in sections if section.rows)
    return Table(columns, kept, shared, _findings(columns, analyses))
