"""Slates in JSONL files, a slate a line."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from evenhand.data.lines import read_json_lines, require_file
from evenhand.data.report import ReadReport, Slates
from evenhand.data.shapes import SHAPES, Order, check_order, detect, parse
from evenhand.errors import InputError, UsageError
from evenhand.types import Slate, slate_to_dict


def read_slates(path: str | Path, *, format: str | None = None, order: Order | None = None) -> Slates:
    """Read the slates of a JSONL file (`.gz` too), one at a time.

    Args:
        path: the file.
        format: a key of `SHAPES`: "evenhand" {id, query, candidates, ...},
            "rank_llm" {query: {qid, text}, candidates: [{docid, score, doc}]},
            "tevatron" {query_id, query, positive_passages, negative_passages},
            "qa" {id, question, answers, paragraphs}, "responses" {id, prompt,
            responses, gold}. None recognises it by the first record.
        order: canonical order, "file" or "seeded" (by a hash of the ids). None
            is "file", but "seeded" for the two shapes whose sources list gold
            first, tevatron and responses.

    Returns:
        The slates, read anew at each pass; `.report` holds what was noticed.

    Raises:
        UsageError: an unknown format or order.
        InputError: no such file; while reading: a bad line, or a slate id that
            stands twice (both lines are named).
    """
    if format is not None and format not in SHAPES:
        raise UsageError(f"unknown format {format!r}; known are {sorted(SHAPES)}")
    check_order(order)
    require_file(Path(path))
    return Slates(lambda report: _slates(Path(path), format, order, report))


def _slates(path: Path, shape: str | None, order: Order | None, report: ReadReport) -> Iterator[Slate]:
    first_line: dict[str, int] = {}
    for number, record in read_json_lines(path):
        shape = shape or detect(record)
        try:
            slate = parse(record, shape, order, report)
        except InputError as error:
            raise InputError(f"{error} (read as {shape})", path=str(path), line=number) from None
        if slate.id in first_line:
            raise InputError(
                f"slate id {slate.id!r} stands in line {first_line[slate.id]} already; "
                "ids must be unique",
                path=str(path),
                line=number,
            )
        first_line[slate.id] = number
        yield slate


def _line(slate: Slate) -> bytes:
    record = slate_to_dict(slate)
    try:
        text = json.dumps(record, ensure_ascii=False, allow_nan=False)
        return text.encode("utf-8") + b"\n"
    except UnicodeEncodeError:  # a lone surrogate has no UTF-8 form, but an escape
        return json.dumps(record, ensure_ascii=True, allow_nan=False).encode("ascii") + b"\n"


def _write(handle: BinaryIO, slates: Iterable[Slate]) -> int:
    seen: set[str] = set()
    for index, slate in enumerate(slates):
        if not isinstance(slate, Slate):
            raise InputError(f"item {index} of the slates is a {type(slate).__name__}, not a Slate")
        if slate.id in seen:
            raise InputError(f"slate id {slate.id!r} comes twice; ids must be unique")
        seen.add(slate.id)
        handle.write(_line(slate))
    return len(seen)


def write_slates(path: str | Path, slates: Iterable[Slate]) -> int:
    """Write slates as JSONL, the form that `read_slates` reads back to equal slates.

    The file appears when it is complete; a path that ends in `.gz` is
    compressed. The same slates give the same bytes.

    Returns:
        How many slates were written.

    Raises:
        InputError: a slate id comes twice; no file is left.
        UsageError: the file cannot be written there.
    """
    path = Path(path)
    unfinished = path.parent / f"{path.name}.{os.getpid()}.part"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with unfinished.open("wb") as plain:
            if path.suffix == ".gz":
                with gzip.GzipFile(filename="", fileobj=plain, mode="wb", mtime=0) as packed:
                    count = _write(cast(BinaryIO, packed), slates)
            else:
                count = _write(plain, slates)
        unfinished.replace(path)
    except OSError as error:
        # An error with another file's name comes from where the slates are read.
        if error.filename not in (None, str(unfinished), str(path.parent)):
            raise
        raise UsageError(
            f"{path}: cannot be written ({error.strerror}); name a file in a folder that can be written"
        ) from None
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
    return count
