"""The readings of a run on disk: a line per slate, row and input order."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from evenhand.decide.answers import exact_match, token_f1
from evenhand.decide.fitness import gold_columns
from evenhand.decide.prompts import Task
from evenhand.decide.reading import (
    Evidence,
    InputOrder,
    Reading,
    evidence_of,
    in_order,
    outcome,
    selected,
)
from evenhand.decide.verdicts import as_label
from evenhand.errors import ResumeError
from evenhand.records import Recorded, RunFolder
from evenhand.seeds import content_hash
from evenhand.types import Slate

NAME = "reader.parquet"
FORMAT = 1
FITNESS = "fitness"
REREAD = "reread"
ORDERS: tuple[InputOrder, ...] = ("score", "canonical")
_KEY = b"evenhand"

SCHEMA = pa.schema(
    [
        ("slate", pa.string()),
        ("row", pa.int32()),
        ("kind", pa.string()),
        ("order", pa.string()),
        ("exhaustive", pa.bool_()),
        ("texts", pa.int32()),
        ("input", pa.string()),
        ("output", pa.string()),
        ("outcome", pa.string()),
        ("correct", pa.float64()),
        ("f1", pa.float64()),
        ("gold", pa.string()),
        ("cut", pa.int64()),
        ("failure", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class Ask:
    """One thing to be read: where it belongs, and the evidence, None where no score is there."""

    slate: Slate
    row: int
    kind: str
    order: str
    exhaustive: bool
    evidence: Evidence | None


def asks_of(
    record: Recorded, task: Task, *, top: int | None, threshold: float | None, min_grade: int
) -> list[Ask]:
    """Return all that a reader is asked about one slate.

    Each row twice, in score order and the same set in canonical order; then, for
    fitness, the gold evidence alone and no evidence, where there is gold.
    """
    slate, plan = record.slate, record.matrix.plan
    asks = []
    for row, (scores, kind) in enumerate(zip(record.matrix.scores, plan.kinds, strict=True)):
        blank = bool(np.isnan(scores).all())
        columns = () if blank else selected(slate, scores, top=top, threshold=threshold)
        for order in ORDERS:
            shown = None if blank else evidence_of(slate, in_order(columns, order))
            asks.append(Ask(slate, row, kind, order, plan.exhaustive, shown))
    gold = gold_columns(slate, task, top=top, min_grade=min_grade)
    if gold is not None:
        for given, columns in (("gold", gold), ("none", ())):
            asks.append(Ask(slate, -1, FITNESS, given, False, evidence_of(slate, columns)))
    return asks


def line_of(ask: Ask, reading: Reading, task: Task) -> dict[str, Any]:
    """Return the line of one reading."""
    slate, found = ask.slate, outcome(task, reading.output)
    gold = None if slate.verdict is None else as_label(slate.verdict)
    correct = f1 = math.nan
    if reading.output is not None:
        if task == "answer":
            correct, f1 = (
                exact_match(reading.output, slate.answers),
                token_f1(reading.output, slate.answers),
            )
        elif gold is not None:
            correct = float(found == gold)
    return {
        "slate": slate.id,
        "row": ask.row,
        "kind": ask.kind,
        "order": ask.order,
        "exhaustive": ask.exhaustive,
        "texts": None if ask.evidence is None else len(ask.evidence.texts),
        "input": None if ask.evidence is None else ask.evidence.key,
        "output": _text(reading.output),
        "outcome": _text(found),
        "correct": None if math.isnan(correct) else correct,
        "f1": None if math.isnan(f1) else f1,
        "gold": gold if task == "verdict" else None,
        "cut": reading.cut,
        "failure": _text(reading.failure),
    }


def _text(value: str | None) -> str | None:
    """Return a text that UTF-8 can hold."""
    return None if value is None else value.encode("utf-8", "backslashreplace").decode("utf-8")


def run_hash(folder: RunFolder) -> str:
    """Return a hash of all that a run's scores stand on: settings, slates, score files."""
    manifest = folder.manifest
    return content_hash([manifest["settings"], manifest["slates_hash"], manifest.get("outputs")])


def schema_for(identity: Mapping[str, Any]) -> pa.Schema:
    """Return the schema of the file, carrying what its readings belong to."""
    return SCHEMA.with_metadata({_KEY: json.dumps(identity, sort_keys=True).encode("ascii")})


def identity_of(path: Path) -> dict[str, Any] | None:
    """Return what the readings of a file belong to; None where there is no sound file."""
    try:
        found = (pq.read_schema(path).metadata or {}).get(_KEY)
        return None if found is None else dict(json.loads(found))
    except (OSError, ValueError, pa.ArrowException):
        return None


def table_of(lines: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Return lines as a table."""
    return pa.Table.from_pylist([dict(line) for line in lines], schema=schema)


def by_slate(path: Path) -> Iterator[list[dict[str, Any]]]:
    """Yield the lines of each slate in order, a row group in memory at a time.

    A slate never spans row groups: they are written whole slates at a time.

    Raises:
        ResumeError: the file is damaged.
    """
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            for group in range(file.num_row_groups):
                lines = file.read_row_group(group).to_pylist()
                for _, same in groupby(lines, key=lambda line: line["slate"]):
                    yield list(same)
    except (OSError, pa.ArrowException) as error:
        raise ResumeError(
            f"cannot be read ({error}); delete it and let the reader read again", path=str(path)
        ) from None
