"""A stopped reading goes on where it was, and parts of other readings are no help."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from evenhand.decide.reading import Reading
from evenhand.errors import ResumeError, ScorerError
from evenhand.records import RunFolder
from evenhand.study.found.consume import consume
from evenhand.study.found.reading_parts import FOLDER, ReadingParts
from evenhand.study.found.readings import NAME
from evenhand.types import Candidate, Slate

ORDERS = [(1, 0, 2, 3), (3, 2, 1, 0)]
SLATES = [
    Slate(f"s{i}", f"who {i}?", tuple(Candidate(one, f"{one}{i}") for one in "abcd"), {"b": 1}, ("b",))
    for i in range(7)
]


class Counting:
    """Says the first text; stops, or loses readings, at the given queries."""

    task = "answer"

    def __init__(self, stop=(), lose=(), revision="1", name="counting", error=KeyboardInterrupt):
        self.stop, self.lose, self.revision, self.name, self.error = stop, lose, revision, name, error
        self.queries = []

    def read(self, evidence):
        if any(one.query in self.stop for one in evidence):
            raise self.error
        self.queries += [one.query for one in evidence]
        return [
            Reading(None, 0, "lost") if one.query in self.lose else Reading((one.texts or ("",))[0])
            for one in evidence
        ]

    @property
    def slates(self):
        return sorted(set(self.queries))


@pytest.fixture
def folder(kit, tmp_path):
    rng = np.random.default_rng(0)
    return kit.run(tmp_path / "run", [(s, kit.plan(ORDERS), rng.random((4, 4))) for s in SLATES])


def stopped(folder, at="who 5?", **more):
    """Read until slate 5, in parts of 2: parts 0 and 1 (slates 0 to 3) stand."""
    reader = Counting(stop=(at,), **more)
    with pytest.raises((KeyboardInterrupt, ScorerError)):
        consume(folder, reader, top=2, chunk=2)
    return reader


def test_a_stop_loses_one_part_at_most(folder):
    assert stopped(folder).slates == [f"who {i}?" for i in range(4)]
    names = {path.name for path in (folder.path / FOLDER).iterdir()}
    assert names == {"identity.json", "0000.parquet", "0000.sha256", "0001.parquet", "0001.sha256"}
    assert not (folder.path / NAME).exists()
    seen, after = [], Counting()
    found = consume(folder, after, top=2, chunk=2, progress=lambda *step: seen.append(step))
    assert after.slates == ["who 4?", "who 5?", "who 6?"]
    assert seen == [(4, 7), (6, 7), (7, 7)]
    assert not (folder.path / FOLDER).exists()
    # What was stopped and went on is what was never stopped, to the last line.
    lines = pq.read_table(folder.path / NAME).to_pylist()
    (folder.path / NAME).unlink()
    whole = consume(folder, Counting(), top=2, chunk=2)
    assert whole.estimates == found.estimates
    assert pq.read_table(folder.path / NAME).to_pylist() == lines


def test_a_failure_of_the_reader_keeps_the_parts_too(folder):
    stopped(folder, error=RuntimeError("gone"))
    after = Counting()
    consume(folder, after, top=2, chunk=2)
    assert after.slates == ["who 4?", "who 5?", "who 6?"]


@pytest.mark.parametrize(
    "change", ["revision", "task", "top", "threshold", "min_grade", "chunk", "run"]
)
def test_parts_of_other_readings_are_read_anew(folder, kit, tmp_path, change):
    stopped(folder)
    reader, options = Counting(), {"top": 2, "chunk": 2}
    if change == "revision":
        reader.revision = "2"
    elif change == "task":
        reader.task = "verdict"
    elif change == "run":
        rng = np.random.default_rng(1)
        other = kit.run(tmp_path / "other", [(s, kit.plan(ORDERS), rng.random((4, 4))) for s in SLATES])
        (folder.path / FOLDER).rename(other.path / FOLDER)
        folder = other
    else:
        options |= {"top": {"top": 1}, "threshold": {"thresholds": 0.2}, "min_grade": {"min_grade": 2},
                    "chunk": {"chunk": 3}}[change]  # fmt: skip
    consume(folder, reader, **options)
    assert len(reader.slates) == 7


def test_another_name_of_the_same_reader_goes_on(folder):
    stopped(folder)
    reader = Counting(name="the same, called otherwise")
    found = consume(folder, reader, top=2, chunk=2)
    assert reader.slates == ["who 4?", "who 5?", "who 6?"]
    assert found.reader["name"] == "the same, called otherwise"


def test_a_part_with_missing_readings_is_read_again(folder):
    stopped(folder, lose=("who 1?",))
    reader = Counting()
    found = consume(folder, reader, top=2, chunk=2)
    assert reader.slates == ["who 0?", "who 1?", "who 4?", "who 5?", "who 6?"]
    assert found.counts["missing"] == 0
    assert found.counts["reread"] > 0


def test_a_torn_part_is_read_again_and_a_damaged_one_is_named(folder):
    stopped(folder)
    parts = folder.path / FOLDER
    # Killed between the table and its hash.
    (parts / "0001.sha256").unlink()
    content = (parts / "0000.parquet").read_bytes()
    (parts / "0000.parquet").write_bytes(content[:-9] + b"#" + content[-8:])
    with pytest.raises(ResumeError, match=r"damaged: 0000\.parquet; delete the named parts"):
        consume(folder, Counting(), top=2, chunk=2)
    (parts / "0000.parquet").unlink()
    reader = Counting()
    consume(folder, reader, top=2, chunk=2)
    assert len(reader.slates) == 7


def test_a_damaged_identity_is_no_identity(folder):
    stopped(folder)
    (folder.path / FOLDER / "identity.json").write_text("{")
    reader = Counting()
    consume(folder, reader, top=2, chunk=2)
    assert len(reader.slates) == 7


def test_two_readers_of_one_run_do_not_mix(folder):
    with ReadingParts(folder.path, {"reader": {}}, 2), pytest.raises(ResumeError, match="another"):
        consume(folder, Counting(), top=2)


def test_the_identity_says_what_must_be_the_same(folder):
    stopped(folder)
    found = json.loads((folder.path / FOLDER / "identity.json").read_text())
    assert (found["top"], found["thresholds"], found["min_grade"]) == (2, None, 1)
    assert found["reader"] == {"name": "counting", "revision": "1", "task": "answer"}
    assert found["slates_in_a_part"] == 2


def test_a_run_of_no_slates(kit, tmp_path):
    empty = kit.run(tmp_path / "empty", [])
    found = consume(RunFolder.open(empty.path), Counting())
    assert found.counts["readings"] == 0
