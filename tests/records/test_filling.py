"""Parts are scored by an engine in any order and written as they come."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.records import RunFolder
from evenhand.records.filling import fill, in_turn, slates_done
from evenhand.types import Candidate, Plan, Presentation, Scored, Slate

SLATES = [Slate(f"s{i}", "q", (Candidate("a", "x"), Candidate("b", "y"))) for i in range(5)]


def work(scorer, index, slates):
    """Score by the number of the part, and by the scorer, which is a number here."""
    plan = Plan((Presentation((0, 1), ((0, 1),)),), ("canonical",))
    return [(slate, plan, [Scored(np.array([scorer, index], dtype=float))]) for slate in slates]


def begun(path):
    return RunFolder.begin(path, {}, SLATES, 2)


def scores(path):
    return [one.matrix.scores.tolist() for one in RunFolder.open(path).recorded()]


def test_parts_are_written_whatever_their_order(tmp_path):
    def backwards(scorer, work, parts):
        yield from reversed(list(in_turn(scorer, work, parts)))

    seen = []
    with begun(tmp_path) as folder:
        fill(folder, 7, work, engine=backwards, progress=lambda *done: seen.append(done))
        folder.merge()
    # The last part has one slate, the two before it two each.
    assert seen == [(0, 5), (1, 5), (3, 5), (5, 5)]
    # Slates stand in their own order, with the number of their part: 0 0 1 1 2.
    assert scores(tmp_path) == [[[7.0, part]] for part in (0.0, 0.0, 1.0, 1.0, 2.0)]


def test_what_an_engine_gave_before_it_failed_stays(tmp_path):
    def failing(scorer, work, parts):
        yield next(in_turn(scorer, work, parts))
        raise OSError("gone")

    with begun(tmp_path) as folder, pytest.raises(OSError, match="gone"):
        fill(folder, 7, work, engine=failing)
    given = []
    with begun(tmp_path) as folder:
        assert slates_done(folder) == 2
        fill(folder, 8, lambda *of: given.append(of[1]) or work(*of))
        folder.merge()
    # Only the parts that were left are asked for.
    assert given == [1, 2]
    assert scores(tmp_path)[0] == [[7.0, 0.0]]
    assert scores(tmp_path)[4] == [[8.0, 2.0]]


def test_a_run_with_nothing_left_asks_no_engine(tmp_path):
    seen = []
    with begun(tmp_path) as folder:
        fill(folder, 7, work)
        fill(folder, 7, work, engine=None, progress=lambda *done: seen.append(done))
        fill(folder, 7, work, engine=lambda *_: pytest.fail("asked"))
    assert seen == [(5, 5)]
