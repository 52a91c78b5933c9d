"""Slates from rows: Hugging Face datasets, or any iterable of mappings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.data.lines import Json
from evenhand.data.report import ReadReport, Slates
from evenhand.data.shapes import Order, as_id, check_order, seeded_order
from evenhand.errors import InputError, UsageError
from evenhand.types import Candidate, Slate


@dataclass(frozen=True, slots=True)
class _Columns:
    query: str
    candidates: str
    id: str | None
    ids: str | None
    titles: str | None
    grades: str | None
    answers: str | None
    verdict: str | None


def from_rows(
    rows: Iterable[Mapping[str, Any]],
    *,
    query: str = "query",
    candidates: str = "candidates",
    id: str | None = None,
    ids: str | None = None,
    titles: str | None = None,
    grades: str | None = None,
    answers: str | None = None,
    verdict: str | None = None,
    order: Order = "file",
) -> Slates:
    """Make one slate a row; the arguments say which column holds what.

    A name may have parts: "passages.text" reads `text` of `passages`, be that an
    object of lists (as datasets gives it) or a list of objects.

    Args:
        rows: for example a `datasets.Dataset`; an iterator can be read once.
        query: the query text.
        candidates: the list of candidate texts.
        id: the slate id; None = "row-0", "row-1", ...
        ids: the list of candidate ids; None = slate id, hyphen, place.
        titles: the list of candidate titles.
        grades: the list of integer (or true/false) grades; null = unjudged.
        answers: a gold answer or a list of them.
        verdict: the gold verdict.
        order: "file", or "seeded" where rows list gold first.

    Returns:
        The slates, streamed.

    Raises:
        UsageError: an unknown order.
        InputError: while reading: a column is missing or of the wrong type or
            length, or a slate id comes twice; the row is named, from 0.
    """
    check_order(order)
    columns = _Columns(query, candidates, id, ids, titles, grades, answers, verdict)
    return Slates(_Rows(rows, columns, order))


class _Rows:
    def __init__(self, rows: Iterable[Mapping[str, Any]], columns: _Columns, order: Order) -> None:
        self._rows, self._columns, self._order = rows, columns, order
        self._spent = False

    def __call__(self, report: ReadReport) -> Iterator[Slate]:
        source = iter(self._rows)
        if source is self._rows:
            if self._spent:
                raise UsageError(
                    "the rows are an iterator that has been read; give a list or a dataset"
                )
            self._spent = True
        first: dict[str, int] = {}
        for number, row in enumerate(source):
            try:
                slate = _slate(row, number, self._columns)
                if slate.id in first:
                    raise InputError(f"slate id {slate.id!r} is that of row {first[slate.id]} already")
            except InputError as error:
                raise InputError(f"row {number}: {error}") from None
            first[slate.id] = number
            if self._order == "seeded":
                report.add("seeded_order", slate.id)
                slate = seeded_order(slate)
            yield slate


def _value(row: Mapping[str, Any], name: str) -> Json:
    value: Any = row
    for part in name.split("."):
        # A dataset gives a list of objects either as such or as an object of lists.
        entries = value if isinstance(value, list) else [value]
        for entry in entries:
            if not isinstance(entry, Mapping) or part not in entry:
                held = sorted(entry) if isinstance(entry, Mapping) else type(entry).__name__
                raise InputError(f"no column {name!r}: {part!r} is not in {held}")
        value = [entry[part] for entry in value] if isinstance(value, list) else value[part]
    return value


def _list(row: Mapping[str, Any], name: str, length: int | None = None) -> list[Any]:
    value = _value(row, name)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (str, Mapping)) or not isinstance(value, Sequence):
        raise InputError(f"column {name!r} must hold a list, got {type(value).__name__}")
    if length is not None and len(value) != length:
        raise InputError(f"column {name!r} holds {len(value)} entries for {length} candidates")
    return list(value)


def _texts(row: Mapping[str, Any], name: str) -> list[Any]:
    texts = _list(row, name)
    if any(isinstance(text, Mapping) for text in texts):
        raise InputError(
            f"column {name!r} holds objects; name the part that is the text: '{name}.text'"
        )
    return texts


def _grades(row: Mapping[str, Any], name: str, keys: Sequence[str]) -> dict[str, int]:
    grades = {}
    for key, grade in zip(keys, _list(row, name, len(keys)), strict=True):
        if grade is not None:
            grades[key] = int(grade) if isinstance(grade, (bool, np.bool_)) else grade
    return grades


def _slate(row: Mapping[str, Any], number: int, columns: _Columns) -> Slate:
    slate_id = f"row-{number}" if columns.id is None else as_id(_value(row, columns.id), columns.id)
    texts = _texts(row, columns.candidates)
    n = len(texts)
    keys = [f"{slate_id}-{place}" for place in range(n)]
    if columns.ids is not None:
        keys = [as_id(key, columns.ids) for key in _list(row, columns.ids, n)]
    titles = [""] * n if columns.titles is None else [t or "" for t in _list(row, columns.titles, n)]
    candidates = tuple(map(Candidate, keys, texts, titles))
    grades = None if columns.grades is None else _grades(row, columns.grades, keys)
    answers: Any = () if columns.answers is None else _value(row, columns.answers)
    answers = (answers,) if isinstance(answers, str) else tuple(answers or ())
    if not all(isinstance(answer, str) for answer in answers):
        raise InputError(f"column {columns.answers!r} must hold strings, got {answers!r}")
    verdict = None if columns.verdict is None else _value(row, columns.verdict)
    return Slate(slate_id, _value(row, columns.query), candidates, grades, answers, verdict)
