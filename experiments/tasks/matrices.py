"""Scores of test slates as they are kept: every slate, every row, in 16 bits.

    found = read("results/qa/across-4-0.npz", "hotpotqa_dev500", slates)

gives the score matrices of an arm with the presentations that they are of, for measures,
readers and other consumers: no model and no GPU is needed. The slates are those of
`prepare.py`, or those of `load_slates` with the same ids: candidates and their order
are the same.

A score in [0, 1] is the whole number next to 65534 times it, and 65535 is missing.
float16 would put scores near 1 five ten-thousandths apart, where graders crowd.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from evenhand.present.design import design
from evenhand.types import Plan, ScoreMatrix, Slate, Surface

FULL, MISSING = 65534, 65535


def to_whole(scores: np.ndarray) -> np.ndarray:
    known = np.round(np.clip(np.nan_to_num(scores), 0, 1) * FULL)
    return np.where(np.isnan(scores), MISSING, known).astype(np.uint16)


def from_whole(kept: np.ndarray) -> np.ndarray:
    return np.where(kept == MISSING, np.nan, kept.astype(np.float64) / FULL)


def plan_of(slate: Slate, shown: Mapping) -> Plan:
    """The presentations of one slate, drawn again from the settings of a look."""
    surface = Surface(**shown["surface"])
    drawn = design("reorder", rows=shown["rows"], width=shown["width"], seed=shown["seed"],
                   surface=surface, repeat=False)  # fmt: skip
    return drawn.draw(slate)


def flat(name: str, slates: Sequence[Slate], scores: Sequence[np.ndarray], shown: Mapping) -> dict:
    """The arrays that are kept of one look; `name` is the collection's."""
    return {
        f"{name} scores": np.concatenate([to_whole(one).ravel() for one in scores]),
        f"{name} shapes": np.array([one.shape for one in scores], dtype=np.int32),
        f"{name} ids": np.array([slate.id for slate in slates]),
        f"{name} shown": np.array(json.dumps(shown)),
    }


def read(path: str | Path, name: str, slates: Sequence[Slate]) -> list[ScoreMatrix]:
    """Score matrices of a collection, in the order of the slates.

    Raises:
        KeyError: a slate that was not scored.
        ValueError: a slate with other candidates than were scored.
    """
    with np.load(path) as held:
        ids, shapes = held[f"{name} ids"].tolist(), held[f"{name} shapes"]
        scores, shown = held[f"{name} scores"], json.loads(str(held[f"{name} shown"]))
    ends = np.cumsum(shapes.prod(axis=1))
    parts = dict(zip(ids, np.split(scores, ends[:-1]), strict=True))
    sizes = dict(zip(ids, shapes.tolist(), strict=True))
    found = []
    for slate in slates:
        rows, n = sizes[slate.id]
        if n != len(slate):
            raise ValueError(f"slate {slate.id!r} has {len(slate)} candidates, {n} were scored")
        matrix = from_whole(parts[slate.id]).reshape(rows, n)
        found.append(ScoreMatrix(matrix, plan_of(slate, shown)))
    return found


def values(path: str | Path, name: str) -> dict[str, np.ndarray]:
    """Per-slate values of a collection by name, in the order of its kept ids."""
    start = f"{name} value "
    with np.load(path) as held:
        return {key.removeprefix(start): held[key] for key in held.files if key.startswith(start)}
