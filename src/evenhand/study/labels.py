"""The quality of a teacher's labels, read from a file of labels under T orders."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from evenhand.errors import InputError, NothingMeasuredError, UsageError
from evenhand.measure.checks import came, floats, inside, integer, of_kind
from evenhand.measure.silver import silver_beta, silver_beta_pooled
from evenhand.measure.stats import estimate
from evenhand.study.plain import plain
from evenhand.types import Estimate, FloatArray

COLUMNS = ("slate", "candidate", "order_seed", "score")


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """The labels of one slate.

    Attributes:
        candidates: ids, as they first come in the file.
        orders: seeds, ascending.
        scores: (T, n), NaN where a label is missing.
    """

    candidates: tuple[str, ...]
    orders: tuple[int, ...]
    scores: FloatArray

    def __post_init__(self) -> None:
        shape = floats("labels", self.scores).shape
        if shape != (len(self.orders), len(self.candidates)):
            raise UsageError(
                f"labels of shape {shape} for {len(self.orders)} orders and {len(self.candidates)} "
                "candidates"
            )


@dataclass(frozen=True, slots=True)
class LabelQuality:
    """How consistent the labels of a file are.

    Attributes:
        silver_beta: mean over slates with its interval. pooled: over all slates
            together. corrected: pooled, for finite T and n (`measure.silver`).
        orders: fewest and most orders of a slate. missing: labels that are not there.
    """

    silver_beta: Estimate
    pooled: float
    corrected: float
    orders: tuple[int, int]
    missing: int

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values; undefined is null."""
        found: dict[str, Any] = plain(self)
        return found


def read_labels(path: str | os.PathLike[str]) -> dict[str, Labels]:
    """Read a file of labels under several orders.

    Args:
        path: Parquet with a line per slate, order and candidate: columns slate,
            candidate, order_seed, score; others (slot, window, grades) may stand
            beside them. A null or NaN score, and a line that is not there, is a
            missing label.

    Returns:
        The labels by slate id, in the order of the file.

    Raises:
        InputError: the file is missing or no Parquet, lacks a column, or holds two
            lines for one slate, order and candidate.
    """
    table = _table(path)
    slates, candidates, orders = (table.column(name).to_pylist() for name in COLUMNS[:3])
    scores = table.column("score").cast(pa.float64()).fill_null(float("nan")).to_numpy()
    lines: dict[str, dict[tuple[int, str], float]] = {}
    for line, (slate, candidate, order) in enumerate(zip(slates, candidates, orders, strict=True)):
        labels = lines.setdefault(slate, {})
        if (order, candidate) in labels:
            raise InputError(
                f"row {line}: slate {slate!r} has a second label for candidate {candidate!r} under "
                f"order seed {order}; one label per slate, order and candidate is needed",
                path=str(path),
            )
        labels[order, candidate] = float(scores[line])
    return {slate: _labels(found) for slate, found in lines.items()}


def label_quality(
    labels: Mapping[str, Labels] | str | os.PathLike[str], *, seed: int = 0, level: float = 0.95
) -> LabelQuality:
    """Return silver-beta of a file's labels, or of labels already read.

    Args:
        labels: by slate id, or the path of a file.
        seed: of the bootstrap over slates. level: of its interval.

    Raises:
        UsageError: something is of the wrong kind.
        InputError: as `read_labels`.
        NothingMeasuredError: no slate has two orders, two candidates and labels that differ.
    """
    integer("seed", seed)
    inside("level", level)
    found = labels if isinstance(labels, Mapping) else read_labels(labels)
    of_kind("labels by slate id", found.values(), Labels)
    scores = [one.scores for one in found.values()]
    values = [silver_beta(one) for one in scores]
    if not values or np.isnan(values).all():
        raise NothingMeasuredError(
            "silver-beta needs a slate with at least two orders, two candidates and labels that differ"
        )
    counts = [len(one.orders) for one in found.values()]
    return LabelQuality(
        estimate(values, seed=seed, level=level),
        silver_beta_pooled(scores),
        silver_beta_pooled(scores, corrected=True),
        (min(counts), max(counts)),
        int(sum(np.isnan(one).sum() for one in scores)),
    )


def _table(path: str | os.PathLike[str]) -> pa.Table:
    if not isinstance(path, (str, os.PathLike)):
        raise UsageError(f"the path of a file of labels is needed, got {came(path)}")
    try:
        schema = pq.read_schema(path)
        lacking = [name for name in COLUMNS if name not in schema.names]
        if lacking:
            raise InputError(
                f"no column {', '.join(lacking)}; a file of labels needs {', '.join(COLUMNS)}, "
                f"and it has {', '.join(schema.names)}",
                path=str(path),
            )
        table = pq.read_table(path, columns=list(COLUMNS))
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"cannot be read as Parquet: {error}", path=str(path)) from None
    for name in COLUMNS[:3]:
        if table.column(name).null_count:
            raise InputError(f"column {name} holds a null", path=str(path))
    kind = table.schema.field("score").type
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
        raise InputError(f"column score holds {kind}; needed are numbers", path=str(path))
    return table


def _labels(lines: Mapping[tuple[int, str], float]) -> Labels:
    orders = sorted({order for order, _ in lines})
    candidates = list(dict.fromkeys(candidate for _, candidate in lines))
    row = {order: i for i, order in enumerate(orders)}
    column = {candidate: i for i, candidate in enumerate(candidates)}
    scores = np.full((len(orders), len(candidates)), np.nan)
    for (order, candidate), score in lines.items():
        scores[row[order], column[candidate]] = score
    return Labels(tuple(candidates), tuple(orders), scores)
