"""TREC runs and judgments.

A run's canonical order is by score, highest first; ties by the rank column, then
by the tie hash of the ids, never by the order of the lines.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, NoReturn

from evenhand.data.lines import read_lines
from evenhand.data.report import ReadReport
from evenhand.errors import InputError, UsageError
from evenhand.seeds import tie_ranks

DUPLICATES = ("error", "max")
_GAP = re.compile(r"[ \t]+")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
# More digits than any rank or grade has: Python refuses to read very long numbers.
_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_HEADER = ["query-id", "corpus-id", "score"]


class Run(dict[str, list[tuple[str, float]]]):
    """Query id to its (candidate id, score) pairs in canonical order.

    Attributes:
        report: what was noticed while reading.
    """

    def __init__(
        self,
        rankings: Mapping[str, Iterable[tuple[str, float]]] | None = None,
        report: ReadReport | None = None,
    ) -> None:
        super().__init__({key: list(pairs) for key, pairs in (rankings or {}).items()})
        self.report = report or ReadReport()


class Qrels(dict[str, dict[str, int]]):
    """Query id to the integer grade by candidate id.

    Attributes:
        report: what was noticed while reading.
    """

    def __init__(
        self, grades: Mapping[str, Mapping[str, int]] | None = None, report: ReadReport | None = None
    ) -> None:
        super().__init__({key: dict(held) for key, held in (grades or {}).items()})
        self.report = report or ReadReport()


class _Line(NamedTuple):
    score: float
    rank: int
    number: int


def _fields(line: str, columns: int) -> list[str]:
    """Return the fields of a line; ids may hold spaces where tabs part the fields."""
    by_tab = line.split("\t")
    if len(by_tab) == columns:
        return [field.strip(" ") for field in by_tab]
    return _GAP.split(line.strip(" \t"))


def _run_line(line: str) -> tuple[str, str, int, float]:
    fields = _fields(line, 6)
    if len(fields) != 6:
        raise InputError(f"{len(fields)} fields; a run line is: query Q0 candidate rank score tag")
    query, _, candidate, rank, score, _ = fields
    if not query or not candidate:
        raise InputError("the query id or the candidate id is empty")
    if not _INTEGER.fullmatch(rank):
        raise InputError(f"rank {_brief(rank)} is not an integer of 18 digits at most")
    if score.lower().lstrip("+-") in ("nan", "inf", "infinity"):
        raise InputError(f"score {score!r} is not a finite number; leave the line out if there is none")
    if not _NUMBER.fullmatch(score):
        raise InputError(f"score {_brief(score)} is not a number")
    if not math.isfinite(float(score)):
        raise InputError(f"score {_brief(score)} is too large for a float")
    return query, candidate, int(rank), float(score)


def _brief(field: str) -> str:
    return repr(field if len(field) <= 40 else field[:37] + "...")


def _ranked(query: str, lines: Mapping[str, _Line], report: ReadReport) -> list[tuple[str, float]]:
    ids = list(lines)
    ties = dict(zip(ids, tie_ranks(query, ids), strict=True))
    ids.sort(key=lambda key: (-lines[key].score, lines[key].rank, ties[key]))
    if any(lines[before].rank > lines[after].rank for before, after in pairwise(ids)):
        report.add("rank_contradicts_score", query)
    return [(key, lines[key].score) for key in ids]


def read_run(path: str | Path, *, duplicates: str = "error") -> Run:
    """Read a TREC run: six fields a line, parted by spaces or tabs.

    Args:
        path: the file, `.gz` too.
        duplicates: what to do when a query and candidate come twice: "error",
            or "max" to keep the higher score.

    Returns:
        Queries in the order of their first lines, candidates by score, highest
        first; ties by the rank column, then by the tie hash. A rank column that
        contradicts the scores is reported and warned about; the scores count.

    Raises:
        UsageError: `duplicates` is unknown.
        InputError: a line without six fields, a rank that is not an integer, a
            score that is not finite, or a repeated line; file and line are named.
    """
    if duplicates not in DUPLICATES:
        raise UsageError(f"unknown duplicates {duplicates!r}; known are {list(DUPLICATES)}")
    report = ReadReport()
    read: dict[str, dict[str, _Line]] = {}
    for number, line in read_lines(path):
        try:
            query, candidate, rank, score = _run_line(line)
        except InputError as error:
            raise InputError(str(error), path=str(path), line=number) from None
        held = read.setdefault(query, {})
        new = _Line(score, rank, number)
        if candidate in held:
            if duplicates == "error":
                _repeated(path, number, query, candidate, held[candidate].number)
            report.add("repeated_line", f"{query}/{candidate}")
            new = max(held[candidate], new, key=lambda entry: (entry.score, -entry.rank))
        held[candidate] = new
    run = Run({query: _ranked(query, held, report) for query, held in read.items()}, report)
    report.warn(str(path), ("rank_contradicts_score", "repeated_line"))
    return run


def _repeated(path: str | Path, number: int, query: str, candidate: str, first: int) -> NoReturn:
    raise InputError(
        f"query {query!r} and candidate {candidate!r} stand in line {first} already; "
        "remove one, or read with duplicates='max' to keep the higher score",
        path=str(path),
        line=number,
    )


def _judgment(line: str, columns: int) -> tuple[str, str, int]:
    fields = _fields(line, columns)
    if len(fields) != columns:
        form = (
            "query 0 candidate grade" if columns == 4 else "query-id, corpus-id, score, parted by tabs"
        )
        raise InputError(f"{len(fields)} fields; a line of this file is: {form}")
    query, candidate, grade = fields[0], fields[-2], fields[-1]
    if not query or not candidate:
        raise InputError("the query id or the candidate id is empty")
    if not _INTEGER.fullmatch(grade):
        raise InputError(f"grade {_brief(grade)} is not an integer of 18 digits at most")
    return query, candidate, int(grade)


def read_qrels(path: str | Path) -> Qrels:
    """Read judgments: TREC (query 0 candidate grade) or BEIR (tabs, three columns, header).

    The first line tells which. Negative grades are kept; as gains they are 0.

    Returns:
        Queries in the order of their first lines. A judgment that stands twice
        with one grade is reported and warned about.

    Raises:
        InputError: a bad line, a grade that is not an integer, or two different
            grades of one pair; file and line (or both lines) are named.
    """
    report = ReadReport()
    qrels = Qrels(report=report)
    lines: dict[tuple[str, str], int] = {}
    columns = 0
    for number, line in read_lines(path):
        if not columns:
            columns = 3 if line.count("\t") == 2 else 4
            if [field.lower() for field in _fields(line, columns)] == _HEADER:
                continue
        try:
            query, candidate, grade = _judgment(line, columns)
        except InputError as error:
            raise InputError(str(error), path=str(path), line=number) from None
        first = lines.setdefault((query, candidate), number)
        if first != number:
            _compare(path, number, (query, candidate), grade, first, qrels)
        qrels.setdefault(query, {})[candidate] = grade
    report.warn(str(path), ("repeated_judgment",))
    return qrels


def _compare(
    path: str | Path, number: int, pair: tuple[str, str], grade: int, first: int, qrels: Qrels
) -> None:
    query, candidate = pair
    before = qrels[query][candidate]
    if before != grade:
        raise InputError(
            f"query {query!r} and candidate {candidate!r} have grade {grade} here "
            f"and grade {before} in line {first}; keep one",
            path=str(path),
            line=number,
        )
    qrels.report.add("repeated_judgment", f"{query}/{candidate}")
