"""Slates put together from a run, judgments, texts and questions."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from types import MappingProxyType

import numpy as np

from evenhand.data.report import ReadReport, Slates, name_some
from evenhand.data.shapes import Order, seeded_order
from evenhand.data.texts import read_corpus, read_queries
from evenhand.data.trec import Run, read_qrels, read_run
from evenhand.errors import InputError, UsageError
from evenhand.seeds import tie_ranks
from evenhand.types import Candidate, Slate

Ranking = Mapping[str, float] | Sequence[tuple[str, float]]
Gold = tuple[tuple[str, ...], str | None]
_EMPTY: Mapping[str, Gold] = MappingProxyType({})


@dataclass(frozen=True)
class Parts:
    """What slates are made of, by query id.

    Attributes:
        lists: candidate ids in canonical order.
        grades: judgments, or None where nothing is judged.
        texts: candidates by id. queries: query texts.
        gold: (answers, verdict) where there is one.
        order: "seeded" replaces the order of `lists`.
    """

    lists: Mapping[str, Sequence[str]]
    grades: Mapping[str, Mapping[str, int]] | None
    texts: Mapping[str, Candidate]
    queries: Mapping[str, str]
    gold: Mapping[str, Gold] = field(default_factory=dict)
    order: Order = "file"

    def slates(self, report: ReadReport) -> Iterator[Slate]:
        """Yield one slate a query, in the order of `lists`."""
        for query, ids in self.lists.items():
            answers, verdict = self.gold.get(query, ((), None))
            grades = None if self.grades is None else self.grades.get(query, {})
            candidates = tuple(self.texts[key] for key in ids)
            slate = Slate(query, self.queries[query], candidates, grades, answers, verdict)
            if self.order == "seeded":
                report.add("seeded_order", query)
                slate = seeded_order(slate)
            yield slate


def from_trec(
    run: str | Path | Mapping[str, Ranking],
    qrels: str | Path | Mapping[str, Mapping[str, int]] | None,
    corpus: str | Path | Mapping[str, Candidate | str],
    queries: str | Path | Mapping[str, str],
    depth: int | None = 100,
    *,
    exclude: Mapping[str, Collection[str]] | None = None,
    duplicates: str = "error",
) -> Slates:
    """Make slates from a run, its judgments and the texts.

    Queries of the run without judgments are left out and listed; judged queries
    that the run lacks stay, without candidates, so that they count as 0. Both
    are in `.report` and give one InputWarning. All judgments of a query go with
    its slate, those of candidates outside the depth too.

    Args:
        run: a TREC file, or query id to candidate scores (a mapping, or pairs).
            Canonical order is by score; see `read_run` for ties.
        qrels: a TREC or BEIR file, or query id to grades; None = no grades.
        corpus: a corpus file, of which only the needed texts are held, or
            candidates (or texts) by id.
        queries: a query file, or texts by id.
        depth: most candidates a slate, counted after exclusions; None = all.
        exclude: by query id, candidate ids that are dropped, grades too.
        duplicates: as in `read_run`.

    Returns:
        The slates: queries in the order of the run, then those it lacks.

    Raises:
        UsageError: depth below 1.
        InputError: run and qrels share no query, or texts are missing (named).
    """
    ranked = read_run(run, duplicates=duplicates) if isinstance(run, (str, Path)) else _ranked(run)
    judged = read_qrels(qrels) if isinstance(qrels, (str, Path)) else qrels
    report = ReadReport()
    for read in (ranked, judged):
        report = report.merge(getattr(read, "report", ReadReport()))
    lists = {query: [key for key, _ in pairs] for query, pairs in ranked.items()}
    place = str(run) if isinstance(run, (str, Path)) else "run"
    return assemble(
        lists, judged, corpus, queries, depth=depth, exclude=exclude, report=report, place=place
    )


def assemble(
    lists: Mapping[str, Sequence[str]],
    grades: Mapping[str, Mapping[str, int]] | None,
    corpus: str | Path | Mapping[str, Candidate | str],
    queries: str | Path | Mapping[str, str],
    *,
    depth: int | None = 100,
    exclude: Mapping[str, Collection[str]] | None = None,
    gold: Mapping[str, Gold] = _EMPTY,
    order: Order = "file",
    report: ReadReport | None = None,
    place: str = "run",
) -> Slates:
    """Make slates from candidate ids in canonical order; otherwise as `from_trec`."""
    if depth is not None and (not isinstance(depth, int) or depth < 1):
        raise UsageError(f"depth must be at least 1, or None for all; got {depth!r}")
    report = ReadReport() if report is None else report
    lists = _agree(lists, grades, report, place)
    lists, grades = _without(lists, grades, exclude or {}, report)
    lists = {query: list(ids)[:depth] for query, ids in lists.items()}
    report.warn(place, ("query_not_judged", "query_not_retrieved"))
    texts = _texts(lists, corpus)
    named = read_queries(queries) if isinstance(queries, (str, Path)) else queries
    _require([query for query in lists if query not in named], len(lists), "queries", queries)
    return Slates(Parts(lists, grades, texts, named, gold, order).slates, report)


def _ranked(run: Mapping[str, Ranking]) -> Mapping[str, Sequence[tuple[str, float]]]:
    """Order a run in memory by score, ties by hash; a Run has been ordered as it was read."""
    if isinstance(run, Run):
        return run
    ranked = {}
    for query, held in run.items():
        pairs = list(held.items()) if isinstance(held, Mapping) else list(held)
        ids = [key for key, _ in pairs]
        if len(set(ids)) < len(ids):
            twice = sorted({key for key in ids if ids.count(key) > 1})
            raise InputError(
                f"run: candidates {twice} of query {query!r} stand twice; ids must be unique"
            )
        for key, score in pairs:
            if not isinstance(score, Real) or not math.isfinite(score):
                raise InputError(f"run: score {score!r} of {key!r} for query {query!r} is not finite")
        scores = np.array([score for _, score in pairs], dtype=np.float64)
        order = np.lexsort((tie_ranks(query, ids), -scores))
        ranked[query] = [pairs[i] for i in order]
    return ranked


def _agree(
    lists: Mapping[str, Sequence[str]],
    grades: Mapping[str, Mapping[str, int]] | None,
    report: ReadReport,
    place: str,
) -> dict[str, Sequence[str]]:
    """Return the lists of the judged queries, empty ones for those that were not retrieved."""
    if grades is None:
        return dict(lists)
    kept = {query: ids for query, ids in lists.items() if query in grades}
    if not kept:
        raise InputError(
            f"{place} and qrels share no query: the run has {name_some(lists, len(lists)) or 'none'}; "
            f"the qrels have {name_some(grades, len(grades)) or 'none'}. Are both of one collection?"
        )
    for query in lists:
        if query not in grades:
            report.add("query_not_judged", query)
    for query in grades:
        if query not in lists:
            report.add("query_not_retrieved", query)
            kept[query] = ()
    return kept


def _without(
    lists: Mapping[str, Sequence[str]],
    grades: Mapping[str, Mapping[str, int]] | None,
    exclude: Mapping[str, Collection[str]],
    report: ReadReport,
) -> tuple[dict[str, Sequence[str]], Mapping[str, Mapping[str, int]] | None]:
    """Drop the excluded pairs from candidates and grades."""
    kept: dict[str, Sequence[str]] = {}
    for query, ids in lists.items():
        out = exclude.get(query, ())
        kept[query] = [key for key in ids if key not in out]
        for key in ids:
            if key in out:
                report.add("excluded", f"{query}/{key}")
    if grades is None or not exclude:
        return kept, grades
    return kept, {
        query: {key: grade for key, grade in held.items() if key not in exclude.get(query, ())}
        for query, held in grades.items()
    }


def _texts(
    lists: Mapping[str, Sequence[str]], corpus: str | Path | Mapping[str, Candidate | str]
) -> dict[str, Candidate]:
    needed = dict.fromkeys(key for ids in lists.values() for key in ids)
    texts: dict[str, Candidate] = {}
    if isinstance(corpus, (str, Path)):
        texts = read_corpus(corpus, needed.keys())
    else:
        for key in needed:
            if key in corpus:
                value = corpus[key]
                texts[key] = value if isinstance(value, Candidate) else Candidate(key, value)
    _require([key for key in needed if key not in texts], len(needed), "candidates", corpus)
    return texts


def _require(missing: Sequence[str], total: int, what: str, source: object) -> None:
    if not missing:
        return
    path = str(source) if isinstance(source, (str, Path)) else None
    raise InputError(
        f"{len(missing)} of {total} {what} have no text here: {name_some(missing, len(missing))}. "
        "Give their texts, or take them out of the run and the qrels.",
        path=path,
    )
