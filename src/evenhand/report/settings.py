"""The settings that travel with every number, and names that tell results apart."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from evenhand.decide.threshold import NO_GRADES
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
        return f"{folds} (80% quantile of the scores: {fit.reason or NO_GRADES})"
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
    further = analysis.counts.get("truncated_further", 0)
    words = analysis.scorer.get("max_candidate_words")
    # Where a tokenizer is not known, words are what is cut and counted.
    limit, unit = (limit, "tokens") if words is None else (words, "words")
    said = ["none" if limit is None else f"{limit} {unit} per candidate"]
    said += [f"{count(cut)} {unit} cut"] if cut else []
    said += [f"up to {count(further)} more in other rows"] if further else []
    return ", ".join(said)


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


def folder_labels(folders: Sequence[Path | None]) -> tuple[str, ...]:
    """Return a label for each folder: its name, with as many parents as tell it from the others.

    Args:
        folders: of runs; None = one that has no name of its own, which gets an empty label.
    """
    parts = [() if folder is None else folder.absolute().parts for folder in folders]
    labels = []
    for own in parts:
        others = [other for other in parts if other != own]
        shared = [sum(1 for _ in _same(own, other)) for other in others]
        labels.append("/".join(own[-1 - max(shared, default=0) :]))
    return tuple(labels)


def _same(own: Sequence[str], other: Sequence[str]) -> Iterator[str]:
    """Yield the parts that two paths share at their ends."""
    pairs = zip(reversed(own), reversed(other), strict=False)
    return (mine for mine, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def column_names(analyses: Sequence[Analysis], labels: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return one name per result; where scorers share a name, what tells them apart follows it.

    That is the label where the slates differ, then the settings that differ, then the
    label; a number where nothing does.

    Args:
        analyses: the results.
        labels: of each, usually the name of its run folder; "" = none.
    """
    names = [str(analysis.scorer.get("name", "scorer")) for analysis in analyses]
    given = [""] * len(names) if labels is None else list(labels)
    slates: list[object] = [analysis.slate_ids for analysis in analyses]
    settings = [[read(analysis) for analysis in analyses] for read in _APART]
    names = _told_apart(names, given, slates)
    for extra in (*settings, given):
        names = _told_apart(names, extra, extra)
    return tuple(
        f"{name} ({names[: index + 1].count(name)})" if names.count(name) > 1 else name
        for index, name in enumerate(names)
    )


def _told_apart(names: list[str], extra: Sequence[str], by: Sequence[object]) -> list[str]:
    """Return names, with `extra` added to those that are shared by results that differ in `by`."""
    found: dict[str, list[object]] = {}
    for name, value in zip(names, by, strict=True):
        if value not in found.setdefault(name, []):
            found[name].append(value)
    return [
        f"{name}, {more}" if more and len(found[name]) > 1 else name
        for name, more in zip(names, extra, strict=True)
    ]
