"""The decisions of a run on disk: a line per consumer, slate and row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from evenhand.decide.threshold import retained
from evenhand.measure.decision import chosen_rejected
from evenhand.records import Recorded
from evenhand.records.files import replacing
from evenhand.records.merged import open_writer
from evenhand.seeds import tie_ranks
from evenhand.types import FloatArray, IntArray

NAME = "decisions.parquet"
SCHEMA = pa.schema(
    [
        ("slate", pa.string()),
        ("row", pa.int32()),
        ("kind", pa.string()),
        ("consumer", pa.string()),
        ("threshold", pa.float64()),
        ("retained", pa.list_(pa.string())),
        ("chosen", pa.string()),
        ("rejected", pa.string()),
    ]
)


def decision_lines(record: Recorded, threshold: float) -> list[dict[str, Any]]:
    """Return what the threshold filter and the preference selector make of each row.

    The filter keeps scores at or above the threshold; the selector takes highest
    and lowest, ties by `seeds.tie_ranks`. A row without scores (the selector: with
    fewer than two) has null decisions; missing scores are never kept or chosen.
    """
    lines = []
    ids, ties = record.slate.ids, tie_ranks(record.slate.id, record.slate.ids)
    for row, (scores, kind) in enumerate(
        zip(record.matrix.scores, record.matrix.plan.kinds, strict=True)
    ):
        common = {"slate": record.slate.id, "row": row, "kind": kind}
        blank = len(scores) > 0 and bool(np.isnan(scores).all())
        kept = [ids[i] for i in np.flatnonzero(retained(scores, threshold))]
        line = {"consumer": "threshold", "threshold": threshold, "retained": None if blank else kept}
        lines.append({**common, **line})
        lines.append({**common, "consumer": "preference", **_preference(ids, scores, ties)})
    return lines


def _preference(ids: tuple[str, ...], scores: FloatArray, ties: IntArray) -> dict[str, str]:
    present = np.flatnonzero(~np.isnan(scores))
    if len(present) < 2:
        return {}
    ((chosen, rejected),) = chosen_rejected(scores[None, present], ties[present])
    return {"chosen": ids[present[chosen]], "rejected": ids[present[rejected]]}


class DecisionWriter:
    """Writes decisions as they come, slates in order, some in memory at a time."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def add(self, records: list[Recorded], thresholds: FloatArray) -> None:
        """Write the decisions of some slates, each under its own threshold."""
        lines = [
            line
            for record, threshold in zip(records, thresholds, strict=True)
            for line in decision_lines(record, float(threshold))
        ]
        if self._writer is not None:
            self._writer.write_table(pa.Table.from_pylist(lines, schema=SCHEMA))


@contextmanager
def decision_writer(folder: Path | None) -> Iterator[DecisionWriter]:
    """Yield a writer of `decisions.parquet`, put in place at the end; None writes nothing."""
    if folder is None:
        yield DecisionWriter(None)
        return
    with replacing(folder / NAME) as temporary, open_writer(temporary, SCHEMA) as writer:
        yield DecisionWriter(writer)
