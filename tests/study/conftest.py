from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from evenhand.records import Recorded, RunFolder
from evenhand.types import Candidate, Plan, Presentation, Scored, ScoreMatrix, Slate


def a_slate(key="s", ids="abcd", grades=None, texts=None):
    texts = texts or {one: f"text {one}" for one in ids}
    return Slate(key, "query", tuple(Candidate(one, texts[one]) for one in ids), grades)


def a_plan(orders, repeat=True, exhaustive=False):
    """Canonical row, one random row per order in one window each, repeat row."""
    n = len(orders[0])
    shown = [tuple(range(n)), *map(tuple, orders)] + ([tuple(range(n))] if repeat else [])
    kinds = ["canonical"] + ["random"] * len(orders) + (["repeat"] if repeat else [])
    presentations = tuple(Presentation(order, (order,) if order else ()) for order in shown)
    return Plan(presentations, tuple(kinds), exhaustive)


def a_record(slate, plan, scores, **more):
    scores = np.asarray(scores, dtype=float)
    zeros = np.zeros(scores.shape, dtype=np.int64)
    rows = len(scores)
    fields = {
        "label_mass": None,
        "truncated": zeros,
        "escaped": zeros,
        "failures": (None,) * rows,
        "prompts": np.ones(rows, dtype=np.int64),
        "tokens": np.full(rows, 10, dtype=np.int64),
        "query_escaped": np.zeros(rows, dtype=np.int64),
        **more,
    }
    return Recorded(slate, ScoreMatrix(scores, plan), **fields)


def a_run(path, entries, scorer=None):
    """Write a finished run of (slate, plan, scores) with given scores, NaN = missing."""
    scorer = {"name": "given", "revision": "r", "scale": "unit", "order_free": False, **(scorer or {})}
    settings = {"scorer": scorer, "rows": 2, "width": None, "surface": {}}
    with RunFolder.begin(path, settings, [slate for slate, _, _ in entries], 2) as folder:
        for index in folder.pending():
            part = entries[2 * index : 2 * index + 2]
            folder.write_part(index, [(s, p, [as_scored(row) for row in m]) for s, p, m in part])
        folder.merge()
    return folder


def as_scored(row):
    row = np.asarray(row, dtype=float)
    missing = np.isnan(row).any()
    return Scored(row, prompts=1, tokens=10, failure="lost" if missing else None)


@pytest.fixture
def kit():
    return SimpleNamespace(slate=a_slate, plan=a_plan, record=a_record, run=a_run)
