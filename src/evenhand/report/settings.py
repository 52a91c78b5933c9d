"""The settings that travel with every number, and names that tell results apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from evenhand.report.digits import NONE, count, number
from evenhand.study.analysis import Analysis


def _threshold(analysis: Analysis) -> str:
    fit = analysis.threshold
    if fit is None:
        return "none"
    folds = " / ".join(number(value) for value in fit.folds)
    if fit.rule == "f1":
        return f"{folds} (F1, cross-fitted, grade ≥ {fit.min_grade})"
    if fit.rule == "quantile":
        return f"{folds} (80% quantile of the scores, no grades)"
    return f"{folds} (fixed)"


def _threshold_high(analysis: Analysis) -> str:
    fit = analysis.threshold_high
    if fit is None:
        return NONE
    return f"{' / '.join(map(number, fit.folds))} (F1, cross-fitted, grade ≥ {fit.min_grade})"


def _width(analysis: Analysis) -> str:
    width = analysis.settings.get("width")
    return "whole slate" if width is None else str(width)


# The channel that a scorer honours when it reads that part of the surface.
_SURFACE_CHANNEL = {"markers": "marker", "skeleton": "skeleton", "rubric": "rubric"}
_SURFACE_CHANNELS = frozenset(_SURFACE_CHANNEL.values())


def _surface_part(key: str) -> Callable[[Analysis], str]:
    def read(analysis: Analysis) -> str:
        honoured = analysis.scorer.get("channels")
        wanted = {_SURFACE_CHANNEL[key]} if key in _SURFACE_CHANNEL else _SURFACE_CHANNELS
        if honoured is not None and wanted.isdisjoint(honoured):
            return NONE
        surface = analysis.settings.get("surface") or analysis.scorer.get("surface") or {}
        return str(surface.get(key, NONE))

    return read


def _truncation(analysis: Analysis) -> str:
    limit = analysis.settings.get("max_candidate_tokens", analysis.scorer.get("max_candidate_tokens"))
    cut = analysis.counts.get("truncated_tokens", 0)
    rule = "none" if limit is None else f"{limit} tokens per candidate"
    return f"{rule}, {count(cut)} tokens cut" if cut else rule


SETUP: dict[str, Callable[[Analysis], str]] = {
    "random rows M": lambda a: str(a.settings.get("rows", NONE)),
    "window width B": _width,
    "window rule": lambda a: str(a.settings.get("rule", NONE)),
    "design": lambda a: str(a.settings.get("design", NONE)),
    "seed": lambda a: str(a.settings.get("seed", NONE)),
    "rubric": _surface_part("rubric"),
    "markers": _surface_part("markers"),
    "query": _surface_part("query"),
    "skeleton": _surface_part("skeleton"),
    "visibility": _surface_part("visibility"),
    "truncation": _truncation,
    "scorer revision": lambda a: _revision(a.scorer.get("revision", NONE)),
    "dtype": lambda a: str(a.scorer.get("dtype", a.settings.get("dtype", NONE))),
    "score scale": lambda a: str(a.scorer.get("scale", NONE)),
    "threshold": _threshold,
    "threshold (rel=2)": _threshold_high,
}


def _revision(revision: object, limit: int = 16) -> str:
    # Short enough for a table; the manifest has all of it.
    text = str(revision)
    return text if len(text) <= limit else text[: limit - 1] + "…"


_APART: tuple[Callable[[Analysis], str], ...] = (
    *map(_surface_part, ("visibility", "rubric", "markers", "query")),
    lambda analysis: f"B {_width(analysis)}",
    lambda analysis: f"design {analysis.settings.get('design')}",
    lambda analysis: f"M {analysis.settings.get('rows')}",
)


def column_names(analyses: Sequence[Analysis]) -> tuple[str, ...]:
    """Return one name per result; where scorers share a name, what tells them apart follows it."""
    names = [str(analysis.scorer.get("name", "scorer")) for analysis in analyses]
    for read in _APART:
        extra = [read(analysis) for analysis in analyses]
        twice = [names.count(name) > 1 for name in names]
        differs = [
            len({extra[j] for j, other in enumerate(names) if other == name}) > 1 for name in names
        ]
        names = [
            f"{name}, {more}" if again and apart else name
            for name, more, again, apart in zip(names, extra, twice, differs, strict=True)
        ]
    return tuple(
        f"{name} ({names[: index + 1].count(name)})" if names.count(name) > 1 else name
        for index, name in enumerate(names)
    )
