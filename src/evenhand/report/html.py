"""Results as one HTML file that opens from disk, with nothing to fetch."""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.errors import MissingExtraError
from evenhand.report import figures
from evenhand.report.clean import one_line, script_json
from evenhand.report.digits import count, number
from evenhand.report.drill import SlateView
from evenhand.report.slates import DRILL, Hero, Records, slate_views
from evenhand.report.table import build
from evenhand.report.words import base, describe
from evenhand.study.analysis import Analysis, Finding
from evenhand.types import Estimate

if TYPE_CHECKING:
    import jinja2


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
    drill: int = DRILL,
) -> str:
    """Return the page for one or several results.

    Args:
        results: each analysis with the records its slates are found in.
        title: heading of the page.
        drill: most slates that can be opened up, of each result.

    Raises:
        MissingExtraError: plotly or jinja2 is not installed.
    """
    plotly = figures.plotly_script()
    template = _template()
    analyses = [analysis for analysis, _ in results]
    table = build(analyses)
    drawn: dict[str, Any] = {"distribution": figures.distribution_figure(table.columns, analyses)}
    chapters = [
        _chapter(index, name, analysis, slate_views(analysis, records, drill), drawn)
        for index, (name, (analysis, records)) in enumerate(zip(table.columns, results, strict=True))
    ]
    specs = {name: json.loads(figure.to_json()) for name, figure in drawn.items()}
    script = _resource("page.js")
    page: str = template.render(
        title=one_line(title),
        lede=_lede(analyses),
        table=table,
        cards=[_card(name, analysis) for name, analysis in zip(table.columns, analyses, strict=True)],
        chapters=chapters,
        settings=[(name, _flat(a)) for name, a in zip(table.columns, analyses, strict=True)],
        plotly=plotly,
        script=script,
        script_hashes=" ".join(_csp_hash(text) for text in (plotly, script)),
        specs=script_json(json.dumps(specs, ensure_ascii=True)),
        style=_resource("page.css"),
    )
    return page


def _resource(name: str) -> str:
    return importlib.resources.files("evenhand.report").joinpath(name).read_text("utf-8")


def _template() -> jinja2.Template:
    try:
        import jinja2
    except ImportError:
        raise MissingExtraError("jinja2", "report") from None
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(
        number=number, count=count, clean=one_line, percent=_percent, breakable=_breakable
    )
    environment.globals.update(describe=describe)
    return environment.from_string(_resource("page.html.j2"))


def _breakable(name: str) -> str:
    """Return a name, escaped, that may break after a comma, slash, colon or underscore."""
    import markupsafe

    escaped = str(markupsafe.escape(one_line(name)))
    for mark in ",/:_":
        escaped = escaped.replace(mark, mark + "<wbr>")
    return markupsafe.Markup(escaped)


def _csp_hash(script: str) -> str:
    """Return the source expression that lets this script, and no other, run."""
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%" if math.isfinite(share) else "–"


def _lede(analyses: Sequence[Analysis]) -> str:
    slates = sorted({len(analysis.slate_ids) for analysis in analyses})
    sizes = " or ".join(count(size) for size in slates)
    rows = sorted({str(analysis.settings.get("rows", "?")) for analysis in analyses})
    return (
        f"{sizes} slate{'' if slates == [1] else 's'}, each shown in {' or '.join(rows)} random "
        "presentations. What changes between them is not relevance."
    )


_FACTS = (("served", "nDCG", "served"), ("decisions", "Overlap", ""), ("decisions", "SetFlip", ""))


def _card(name: str, analysis: Analysis) -> Card:
    facts = []
    for which, head, suffix in _FACTS:
        found = [pair for pair in getattr(analysis, which).items() if base(pair[0]) == head]
        for measure, estimate in found[:1]:
            facts.append((f"{describe(measure)[0]} {suffix}".strip(), number(estimate.mean)))
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
