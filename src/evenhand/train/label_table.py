"""The file of a teacher's labels: written from the parts of a run, read slate by slate."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from evenhand.errors import InputError, ResumeError
from evenhand.records import RunFolder, merged
from evenhand.records.files import replacing
from evenhand.records.tables import scores_table
from evenhand.types import FloatArray, IntArray, Slate

NAME = "labels.parquet"
LABELS = pa.schema(
    [
        ("slate", pa.string()),
        ("candidate", pa.string()),
        ("order_seed", pa.int64()),
        ("slot", pa.int32()),
        ("window", pa.int32()),
        ("grades", pa.list_(pa.float64())),
        ("score", pa.float64()),
    ]
)
_READ = ("slate", "candidate", "order_seed", "score")


def parts_of(folder: RunFolder) -> Iterator[tuple[pa.Table, list[Slate]]]:
    """Yield the parts of a run of labels, each with its slates, one in memory at a time.

    Raises:
        ResumeError: a part cannot be read, or is of other slates.
    """
    for index in range(folder.n_parts):
        path, slates = folder.part_path(index), folder.part_slates(index)
        table = merged.read_table(path)
        if list(dict.fromkeys(table.column("slate").to_pylist())) != [slate.id for slate in slates]:
            raise ResumeError(
                "holds other slates than this part of the run; delete it to have it labelled again",
                path=str(path),
            )
        yield table, slates


def write_labels(folder: RunFolder, seed: int) -> None:
    """Write the labels of a run from its parts, in slate order, whole or not at all.

    Args:
        folder: all parts are there.
        seed: of the first order; row t of a slate was drawn from seed + t.
    """
    with (
        replacing(folder.path / NAME) as temporary,
        merged.open_writer(temporary, LABELS) as writer,
    ):
        for part, slates in parts_of(folder):
            table = scores_table(part, slates)
            orders = table.column("row").to_numpy().astype(np.int64) + seed
            columns = {name: table.column(name) for name in LABELS.names if name != "order_seed"}
            lines = pa.table({**columns, "order_seed": orders}).select(LABELS.names)
            writer.write_table(lines.cast(LABELS), row_group_size=max(1, len(lines)))


class LabelLines:
    """A file of labels in memory, handed out by slate.

    Attributes:
        slates: ids, as they first come in the file.
    """

    def __init__(self, path: Path) -> None:
        """Read a file.

        Raises:
            InputError: the file is missing, no Parquet, lacks a column or holds nulls in one.
        """
        self._path = str(path)
        table = self._table(path)
        names, slate = _coded(table.column("slate"))
        labelled, candidate = _coded(table.column("candidate"))
        self._code = {name: code for code, name in enumerate(labelled)}
        by_slate = np.argsort(slate, kind="stable")
        self._candidate = candidate[by_slate]
        self._order = table.column("order_seed").to_numpy()[by_slate]
        scores = table.column("score").cast(pa.float64()).fill_null(float("nan"))
        self._score = scores.to_numpy()[by_slate]
        bounds = np.searchsorted(slate[by_slate], np.arange(len(names) + 1))
        self._rows = {name: slice(*bounds[code : code + 2]) for code, name in enumerate(names)}

    @property
    def slates(self) -> tuple[str, ...]:
        """Ids of the slates that have labels."""
        return tuple(self._rows)

    def scores(self, slate: Slate, orders: int | None = None) -> FloatArray:
        """Return the (T, n) scores of one slate, orders by rising seed, canonical columns.

        Args:
            slate: its candidates must be those that were labelled.
            orders: only the first so many; None = all.

        Raises:
            InputError: no labels, those of other candidates, fewer orders, or two labels
                of a candidate under one order.
        """
        if not len(slate):
            return np.empty((1, 0))
        if slate.id not in self._rows:
            raise self._wrong(f"no labels of slate {slate.id!r}; label it, or leave it out")
        rows = self._rows[slate.id]
        seeds, row = np.unique(self._order[rows], return_inverse=True)
        column = self._columns(slate, self._candidate[rows])
        if len(np.unique(row * len(slate) + column)) != len(column):
            raise self._wrong(f"slate {slate.id!r}: two labels of a candidate under one order seed")
        if orders is not None and len(seeds) < orders:
            raise self._wrong(f"slate {slate.id!r} has {len(seeds)} orders, {orders} are asked for")
        found = np.full((len(seeds), len(slate)), np.nan)
        found[row, column] = self._score[rows]
        return found[:orders]

    def _columns(self, slate: Slate, candidates: IntArray) -> IntArray:
        own = np.array([self._code.get(key, -1) for key in slate.ids], dtype=np.int64)
        if set(own.tolist()) != set(candidates.tolist()):
            raise self._wrong(
                f"slate {slate.id!r}: the labels are of other candidates than its {len(slate)}; "
                "give the slates that were labelled"
            )
        sorter = np.argsort(own)
        return np.asarray(sorter[np.searchsorted(own, candidates, sorter=sorter)])

    def _table(self, path: Path) -> pa.Table:
        try:
            names = pq.read_schema(path.absolute()).names
            if lacking := [name for name in _READ if name not in names]:
                raise self._wrong(
                    f"no column {', '.join(lacking)}; labels have the columns {', '.join(_READ)}, "
                    f"and it has {', '.join(names)}"
                )
            table = pq.read_table(path.absolute(), columns=list(_READ))
        except (OSError, pa.ArrowException) as error:
            raise self._wrong(f"cannot be read as Parquet: {error}") from None
        for name in _READ[:3]:
            if table.column(name).null_count:
                raise self._wrong(f"column {name} holds a null")
        return table

    def _wrong(self, message: str) -> InputError:
        return InputError(message, path=self._path)


def _coded(column: Any) -> tuple[list[str], IntArray]:
    """Return the distinct texts of a column as they first come, and the code of each line."""
    encoded = column.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    return encoded.dictionary.to_pylist(), np.asarray(encoded.indices.to_numpy(), dtype=np.int64)
