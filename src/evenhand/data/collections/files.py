"""Files that appear when they are complete, and one writer at a time."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from evenhand.errors import UsageError

if sys.platform != "win32":
    import fcntl


@contextlib.contextmanager
def writing(path: Path) -> Iterator[IO[str]]:
    """Give a text file to write; it stands under its name once the block ends without an error.

    A path that ends in `.gz` is compressed. The same text gives the same bytes.

    Raises:
        UsageError: the file cannot be written there.
    """
    unfinished = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        plain = unfinished.open("wb")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror}); name another folder") from None
    with contextlib.ExitStack() as held:
        held.enter_context(plain)
        binary: Any = plain
        if path.suffix == ".gz":
            packed = gzip.GzipFile(filename="", fileobj=plain, mode="wb", mtime=0)
            binary = held.enter_context(packed)
        text = io.TextIOWrapper(binary, encoding="utf-8", errors="backslashreplace", newline="\n")
        held.callback(text.detach)
        yield text
        text.flush()
    unfinished.replace(path)


def write_objects(path: Path, records: Iterable[Mapping[str, Any]]) -> int:
    """Write JSON objects, one a line, and return how many."""
    count = 0
    with writing(path) as handle:
        for record in records:
            handle.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")
            count += 1
    return count


@contextlib.contextmanager
def alone(path: Path, what: str) -> Iterator[None]:
    """Hold a lock file inside a block.

    Raises:
        UsageError: another process holds it, or it cannot be made.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror}); name another folder") from None
    try:
        try:
            if sys.platform != "win32":
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(f"{what} is being fetched by another process; wait for it") from None
        yield
    finally:
        os.close(descriptor)
