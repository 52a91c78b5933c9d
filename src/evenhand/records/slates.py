"""The slates of a run as one JSONL file, written and compared as a stream."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import BinaryIO

from evenhand.errors import InputError, ResumeError
from evenhand.types import Slate, slate_from_dict, slate_to_dict

NAME = "slates.jsonl"


@dataclass(frozen=True, slots=True)
class SlatesSummary:
    """Count and content hash of a stream of slates."""

    count: int
    hash: str


def to_line(slate: Slate) -> bytes:
    """Return a slate as one ASCII line of JSON, grades by id, so that equal slates give equal bytes."""
    record = slate_to_dict(slate)
    if "grades" in record:
        record["grades"] = dict(sorted(record["grades"].items()))
    return json.dumps(record, ensure_ascii=True).encode("ascii") + b"\n"


def _lines(slates: Iterable[Slate]) -> Iterator[bytes]:
    seen: dict[str, int] = {}
    for index, slate in enumerate(slates):
        if not isinstance(slate, Slate):
            raise InputError(f"item {index} of the slates is a {type(slate).__name__}, not a Slate")
        if slate.id in seen:
            raise InputError(
                f"slate id {slate.id!r} comes twice (slates {seen[slate.id]} and {index}, from 0); "
                "records are kept by id, so ids must be unique"
            )
        seen[slate.id] = index
        yield to_line(slate)


def write_slates(path: Path, slates: Iterable[Slate]) -> SlatesSummary:
    """Write slates to a file one by one, reading the input once.

    Raises:
        InputError: two slates share an id, or an item is no Slate.
    """
    digest, count = hashlib.sha256(), 0
    with path.open("wb") as stream:
        for line in _lines(slates):
            stream.write(line)
            digest.update(line)
            count += 1
    return SlatesSummary(count, digest.hexdigest())


def slate_differences(path: Path, slates: Iterable[Slate], expected_hash: str) -> list[str]:
    """Compare a stream of slates with a written file; return what differs, [] when nothing.

    Raises:
        ResumeError: the file itself is not what the run wrote.
    """
    on_disk = hashlib.sha256()
    first: tuple[int, bytes | None, bytes | None] | None = None
    with _opened(path) as stream:
        for index, (was, line) in enumerate(zip_longest(stream, _lines(slates))):
            on_disk.update(was or b"")
            if was != line and first is None:
                first = index, was, line
    if on_disk.hexdigest() != expected_hash:
        raise ResumeError(
            "the slates of this run were changed or damaged; restore the file or start a new folder",
            path=str(path),
        )
    if first is None:
        return []
    index, was, line = first
    return [f"slates: the first difference is at slate {index} (from 0): {_name(was, line)}"]


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise ResumeError(
            f"cannot be read ({error.strerror}); repeat the run with the same slates to restore it",
            path=str(path),
        ) from None


def _name(was: bytes | None, line: bytes | None) -> str:
    if was is None:
        return "the folder has no more slates, the input has"
    if line is None:
        return "the input ends here, the folder has more slates"
    before, now = json.loads(was), json.loads(line)
    if before["id"] != now["id"]:
        return f"id {before['id']!r} in the folder, {now['id']!r} now"
    parts = [key for key in sorted(before.keys() | now.keys()) if before.get(key) != now.get(key)]
    return f"{before['id']!r} differs in {', '.join(parts)}"


def part_offsets(path: Path, part_size: int) -> list[int]:
    """Return the byte offset at which each part of `part_size` slates begins."""
    offsets, position = [], 0
    with _opened(path) as stream:
        for index, line in enumerate(stream):
            if index % part_size == 0:
                offsets.append(position)
            position += len(line)
    return offsets


def read_slates(path: Path, offset: int = 0, count: int | None = None) -> Iterator[Slate]:
    """Yield `count` slates (all when None) from a byte offset on.

    Raises:
        ResumeError: a line is not a slate.
    """
    with _opened(path) as stream:
        stream.seek(offset)
        for index, line in enumerate(stream):
            if count is not None and index >= count:
                return
            yield _parse(path, line)


def find_slate(path: Path, slate_id: str) -> Slate | None:
    """Return the slate with an id, or None; other lines are not parsed."""
    start = b'{"id": ' + json.dumps(slate_id, ensure_ascii=True).encode("ascii") + b","
    with _opened(path) as stream:
        for line in stream:
            if line.startswith(start):
                return _parse(path, line)
    return None


def _parse(path: Path, line: bytes) -> Slate:
    try:
        return slate_from_dict(json.loads(line))
    except ValueError as error:
        raise ResumeError(f"damaged slate ({error}); restore the file", path=str(path)) from None
