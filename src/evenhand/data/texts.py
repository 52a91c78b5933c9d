"""The parts of a collection folder: texts, questions, candidate lists, exclusions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from evenhand.data.lines import Json, read_json_lines, read_lines
from evenhand.data.shapes import as_id
from evenhand.errors import InputError
from evenhand.types import Candidate

_ID_KEYS = ("_id", "id", "docid", "qid", "query_id")


def _id_of(record: Mapping[str, Any]) -> str:
    for key in _ID_KEYS:
        if key in record:
            return as_id(record[key], key)
    raise InputError(
        f"a record without an id; one of {list(_ID_KEYS)} is needed, it has {sorted(record)}"
    )


def _text_of(record: Mapping[str, Any], keys: tuple[str, ...]) -> Json:
    for key in keys:
        if key in record:
            return record[key]
    raise InputError(f"a record without a text; one of {list(keys)} is needed, it has {sorted(record)}")


def _is_tsv(path: str | Path) -> bool:
    return str(path).removesuffix(".gz").endswith((".tsv", ".txt"))


def _entries(path: str | Path, keys: tuple[str, ...]) -> Iterator[tuple[int, str, Any, Any]]:
    """Yield (line number, id, text, title) of a JSONL or two-column TSV file."""
    if _is_tsv(path):
        for number, line in read_lines(path):
            key, tab, text = line.partition("\t")
            if not tab:
                raise InputError("a line must be: id, tab, text", path=str(path), line=number)
            yield number, key, text, ""
        return
    for number, record in read_json_lines(path):
        try:
            key, text = _id_of(record), _text_of(record, keys)
        except InputError as error:
            raise InputError(str(error), path=str(path), line=number) from None
        yield number, key, text, record.get("title") or ""


def iter_corpus(path: str | Path, ids: Collection[str] | None = None) -> Iterator[Candidate]:
    """Yield the texts of a corpus file, or those of some ids, in file order.

    Args:
        path: JSONL {_id, title, text} (BEIR) or TSV (id, tab, text); `.gz` too.
        ids: the ids to yield, a set for speed; None = all.

    Raises:
        InputError: a bad line, or a yielded id that stands twice (both lines
            are named).
    """
    first_line: dict[str, int] = {}
    for number, key, text, title in _entries(path, ("text", "contents")):
        if ids is not None and key not in ids:
            continue
        if key in first_line:
            raise InputError(
                f"id {key!r} stands in line {first_line[key]} already; ids must be unique",
                path=str(path),
                line=number,
            )
        first_line[key] = number
        try:
            yield Candidate(key, text, title)
        except InputError as error:
            raise InputError(str(error), path=str(path), line=number) from None


def read_corpus(path: str | Path, ids: Collection[str] | None = None) -> dict[str, Candidate]:
    """Read a corpus file into memory: `iter_corpus` by id."""
    return {candidate.id: candidate for candidate in iter_corpus(path, ids)}


def read_queries(path: str | Path) -> dict[str, str]:
    """Read query texts by id: JSONL {_id, text} or TSV (id, tab, text); `.gz` too.

    Raises:
        InputError: a bad line, or an id that stands twice (both lines are named).
    """
    queries: dict[str, str] = {}
    lines: dict[str, int] = {}
    for number, key, text, _ in _entries(path, ("text", "query", "question")):
        if key in queries:
            message = f"query id {key!r} stands in line {lines[key]} already; ids must be unique"
            raise InputError(message, path=str(path), line=number)
        if not isinstance(text, str):
            raise InputError(f"text of query {key!r} must be a string", path=str(path), line=number)
        queries[key], lines[key] = text, number
    return queries


def read_candidates(path: str | Path) -> dict[str, list[str]]:
    """Read candidate ids by query id: JSONL {_id, candidates}; order as in the file.

    Raises:
        InputError: a bad line, a query or a candidate of a query that stands twice.
    """
    lists: dict[str, list[str]] = {}
    for number, record in read_json_lines(path):
        try:
            key, held = _id_of(record), record.get("candidates")
            if not isinstance(held, list):
                raise InputError(f"candidates of {key!r} must be a list of ids, got {held!r}")
            ids = [as_id(value, "candidate id") for value in held]
            if len(set(ids)) < len(ids):
                twice = sorted({name for name in ids if ids.count(name) > 1})
                raise InputError(f"candidates {twice} of query {key!r} stand twice; ids must be unique")
            if key in lists:
                raise InputError(f"query id {key!r} stands twice; ids must be unique")
        except InputError as error:
            raise InputError(str(error), path=str(path), line=number) from None
        lists[key] = ids
    return lists


def read_pairs(path: str | Path) -> dict[str, set[str]]:
    """Read an exclusion list, two columns parted by a tab: query id to candidate ids.

    A first line `query-id corpus-id` is a header.

    Raises:
        InputError: a line without two columns.
    """
    pairs: dict[str, set[str]] = {}
    for number, line in read_lines(path):
        fields = line.split("\t")
        if len(fields) != 2 or not all(fields):
            raise InputError("a line must be: query id, tab, id", path=str(path), line=number)
        if number == 1 and [field.lower() for field in fields] == ["query-id", "corpus-id"]:
            continue
        pairs.setdefault(fields[0], set()).add(fields[1])
    return pairs
