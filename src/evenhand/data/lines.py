"""Lines and JSON objects of a text file, each with its place.

A byte-order mark, CRLF line ends and blank lines are tolerated; anything that
cannot be read as it was written is an error that names file and line. Only a
line feed ends a line, so other separators may stand inside a text.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, cast

from evenhand.errors import InputError

Json = Any  # a decoded value of any kind; its reader checks it
_BOM = b"\xef\xbb\xbf"


def require_file(path: Path) -> None:
    """Refuse a path that is no file.

    Raises:
        InputError: it is a folder or does not exist.
    """
    if os.path.isdir(path):
        raise InputError("is a folder, a file is needed", path=str(path))
    if not os.path.exists(path):
        raise InputError("no such file", path=str(path))


def _open(path: Path) -> BinaryIO:
    require_file(path)
    try:
        opener = gzip.open if path.suffix == ".gz" else open
        return cast(BinaryIO, opener(path, "rb"))
    except OSError as error:
        raise InputError(f"cannot be opened: {error.strerror}", path=str(path)) from None


def _raw_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    number = 0
    with _open(path) as handle:
        try:
            for number, raw in enumerate(handle, start=1):
                yield number, raw
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(
                f"the compressed data is damaged or cut after this line ({error}); get the file again",
                path=str(path),
                line=number,
            ) from None
        except OSError as error:
            raise InputError(f"cannot be read: {error}", path=str(path), line=number) from None


def _undecodable(path: Path, number: int, raw: bytes, error: UnicodeDecodeError) -> NoReturn:
    if number == 1 and raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        what = "the file looks like UTF-16; save it as UTF-8"
    elif not raw.endswith(b"\n") and error.end == len(raw) and "unexpected end" in error.reason:
        what = "the last line ends inside a character; the file seems cut, write it again"
    else:
        what = f"byte {error.start + 1} of the line is not UTF-8; it is damaged or in another encoding"
    raise InputError(what, path=str(path), line=number) from None


def read_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, text without its line end) of each line that is not blank.

    Args:
        path: a UTF-8 text file; one that ends in `.gz` is decompressed.

    Raises:
        InputError: no such file, damaged compression, or bytes that are not
            UTF-8; names file and line.
    """
    path = Path(path)
    for number, raw in _raw_lines(path):
        if number == 1:
            raw = raw.removeprefix(_BOM)
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            _undecodable(path, number, raw, error)
        line = line.removesuffix("\n").removesuffix("\r")
        if line.strip(" \t"):
            yield number, line


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number; write null for a missing value")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = sorted({key for key in keys if keys.count(key) > 1})
        raise ValueError(f"keys {repeated} stand twice in one object")
    return record


def read_json_lines(path: str | Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield (line number, JSON object) of each line.

    Raises:
        InputError: a line is not a JSON object, holds NaN or infinity, or
            holds a key twice; names file and line.
    """
    for number, line in read_lines(path):
        try:
            record = json.loads(line, parse_constant=_no_constant, object_pairs_hook=_no_repeats)
        except json.JSONDecodeError as error:
            raise InputError(
                f"not valid JSON at column {error.colno}: {error.msg}; the line is damaged or cut",
                path=str(path),
                line=number,
            ) from None
        except (ValueError, RecursionError) as error:
            raise InputError(f"not usable JSON: {error}", path=str(path), line=number) from None
        if not isinstance(record, Mapping):
            raise InputError(
                f"each line must be a JSON object, got {type(record).__name__}",
                path=str(path),
                line=number,
            )
        yield number, record
