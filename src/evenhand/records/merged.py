"""The merged tables of a run: written part by part, read slate by slate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from evenhand.errors import InputError, ResumeError
from evenhand.records.files import replacing
from evenhand.records.tables import ROWS, SCORES, Recorded, recorded, rows_table, scores_table
from evenhand.types import Slate

SCORES_NAME = "scores.parquet"
ROWS_NAME = "rows.parquet"
_LOOK_AHEAD = 16


def open_writer(path: Path, schema: pa.Schema) -> Any:
    """Open a parquet file for writing, with everything fixed that shapes its bytes."""
    return pq.ParquetWriter(
        path.absolute(),  # a relative path with a colon would be read as a URI
        schema,
        version="2.6",
        compression="zstd",
        compression_level=3,
        write_page_checksum=True,
    )


def write_table(path: Path, table: pa.Table) -> None:
    """Write one table as one row group, whole or not at all."""
    with replacing(path) as temporary, open_writer(temporary, table.schema) as writer:
        writer.write_table(table, row_group_size=max(1, len(table)))


def read_table(path: Path, **options: Any) -> pa.Table:
    """Read a table of a run, checking its pages.

    Raises:
        ResumeError: the file is missing or damaged.
    """
    try:
        return pq.read_table(path.absolute(), page_checksum_verification=True, **options)
    except (OSError, pa.ArrowException) as error:
        raise _damaged(path, error) from None


def _damaged(path: Path, error: Exception) -> ResumeError:
    return ResumeError(
        f"cannot be read ({error}); delete it and resume the run with the same settings", path=str(path)
    )


def merge_parts(folder: Path, parts: Iterable[tuple[pa.Table, list[Slate]]]) -> None:
    """Write scores and rows from the parts in slate order, one row group a part."""
    with ExitStack() as stack:
        paths = [stack.enter_context(replacing(folder / name)) for name in (SCORES_NAME, ROWS_NAME)]
        scores = stack.enter_context(open_writer(paths[0], SCORES))
        rows = stack.enter_context(open_writer(paths[1], ROWS))
        for part, slates in parts:
            table = scores_table(part, slates)
            scores.write_table(table, row_group_size=max(1, len(table)))
            rows.write_table(rows_table(part), row_group_size=max(1, len(part)))


class _Reader:
    """Hands out consecutive lines of a parquet file, one row group in memory."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._path = path
        try:
            self._file = pq.ParquetFile(path.absolute(), page_checksum_verification=True)
        except (OSError, pa.ArrowException) as error:
            raise _damaged(path, error) from None
        if self._file.schema_arrow.names != schema.names:
            self._file.close()
            raise _damaged(path, ValueError("it has other columns"))
        self._group = 0
        self._buffer = self._file.schema_arrow.empty_table()

    def take(self, count: int) -> pa.Table:
        """Return the next `count` lines, fewer at the end."""
        while len(self._buffer) < count and self._more():
            pass
        taken, self._buffer = self._buffer.slice(0, count), self._buffer.slice(count)
        return taken

    def take_slate(self, slate_id: str) -> pa.Table:
        """Return the next lines of one slate."""
        # A few lines at a time: the buffer may hold many slates, and is read for each.
        count, step = 0, _LOOK_AHEAD
        while True:
            ids = self._buffer.column("slate").slice(count, step).to_pylist()
            same = next((i for i, other in enumerate(ids) if other != slate_id), len(ids))
            count += same
            if same < len(ids) or not (ids or self._more()):
                return self.take(count)
            step *= 2

    def _more(self) -> bool:
        if self._group >= self._file.num_row_groups:
            return False
        try:
            table = self._file.read_row_group(self._group)
        except (OSError, pa.ArrowException) as error:
            raise _damaged(self._path, error) from None
        self._group += 1
        self._buffer = pa.concat_tables([self._buffer, table]) if len(self._buffer) else table
        return True

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_recorded(folder: Path, slates: Iterable[Slate]) -> Iterator[Recorded]:
    """Yield each slate's record in slate order, a row group in memory at a time."""
    with ExitStack() as stack:
        scores = _Reader(folder / SCORES_NAME, SCORES)
        rows = _Reader(folder / ROWS_NAME, ROWS)
        stack.callback(scores.close)
        stack.callback(rows.close)
        for slate in slates:
            lines = rows.take_slate(slate.id)
            yield recorded(slate, lines, scores.take(len(lines) * len(slate)))


def find_recorded(folder: Path, slate: Slate) -> Recorded:
    """Return one slate's record, reading only the row groups that may hold it.

    Raises:
        InputError: the run has no record of it.
    """
    filters = [("slate", "==", slate.id)]
    rows = read_table(folder / ROWS_NAME, filters=filters)
    if not len(rows):
        raise InputError(f"no rows of slate {slate.id!r}", path=str(folder / ROWS_NAME))
    return recorded(slate, rows, read_table(folder / SCORES_NAME, filters=filters))
