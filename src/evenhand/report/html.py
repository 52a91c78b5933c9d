"""Results as one HTML file that opens from disk, with nothing to fetch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.report import figures
from evenhand.report.clean import one_line
from evenhand.report.digits import count, number
from evenhand.report.drill import SlateView
from evenhand.report.grouped import grouped
from evenhand.report.page import fill, require_drawing
from evenhand.report.reader_view import reader_facts, reader_views
from evenhand.report.settings import column_names
from evenhand.report.slates import DRILL, Hero, Records, slate_views
from evenhand.report.table import build
from evenhand.report.words import base, describe
from evenhand.study.analysis import Analysis, Finding
from evenhand.types import Estimate

# Most slates that can be opened up on one page, and the fewest of each result.
PAGE_DRILL = 600
LEAST_DRILL = 20


@dataclass(frozen=True, slots=True)
class Gauge:
    """A number on the scale from 0 (stable) to 0.5 (unrelated), as shares of its width."""

    value: str
    at: float
    low: float
    high: float
    floor: float | None


@dataclass(frozen=True, slots=True)
class Card:
    """The few numbers that a reader sees first."""

    name: str
    gauge: Gauge | None
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Chapter:
    """One result in the page."""

    name: str
    anchor: str
    about: tuple[tuple[str, str], ...]
    findings: tuple[Finding, ...]
    figures: tuple[tuple[str, str, str], ...]
    left_out: str
    slates: tuple[SlateView, ...]
    hero: Hero | None
    unshown: int
    graded: bool


def to_html(
    results: Sequence[tuple[Analysis, Records]],
    *,
    title: str = "Presentation audit",
    drill: int | None = None,
    labels: Sequence[str] | None = None,
) -> str:
    """Return the page for one or several results.

    Args:
        results: each analysis with the records its slates are found in.
        title: heading of the page.
        drill: most slates that can be opened up, of each result; None = what keeps
            the page small, see `shared_drill`.
        labels: of each result, to tell results of one scorer apart.

    Raises:
        MissingExtraError: plotly or jinja2 is not installed.
    """
    require_drawing()
    names = column_names([analysis for analysis, _ in results], labels)
    values, drawn = page_values(results, names, drill)
    return fill("page.html.j2", drawn, title=one_line(title), **values)


def shared_drill(results: int) -> int:
    """Return how many slates of each result can be opened up, so that a page of many stays small."""
    return min(DRILL, max(LEAST_DRILL, PAGE_DRILL // max(1, results)))


def page_values(
    results: Sequence[tuple[Analysis, Records]], names: Sequence[str], drill: int | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the page says of results, and its figures by name.

    Args:
        results: as in `to_html`.
        names: one per result, all different.
        drill: most slates that can be opened up, of each result.
    """
    analyses = [analysis for analysis, _ in results]
    table = build(analyses, names=names)
    drawn: dict[str, Any] = {"distribution": figures.distribution_figure(names, analyses)}
    limit = shared_drill(len(results)) if drill is None else drill
    chapters = [
        _chapter(index, name, analysis, slate_views(analysis, records, limit), drawn)
        for index, (name, (analysis, records)) in enumerate(zip(names, results, strict=True))
    ]
    readers, of_readers = reader_views(names, analyses)
    values = {
        "lede": _lede(analyses),
        "table": table,
        "findings": grouped(table.findings, len(names)),
        "cards": [_card(name, analysis) for name, analysis in zip(names, analyses, strict=True)],
        "chapters": chapters,
        "chapter_kind": "Scorer",
        "readers": readers,
        "settings": [(name, _flat(a)) for name, a in zip(names, analyses, strict=True)],
    }
    return values, drawn | of_readers


def _lede(analyses: Sequence[Analysis]) -> str:
    slates = sorted({len(analysis.slate_ids) for analysis in analyses})
    sizes = _span([count(size) for size in slates])
    known = {int(analysis.settings["rows"]) for analysis in analyses if "rows" in analysis.settings}
    rows = [str(value) for value in sorted(known)] or ["?"]
    return (
        f"{sizes} slate{'' if slates == [1] else 's'}, each shown in {_span(rows)} random "
        "presentations. What changes between them is not relevance."
    )


def _span(values: Sequence[str]) -> str:
    """Return one or two values as they are, of more the ends."""
    return " or ".join(values) if len(values) < 3 else f"{values[0]} to {values[-1]}"


_FACTS = (("served", "nDCG", "served"), ("decisions", "Overlap", ""), ("decisions", "SetFlip", ""))


def _card(name: str, analysis: Analysis) -> Card:
    facts = []
    for which, head, suffix in _FACTS:
        found = [pair for pair in getattr(analysis, which).items() if base(pair[0]) == head]
        for measure, estimate in found[:1]:
            facts.append((f"{describe(measure)[0]} {suffix}".strip(), number(estimate.mean)))
    facts += reader_facts(analysis.reader)
    gauge = _gauge(analysis.stability.get("tauPSI"), analysis.floor.get("tauPSI"))
    return Card(one_line(name), gauge, tuple(facts))


def _gauge(tau: Estimate | None, floor: Estimate | None) -> Gauge | None:
    if tau is None or not math.isfinite(tau.mean):
        return None
    low = tau.low if math.isfinite(tau.low) else tau.mean
    high = tau.high if math.isfinite(tau.high) else tau.mean
    base = _place(floor.mean) if floor is not None and math.isfinite(floor.mean) else None
    return Gauge(number(tau.mean), _place(tau.mean), _place(low), _place(high), base)


def _place(value: float) -> float:
    """Return percent of the way from 0 to 0.5, the end of the scale when beyond."""
    return round(100 * min(max(value / 0.5, 0.0), 1.0), 2)


_NO_SLOTS = "No score by slot: the scorer is order-free, so no slot can matter to it."


def _chapter(
    index: int,
    name: str,
    analysis: Analysis,
    shown: tuple[tuple[SlateView, ...], Hero | None],
    drawn: dict[str, Any],
) -> Chapter:
    """Return one result's part of the page; its figures are added to `drawn`."""
    folds = () if analysis.threshold is None else analysis.threshold.folds
    free = bool(analysis.scorer.get("order_free"))
    if not free:
        drawn[f"slots-{index}"] = figures.slot_figure(analysis.slot_curve)
    drawn[f"overlap-{index}"] = figures.overlap_figure(analysis.overlap_curve, folds)
    captions = (
        (
            f"slots-{index}",
            "Score by slot",
            "Mean score of whatever stands in a slot, over slates and random rows. "
            "Orders are random, so a line that is not flat, beyond chance, is an effect of the slot.",
        ),
        (
            f"overlap-{index}",
            "Threshold and agreement",
            "How far two presentations agree on what to keep, at every threshold. "
            "Dotted: the thresholds used here.",
        ),
    )
    views, hero = shown
    about = tuple(
        (label, one_line(str(analysis.scorer[key]), 80))
        for label, key in (("revision", "revision"), ("scale", "scale"), ("dtype", "dtype"))
        if analysis.scorer.get(key) is not None
    )
    return Chapter(
        one_line(name),
        f"result-{index}",
        about,
        analysis.findings,
        captions[1:] if free else captions,
        _NO_SLOTS if free else "",
        views,
        hero,
        len(analysis.slate_ids) - len(views),
        bool(analysis.served),
    )


def _flat(analysis: Analysis) -> list[tuple[str, str]]:
    """Return all settings as (name, value) lines, nested ones with dotted names."""
    lines: list[tuple[str, str]] = []

    def walk(prefix: str, value: object) -> None:
        if isinstance(value, Mapping):
            for key, entry in value.items():
                walk(f"{prefix}.{key}" if prefix else str(key), entry)
        else:
            lines.append((one_line(prefix, 80), one_line(str(value), 200)))

    walk("", {"scorer": analysis.scorer, **analysis.settings})
    return lines
