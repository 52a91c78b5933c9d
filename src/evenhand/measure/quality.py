"""Ranking quality against grades, computed by ir-measures.

The evaluator is handed dense ranks: equal scores are ordered by
`seeds.tie_ranks`, so nothing depends on how an evaluator breaks ties. Gain is
linear, as in trec_eval, negative grades are 0, unjudged candidates are 0, and
the ideal ranking is over all grades of the slate, candidates that the first
stage missed included. A slate whose grades hold nothing relevant counts 0, as
in trec_eval; a slate without grades is undefined.

Missing scores: a candidate without a score is not in the run, as if it had not
been retrieved; a row without any score is undefined. A judged slate for which
nothing was retrieved has no score to miss: its ranking counts 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Literal

import ir_measures
import numpy as np
from numpy.typing import ArrayLike

from evenhand.errors import UsageError
from evenhand.measure.checks import came, choice, cut_value, listed, whole
from evenhand.measure.rows import as_rows, ranks
from evenhand.seeds import tie_ranks
from evenhand.types import FloatArray, Slate

SetKind = Literal["F1", "SetP", "SetR"]

_SETS: dict[str, str] = {"F1": "SetF", "SetP": "SetP", "SetR": "SetR"}


@cache
def _parsed(name: str) -> object:
    try:
        return ir_measures.parse_measure(name)
    except (NameError, ValueError, TypeError, AttributeError, SyntaxError, AssertionError) as error:
        raise UsageError(
            f"{name!r} is no measure of ir-measures ({error}); write nDCG@10, AP or P@5"
        ) from None


def _evaluate(
    names: Iterable[str], qrels: Mapping[str, Mapping[str, int]], run: Mapping[str, Mapping[str, float]]
) -> dict[str, dict[str, float]]:
    """Return value by measure name and query; a query without a run counts 0."""
    measures = {_parsed(name): name for name in names}
    values: dict[str, dict[str, float]] = {name: {} for name in measures.values()}
    for metric in ir_measures.evaluator(list(measures), qrels).iter_calc(run):
        values[measures[metric.measure]][metric.query_id] = float(metric.value)
    return values


def _judged(slate: Slate, *, everywhere: bool) -> dict[str, int]:
    """Return clamped grades by column name; candidates the first stage missed get their own."""
    grades = slate.grades or {}
    columns = {key: str(column) for column, key in enumerate(slate.ids)}
    return {
        columns.get(key, f"missed {index}"): max(0, grade)
        for index, (key, grade) in enumerate(grades.items())
        if everywhere or key in columns
    }


def ranking_quality(
    names: Sequence[str], slates: Sequence[Slate], scores: Sequence[ArrayLike]
) -> dict[str, list[FloatArray]]:
    """Return the quality of every row of many slates in one evaluation.

    Args:
        names: measures in ir-measures' grammar, e.g. "nDCG@10", "AP(rel=2)".
        slates: the slates.
        scores: for each slate (R, n), any number of rows.

    Returns:
        By name, for each slate (R,) values in [0, 1]; NaN for rows without any
        score and for slates without grades; 0 for judged slates without candidates.

    Raises:
        UsageError: a name is no measure, or scores do not fit their slate.
    """
    names = _named(names)
    pairs = _with_rows(slates, scores)
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    shapes, unscored = [], []
    for number, (slate, rows) in enumerate(pairs):
        shapes.append(len(rows))
        unscored.append(np.nan if slate.grades is None or len(slate) else 0.0)
        if slate.grades is None:
            continue
        judged = _judged(slate, everywhere=True)
        places = ranks(rows, tie_ranks(slate.id, slate.ids))
        for row, (values, place) in enumerate(zip(rows, places, strict=True)):
            found = np.flatnonzero(~np.isnan(values))
            if found.size:
                key = f"{number} {row}"
                qrels[key] = judged
                run[key] = {str(column): float(len(values) - place[column]) for column in found}
    results = _evaluate(names, qrels, run) if run else {name: {} for name in names}
    return {
        name: [
            np.array([results[name].get(f"{number} {row}", absent) for row in range(count)])
            for number, (count, absent) in enumerate(zip(shapes, unscored, strict=True))
        ]
        for name in names
    }


def _named(names: Sequence[str]) -> list[str]:
    """Return names of measures, each of which ir-measures knows."""
    found = listed("names", names, "measures")
    for name in found:
        if not isinstance(name, str):
            raise UsageError(f"a measure is named by a text such as nDCG@10, got {came(name)}")
        _parsed(name)
    return found


def _with_rows(slates: Sequence[Slate], scores: Sequence[ArrayLike]) -> list[tuple[Slate, FloatArray]]:
    """Return each slate with its (R, n) scores."""
    given = listed("slates", slates, "slates"), listed("scores", scores, "(R, n) scores, one a slate")
    if len(given[0]) != len(given[1]):
        raise UsageError(f"{len(given[1])} arrays of scores for {len(given[0])} slates; one each")
    return [(slate, _fitting(slate, rows)) for slate, rows in zip(*given, strict=True)]


def _fitting(slate: Slate, scores: ArrayLike) -> FloatArray:
    if not isinstance(slate, Slate):
        raise UsageError(f"quality is of a Slate, got {came(slate)}")
    rows = as_rows(scores)
    if rows.shape[1] != len(slate):
        raise UsageError(
            f"slate {slate.id!r}: scores of shape {rows.shape} for {len(slate)} candidates"
        )
    return rows


def quality(name: str, slate: Slate, scores: ArrayLike) -> FloatArray:
    """Return the quality of each row of one slate.

    Args:
        name: a measure in ir-measures' grammar.
        slate: the slate.
        scores: (R, n).

    Returns:
        (R,) as `ranking_quality`.

    Raises:
        UsageError: as `ranking_quality`.
    """
    return ranking_quality([name], [slate], [scores])[name][0]


def set_quality(
    kind: SetKind, slate: Slate, scores: ArrayLike, threshold: float, *, rel: int = 1
) -> FloatArray:
    """Return F1, precision or recall of the set each row retains.

    It judges the filter, not the first stage: only the slate's candidates count
    as relevant. A row that retains nothing counts 0, as does a slate without
    anything relevant.

    Args:
        kind: "F1", "SetP" or "SetR".
        slate: the slate.
        scores: (R, n); a missing score is not retained.
        threshold: lowest score that is retained.
        rel: lowest grade that counts as relevant.

    Returns:
        (R,) in [0, 1]; NaN for rows without any score and for a slate without grades.

    Raises:
        UsageError: unknown kind, `rel` under 1, a threshold that is no number, or scores
            that do not fit the slate.
    """
    choice("kind of set quality", kind, _SETS)
    rows, threshold, rel = _fitting(slate, scores), cut_value("threshold", threshold), whole("rel", rel)
    values = np.full(len(rows), np.nan)
    scored = np.flatnonzero(~np.isnan(rows).all(axis=1))
    if slate.grades is None or not scored.size:
        return values
    judged = _judged(slate, everywhere=False)
    qrels = {str(row): judged for row in scored}
    run = {str(row): {str(c): 1.0 for c in np.flatnonzero(rows[row] >= threshold)} for row in scored}
    found = _evaluate(
        [f"{_SETS[kind]}(rel={rel})"], qrels, {q: kept for q, kept in run.items() if kept}
    )
    for row in scored:
        values[row] = next(iter(found.values()))[str(row)]
    return values


def ungraded(slates: Iterable[Slate], *, rel: int = 1) -> tuple[int, int]:
    """Count the slates whose quality is undefined or 0 whatever the scores.

    Args:
        slates: the slates.
        rel: lowest grade that counts as relevant.

    Returns:
        Slates without grades (undefined), slates with grades but nothing relevant (0).

    Raises:
        UsageError: no list of slates, or `rel` under 1.
    """
    rel = whole("rel", rel)
    without = nothing = 0
    for slate in listed("slates", slates, "slates"):
        if not isinstance(slate, Slate):
            raise UsageError(f"slates must hold Slates, got {came(slate)}")
        if slate.grades is None:
            without += 1
        elif not any(grade >= rel for grade in slate.grades.values()):
            nothing += 1
    return without, nothing
