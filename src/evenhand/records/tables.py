"""The tables of a run: parts as written, scores and rows as merged, and back.

A missing score is NaN in memory and null on disk. Text that is no valid UTF-8
can only stand in a failure message, where it is escaped.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evenhand.errors import ResumeError
from evenhand.types import (
    BoolArray,
    FloatArray,
    IntArray,
    Plan,
    Presentation,
    Scored,
    ScoreMatrix,
    Slate,
    Surface,
)

Entry = tuple[Slate, Plan, Sequence[Scored]]

_ROW_FIELDS = [
    ("slate", pa.string()),
    ("row", pa.int32()),
    ("kind", pa.string()),
    ("exhaustive", pa.bool_()),
    ("prompts", pa.int64()),
    ("tokens", pa.int64()),
    ("query_escaped", pa.int64()),
    ("failure", pa.string()),
    ("surface", pa.string()),
]
ROWS = pa.schema(_ROW_FIELDS)
PART = pa.schema(
    [
        *_ROW_FIELDS,
        ("order", pa.list_(pa.int32())),
        ("windows", pa.list_(pa.list_(pa.int32()))),
        ("scores", pa.list_(pa.float64())),
        ("grades", pa.list_(pa.list_(pa.float64()))),
        ("label_mass", pa.list_(pa.float64())),
        ("truncated", pa.list_(pa.int64())),
        ("escaped", pa.list_(pa.int64())),
    ]
)
SCORES = pa.schema(
    [
        ("slate", pa.string()),
        ("row", pa.int32()),
        ("kind", pa.string()),
        ("candidate", pa.string()),
        ("position", pa.int32()),
        ("slot", pa.int32()),
        ("window", pa.int32()),
        ("score", pa.float64()),
        ("grades", pa.list_(pa.float64())),
        ("label_mass", pa.float64()),
        ("truncated", pa.int64()),
        ("escaped", pa.int64()),
        ("failure", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """One slate of a run with all that its rows gave, in canonical columns.

    Attributes:
        label_mass: (rows, n), NaN where not known; None when no row knows it.
        truncated, escaped: (rows, n) counts, 0 where not known.
        failures: why the scores of a row are missing, or None, one per row.
        prompts, tokens: (rows,) price of each row.
        query_escaped: (rows,) places escaped in the query.
    """

    slate: Slate
    matrix: ScoreMatrix
    label_mass: FloatArray | None
    truncated: IntArray
    escaped: IntArray
    failures: tuple[str | None, ...]
    prompts: IntArray
    tokens: IntArray
    query_escaped: IntArray

    @property
    def missing(self) -> BoolArray:
        """Where a score is missing, (rows, n); a candidate that is not shown lacks none."""
        return np.isnan(self.matrix.scores) & self.matrix.plan.included()


def _nullable(values: NDArray[Any] | None) -> list[Any] | None:
    if values is None:
        return None
    array = np.asarray(values)
    listed = array.astype(object)
    if array.dtype.kind == "f":
        listed[np.isnan(array)] = None
    return list(listed.tolist())


def _valid_text(text: str | None) -> str | None:
    return None if text is None else text.encode("utf-8", "backslashreplace").decode("utf-8")


def _surface_json(surface: Surface) -> str | None:
    if surface == Surface():
        return None
    return json.dumps(dataclasses.asdict(surface), sort_keys=True)


def part_table(entries: Iterable[Entry]) -> pa.Table:
    """Return the table of one part: a line per row of each slate, candidates as lists."""
    lines = []
    for slate, plan, results in entries:
        for shown, scored in zip(plan.shown(slate), results, strict=True):
            lines.append(
                {
                    "slate": slate.id,
                    "row": shown.row,
                    "kind": shown.kind,
                    "exhaustive": plan.exhaustive,
                    "prompts": int(scored.prompts),
                    "tokens": int(scored.tokens),
                    "query_escaped": int(scored.query_escaped),
                    "failure": _valid_text(scored.failure),
                    "surface": _surface_json(shown.presentation.surface),
                    "order": list(shown.presentation.order),
                    "windows": [list(window) for window in shown.presentation.windows],
                    "scores": _nullable(scored.scores),
                    "grades": _nullable(scored.grades),
                    "label_mass": _nullable(scored.label_mass),
                    "truncated": _nullable(scored.truncated),
                    "escaped": _nullable(scored.escaped),
                }
            )
    return pa.Table.from_pylist(lines, schema=PART)


def rows_table(part: pa.Table) -> pa.Table:
    """Return the lines of a part without their candidates, as `rows.parquet` holds them."""
    return part.select(ROWS.names)


def scores_table(part: pa.Table, slates: Sequence[Slate]) -> pa.Table:
    """Return a line per candidate of each row of a part, as `scores.parquet` holds them."""
    columns: dict[str, list[Any]] = {name: [] for name in SCORES.names}
    by_id = {slate.id: slate for slate in slates}
    for line in part.to_pylist():
        ids = by_id[line["slate"]].ids
        n = len(ids)
        order = tuple(line["order"])
        omitted = tuple(set(range(n)) - set(order))
        presentation = Presentation(order, tuple(map(tuple, line["windows"])), omitted=omitted)
        columns["candidate"] += ids
        columns["position"] += presentation.positions().tolist()
        columns["slot"] += presentation.slots().tolist()
        columns["window"] += presentation.window_of().tolist()
        columns["score"] += line["scores"]
        for name in ("slate", "row", "kind", "failure"):
            columns[name] += [line[name]] * n
        for name in ("grades", "label_mass", "truncated", "escaped"):
            columns[name] += [None] * n if line[name] is None else line[name]
    return pa.table(columns, schema=SCORES)


def _numbers(table: pa.Table, name: str) -> NDArray[Any]:
    return np.asarray(table.column(name).to_numpy())


def _counts(table: pa.Table, name: str, shape: tuple[int, int]) -> IntArray:
    return np.asarray(table.column(name).fill_null(0).to_numpy(), dtype=np.int64).reshape(shape)


def _presentation(
    position: IntArray, slot: IntArray, window: IntArray, surface: Surface
) -> Presentation:
    # A candidate that is not shown stands at -1, so before all others.
    omitted = int((position < 0).sum())
    order = np.argsort(position, kind="stable")
    by_place = np.lexsort((slot, window))[omitted:]
    starts = np.flatnonzero(np.diff(window[by_place])) + 1
    windows = tuple(tuple(part.tolist()) for part in np.split(by_place, starts) if len(part))
    return Presentation(
        tuple(order[omitted:].tolist()), windows, surface, tuple(order[:omitted].tolist())
    )


def recorded(slate: Slate, rows: pa.Table, scores: pa.Table) -> Recorded:
    """Rebuild one slate's record from its lines of the two merged tables.

    Raises:
        ResumeError: the lines do not belong to the slate, or some are missing.
    """
    shape = (len(rows), len(slate))
    if len(scores) != shape[0] * shape[1] or (
        scores.column("candidate").to_pylist() != list(slate.ids) * shape[0]
    ):
        raise ResumeError(
            f"the records of slate {slate.id!r} do not fit its {shape[1]} candidates; "
            "delete scores.parquet and resume the run: it is rebuilt from the parts"
        )
    position, slot, window = (
        _numbers(scores, name).reshape(shape) for name in ("position", "slot", "window")
    )
    surfaces = [
        Surface(**json.loads(text)) if text else Surface() for text in rows["surface"].to_pylist()
    ]
    presentations = tuple(
        _presentation(position[i], slot[i], window[i], surface) for i, surface in enumerate(surfaces)
    )
    exhaustive = any(rows["exhaustive"].to_pylist())
    plan = Plan(presentations, tuple(rows["kind"].to_pylist()), exhaustive)
    mass = scores.column("label_mass")
    known = mass.null_count < len(mass)
    return Recorded(
        slate,
        ScoreMatrix(_numbers(scores, "score").astype(np.float64).reshape(shape), plan),
        _numbers(scores, "label_mass").astype(np.float64).reshape(shape) if known else None,
        _counts(scores, "truncated", shape),
        _counts(scores, "escaped", shape),
        tuple(rows["failure"].to_pylist()),
        _numbers(rows, "prompts").astype(np.int64),
        _numbers(rows, "tokens").astype(np.int64),
        _numbers(rows, "query_escaped").astype(np.int64),
    )
