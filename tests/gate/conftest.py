"""Runs with known numbers, to be judged."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.present.design import design
from evenhand.records import RunFolder
from evenhand.score.toy import Toy
from evenhand.study.rows.run import run_study
from evenhand.types import Candidate, Plan, Presentation, Scored, Slate


def graded(count=8, size=4, grades=True, key="q"):
    """Slates whose candidate i has grade i mod 4."""
    return [
        Slate(
            f"{key}{at}",
            f"query {at}",
            tuple(Candidate(f"c{i}", f"text {at} {i}") for i in range(size)),
            {f"c{i}": i % 4 for i in range(size)} if grades else None,
        )
        for at in range(count)
    ]


def two_way_run(path, moved, rows=None, scorer=None, grades=True, lost=()):
    """Write a run of two-candidate slates with two random rows: tau-PSI is `moved` by slate.

    A slate that moves has its two candidates swapped in one of its two rows: 1, else 0.

    Args:
        path: of the run. moved: by slate, whether it moves.
        rows: settings to overwrite. scorer: of its description.
        grades: whether the slates have grades. lost: slates without any score.
    """
    slates = [
        Slate(f"s{at}", "q", (Candidate("a", "x"), Candidate("b", "y")), {"a": 1} if grades else None)
        for at in range(len(moved))
    ]
    order, other = (0, 1), (1, 0)
    shown = tuple(Presentation(one, (one,)) for one in (order, order, other, order))
    plan = Plan(shown, ("canonical", "random", "random", "repeat"))
    described = {
        "name": "given",
        "revision": "r1",
        "scale": "unit",
        "order_free": False,
        **(scorer or {}),
    }
    settings = {"scorer": described, "rows": 2, "width": None, "design": "reorder", "surface": {}}
    with RunFolder.begin(path, {**settings, **(rows or {})}, slates, 50) as folder:
        for index in folder.pending():
            entries = []
            for at, slate in enumerate(folder.part_slates(index), 50 * index):
                second = (0.1, 0.9) if moved[at] else (0.9, 0.1)
                lines = [(0.9, 0.1), (0.9, 0.1), second, (0.9, 0.1)]
                lines = [(np.nan, np.nan)] * 4 if at in lost else lines
                scored = [
                    Scored(np.array(line), prompts=1, tokens=1, failure="lost" if at in lost else None)
                    for line in lines
                ]
                entries.append((slate, plan, scored))
            folder.write_part(index, entries)
        folder.merge()
    return folder.path


@pytest.fixture
def moving(tmp_path):
    """A function (name, moved by slate, ...) that writes a run and returns its folder."""

    def write(name, moved, **more):
        return two_way_run(tmp_path / name, moved, **more)

    return write


@pytest.fixture(scope="session")
def toy_run(tmp_path_factory):
    """A function that scores graded slates with a toy once for each setting, read only."""
    made = {}

    def write(*, slates=8, grades=True, size=4, rows=4, width=None, repeat=True, key="q", **dials):
        setting = (slates, grades, size, rows, width, repeat, key, tuple(sorted(dials.items())))
        if setting not in made:
            drawn = design("reorder", rows=rows, width=width, repeat=repeat)
            folder = tmp_path_factory.mktemp("toy") / "run"
            made[setting] = run_study(
                Toy(**dials), graded(slates, size, grades, key), drawn, folder
            ).path
        return made[setting]

    return write
