import json
from dataclasses import replace

import numpy as np
import pytest

from evenhand.decide.reading import Reading
from evenhand.report.result import Result, audit
from evenhand.score import open_scorer
from evenhand.study.found.summary import analysis_from_dict, analysis_to_dict
from evenhand.study.found.verdict import Verdict, verdict
from evenhand.types import Candidate, Slate

GOLD = ("SUPPORTS", "SUPPORTS", "REFUTES")


class Stub:
    """Always gives the same; nothing where `lost` says so."""

    name, revision = "constant", "1"

    def __init__(self, said="SUPPORTS", task="verdict", lost=()):
        self.said, self.task, self.lost = said, task, lost

    def read(self, evidence):
        return [
            Reading(None, 0, "no answer: ReadTimeout") if one.query in self.lost else Reading(self.said)
            for one in evidence
        ]


def slates(answers=()):
    return [
        Slate(
            f"q{i}",
            f"claim {i}",
            tuple(Candidate(f"{i}{j}", f"text {j}") for j in range(5)),
            {f"{i}0": 1},
            answers,
            gold,
        )
        for i, gold in enumerate(GOLD)
    ]


@pytest.fixture
def result(tmp_path):
    return audit(open_scorer("toy:slot_bias=0.3"), slates(), rows=3, out=tmp_path / "run")


def section(text):
    lines = [line.strip(" │") for line in text.splitlines()]
    start = next(i for i, line in enumerate(lines) if line.startswith("Reader"))
    return "\n".join(lines[start:])


def test_a_report_says_whether_the_reader_reads(result):
    assert "Reader" not in result.table()
    result.read(Stub(), top=2)
    text = section(result.table())
    for words in (
        "constant verdict, reads the top 2",
        "unfit: ",
        "most common gold label",
        "0.667 SUPPORTS",
        "REFUTES 1, SUPPORTS 2",
        "output flip",
        "same set in canonical order",
        "reader's own order dependence",
        "(unfit_reader)",
    ):
        assert words in text, words
    assert "answer F1" not in text
    assert "unfit_reader" in {finding.code for finding in result.findings}
    assert "The reader is unfit" in result.to_markdown()


def test_readings_stay_with_the_run(result):
    found = result.read(Stub(), top=2)
    again = Result(result.path)
    assert again.analysis.reader.estimates == found.estimates
    saved = json.loads((result.path / "summary.json").read_text())
    assert saved["reader"]["fitness"]["fit"] is False


def test_an_analysis_with_a_reader_goes_there_and_back(result):
    result.read(Stub(), top=2)
    record = json.loads(json.dumps(analysis_to_dict(result.analysis), allow_nan=False))
    back = analysis_from_dict(record)
    assert analysis_to_dict(back) == analysis_to_dict(result.analysis)
    assert back.reader.fitness.majority == pytest.approx(2 / 3)
    np.testing.assert_array_equal(
        back.reader.per_slate["flip, score"], result.analysis.reader.per_slate["flip, score"]
    )
    del record["reader"]
    assert analysis_from_dict(record).reader is None


def test_missing_readings_make_it_partly(result):
    assert verdict(result.analysis) is Verdict.MEASURED
    result.read(Stub(lost=("claim 1",)), top=2)
    assert verdict(result.analysis) is Verdict.PARTLY
    assert "no answer: ReadTimeout" in result.table()


def test_what_is_retained_is_read(result):
    found = result.read(Stub(), top=None, retained=True)
    assert found.reader["top"] is None
    assert "reads what is retained" in result.table()


def test_a_run_without_a_reader_stands_beside_one_with(tmp_path):
    from evenhand.report import text

    asked = slates(answers=("an answer",))
    result = audit(open_scorer("toy:slot_bias=0.3"), asked, rows=3, out=tmp_path / "run")
    plain = replace(result.analysis, reader=None)
    result.read(Stub("an answer", "answer"), top=1)
    both = section(text.to_text([plain, result.analysis]))
    assert "answer F1, served" in both
    assert "labels given" not in both


def test_without_gold_nothing_is_right_or_wrong(result):
    result.read(Stub("an answer", "answer"), top=1)
    text = section(result.table())
    assert "output flip" in text
    assert "reader right" not in text
    assert "correctness flip" not in text
