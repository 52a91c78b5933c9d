from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from evenhand.records import RunFolder
from evenhand.types import Candidate, Plan, Presentation, Scored, Slate

SETTINGS = {"scorer": {"name": "toy", "revision": "r1"}, "rows": 2, "width": 2}


def a_slate(index: int, n: int = 3) -> Slate:
    candidates = tuple(Candidate(f"c{j}", f"text {j}") for j in range(n))
    return Slate(f"s{index}", f"query {index}", candidates, {"c1": 2})


def a_plan(n: int) -> Plan:
    canonical = Presentation(tuple(range(n)), tuple((i,) for i in range(n)))
    backwards = tuple(reversed(range(n)))
    windows = tuple(backwards[i : i + 2] for i in range(0, n, 2))
    return Plan(
        (canonical, Presentation(backwards, windows), canonical), ("canonical", "random", "repeat")
    )


def entry(slate: Slate):
    n, plan = len(slate), a_plan(len(slate))
    rows = [Scored(np.arange(n) / 8 + row, prompts=row, tokens=10 * row) for row in range(len(plan))]
    return slate, plan, rows


def write_all(folder: RunFolder) -> None:
    for index in folder.pending():
        folder.write_part(index, [entry(slate) for slate in folder.part_slates(index)])
    folder.merge()


SLATES = [a_slate(0), a_slate(1, 0), a_slate(2, 1), a_slate(3), a_slate(4)]


@pytest.fixture
def kit():
    """Settings and five slates (3, 0, 1, 3, 3 candidates) with a plan and scores for each."""
    return SimpleNamespace(
        settings=SETTINGS, slates=SLATES, slate=a_slate, plan=a_plan, entry=entry, write_all=write_all
    )


@pytest.fixture
def finished(tmp_path):
    """A finished run of those slates in parts of two."""
    with RunFolder.begin(tmp_path / "run", SETTINGS, SLATES, 2) as folder:
        write_all(folder)
    return folder
