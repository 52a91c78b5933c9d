from __future__ import annotations

from evenhand.decide.reading import Reading
from evenhand.gate.criteria import parse_criterion
from evenhand.gate.judge import judge
from evenhand.gate.outcome import Outcome
from evenhand.gate.settings import GateSettings
from evenhand.records import RunFolder
from evenhand.score import scorer
from evenhand.study.found.consume import consume
from evenhand.types import Candidate, Slate

OPEN = Outcome.INCONCLUSIVE
BOTH = GateSettings(tuple(map(parse_criterion, ("AnswerFlip<=0.5", "tauPSI<=1"))), on="mean")


class Reader:
    """Says the first text, or only the gold answer where it stands; loses what it is told to."""

    name, task, revision = "first", "answer", "1"

    def __init__(self, lost=()):
        self.lost = lost

    def read(self, evidence):
        said = [one.texts[0] if one.texts else "nothing" for one in evidence]
        return [Reading(None, 0, "lost") if words in self.lost else Reading(words) for words in said]


def read_run(tmp_path, reader, count=12):
    """A run by received place over slates of two, read: the best is what was shown first."""
    from evenhand import audit

    slates = [
        Slate(f"s{i}", "who?", (Candidate("a", "red"), Candidate("b", "blue")), {"b": 1}, ("blue",))
        for i in range(count)
    ]
    by_place = scorer(lambda query, texts: [-i for i in range(len(texts))])
    audit(by_place, slates, rows=2, out=tmp_path / "run")
    consume(RunFolder.open(tmp_path / "run"), reader, top=1)
    return tmp_path / "run"


def test_flips_of_a_reader_are_judged(tmp_path):
    (run,) = judge([read_run(tmp_path, Reader())], BOTH).runs
    flip, tau = run.results
    # Both orders of two are shown, each once; over all four pairs of rows half differ.
    assert (flip.value, flip.n, flip.floor) == (0.5, 12, 0.0)
    assert (flip.outcome, tau.outcome) == (Outcome.PASSED, Outcome.PASSED)


def test_a_reader_of_another_task_is_not_meant(tmp_path):
    asked = GateSettings((parse_criterion("VerdictFlip<=0.5"),))
    (run,) = judge([read_run(tmp_path, Reader())], asked).runs
    assert "no reader with the task 'verdict'" in run.results[0].reason


def test_missing_readings_count_only_where_a_reader_is_asked_about(tmp_path):
    folder = read_run(tmp_path, Reader(lost={"red"}))
    found = judge([folder], BOTH)
    assert "readings missing" in found.runs[0].problem
    # So many are missing that its flips say nothing; the scores are whole.
    flip, tau = found.runs[0].results
    assert (flip.outcome, tau.outcome, found.exit_code) == (OPEN, Outcome.PASSED, 7)
    alone = judge([folder], GateSettings((parse_criterion("tauPSI<=1"),)))
    assert (alone.exit_code, alone.runs[0].problem) == (0, "")
