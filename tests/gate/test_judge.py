from __future__ import annotations

import dataclasses
import json
import math

import pytest

from evenhand import audit, scorer
from evenhand.errors import InputError, ResumeError, UsageError
from evenhand.gate.criteria import parse_criterion
from evenhand.gate.judge import judge
from evenhand.gate.outcome import Outcome
from evenhand.gate.settings import GateSettings
from evenhand.records import RunFolder
from evenhand.study.found.analyse import analyse
from evenhand.types import Candidate, Slate

PASSED, FAILED, OPEN = Outcome.PASSED, Outcome.FAILED, Outcome.INCONCLUSIVE


def asking(*texts, **more):
    return GateSettings(tuple(map(parse_criterion, texts)), **more)


def only(found):
    (run,) = found.runs
    (one,) = run.results
    return one


def test_a_mean_by_hand(moving):
    # Three of eight slates swap their two candidates in one of two rows: 3 / 8 = .375.
    folder = moving("run", [1, 1, 1, 0, 0, 0, 0, 0])
    one = only(judge([folder], asking("tauPSI<=0.375", on="mean")))
    assert (one.value, one.n, one.undefined, one.floor, one.outcome) == (0.375, 8, 0, 0.0, PASSED)
    assert only(judge([folder], asking("tauPSI<0.375", on="mean"))).outcome is FAILED
    assert only(judge([folder], asking("tauPSI<=0.37", on="mean"))).outcome is FAILED


def test_intervals_decide_unless_the_mean_is_asked_for(moving):
    folder = moving("run", [1, 1, 1, 0, 0, 0, 0, 0])
    # A mean of eight draws from three 1 and five 0: the interval is wide around .375.
    one = only(judge([folder], asking("tauPSI<=0.4")))
    assert one.outcome is OPEN
    assert one.low < 0.375 < one.high
    assert only(judge([folder], asking("tauPSI<=0.9"))).outcome is PASSED
    # All slates move: every draw has the mean 1.
    still = only(judge([moving("all", [1] * 8)], asking("tauPSI<=0.9")))
    assert (still.outcome, still.low, still.high) == (FAILED, 1.0, 1.0)


def test_numbers_are_those_of_the_report(toy_run):
    folder = toy_run(slot_bias=0.4, width=2)
    texts = ("tauPSI<=1", "Overlap>=0", "PairFlip<=1", "nDCG@10>=0", "nDCG@10, shuffled>=0", "F1>=0")
    (run,) = judge([folder], asking(*texts)).runs
    found = analyse(RunFolder.open(folder), save=False)
    expected = [
        found.stability["tauPSI"],
        found.decisions["Overlap"],
        found.decisions["PairFlip"],
        found.served["nDCG@10"],
        found.shuffled["nDCG@10"],
        found.served["F1"],
    ]
    for one, known in zip(run.results, expected, strict=True):
        assert (one.value, one.low, one.high, one.n) == (known.mean, known.low, known.high, known.n)
    assert [one.floor for one in run.results[:3]] == [0.0, 1.0, 0.0]
    assert all(math.isnan(one.floor) for one in run.results[3:])
    assert (run.facts["M"], run.facts["B"]) == (4, 2)
    assert run.facts["scorer"] == "toy:slot_bias=0.4"


def test_nothing_is_written_into_a_run(toy_run):
    folder = toy_run(slot_bias=0.1, slates=3)
    before = sorted(path.name for path in folder.iterdir())
    judge([folder], asking("tauPSI<=1"))
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_level(moving):
    folder = moving("run", [1, 0] * 4)
    wide, narrow = (only(judge([folder], asking("tauPSI<=0.6", level=at))) for at in (0.99, 0.5))
    assert wide.low < narrow.low < narrow.high < wide.high


def test_without_grades_quality_is_inconclusive_and_the_rest_is_judged(moving):
    folder = moving("run", [0] * 5, grades=False)
    found = judge([folder], asking("nDCG@10>=0.4", "tauPSI<=0.1"))
    first, second = found.runs[0].results
    assert (first.outcome, first.n, first.undefined) == (OPEN, 0, 5)
    assert first.reason == "no value: 5 of 5 slates without grades"
    assert second.outcome is PASSED
    assert found.exit_code == 8


def test_what_a_design_does_not_define_is_inconclusive(moving):
    one = only(judge([moving("run", [0] * 3)], asking("PoolPSI<=0.1")))
    assert (one.outcome, one.undefined) == (OPEN, 3)
    assert one.reason == "no value on any of 3 slates (design reorder, M 2)"


def test_a_reader_that_never_read(moving):
    one = only(judge([moving("run", [0] * 3)], asking("AnswerFlip<=0.1")))
    assert one.outcome is OPEN
    assert "no reader with the task 'answer' has read this run" in one.reason


def test_one_slate_has_no_interval(moving):
    folder = moving("run", [0])
    one = only(judge([folder], asking("tauPSI<=0.1")))
    assert (one.outcome, one.n) == (OPEN, 1)
    assert one.reason.startswith("one slate has no interval")
    assert only(judge([folder], asking("tauPSI<=0.1", on="mean"))).outcome is PASSED


def test_too_few_slates(moving):
    folder = moving("run", [0] * 5)
    one = only(judge([folder], asking("tauPSI<=0.1", min_slates=6)))
    assert (one.outcome, one.reason) == (OPEN, "5 slates with a value, fewer than the 6 asked for")
    assert only(judge([folder], asking("tauPSI<=0.1", min_slates=5))).outcome is PASSED


def test_undefined_slates_are_counted(tmp_path):
    slates = [Slate("one", "q", (Candidate("a", "x"),))]
    slates += [Slate(f"s{i}", "q", (Candidate("a", "x"), Candidate("b", "yy"))) for i in range(3)]
    audit(scorer(lambda query, texts: [len(t) for t in texts]), slates, rows=2, out=tmp_path / "run")
    one = only(judge([tmp_path / "run"], asking("tauPSI<=0.1")))
    assert (one.outcome, one.n, one.undefined) == (PASSED, 3, 1)


def test_the_threshold_is_that_of_the_audit_or_the_one_given(tmp_path):
    slates = [Slate(f"s{i}", "q", (Candidate("a", "x"), Candidate("b", "yy"))) for i in range(3)]
    lengths = scorer(lambda query, texts: [len(t) / 2 for t in texts])
    audit(lengths, slates, rows=2, out=tmp_path / "run", threshold=0.5)
    # Scores are .5 and 1: at .5 both are kept, at .7 one of the two.
    kept = [
        only(judge([tmp_path / "run"], asking("Retained>=0.1", threshold=at))).value
        for at in (None, 0.7)
    ]
    assert kept == [1.0, 0.5]
    assert judge([tmp_path / "run"], asking("Retained>=0.1")).runs[0].facts["threshold"] == [0.5]
    with pytest.raises(UsageError, match="run: .*threshold"):
        judge([tmp_path / "run"], asking("Retained>=0.1", threshold=7.0))


def test_some_scores_missing_is_partly(moving):
    # One of 20 slates has no score: 8 of 160 scores, 5%.
    folder = moving("run", [0] * 20, lost={3})
    found = judge([folder], asking("tauPSI<=0.1"))
    run = found.runs[0]
    assert (run.results[0].outcome, run.results[0].n, run.results[0].undefined) == (PASSED, 19, 1)
    assert (run.scored, found.exit_code) == (Outcome.PARTLY, 7)
    assert run.problem == "8 of 160 scores missing, in 4 of 80 rows"
    assert judge([folder], asking("tauPSI<=0.1", max_missing=0.05)).exit_code == 0
    # What fails on the slates that are there has failed; what is open stays open.
    assert judge([folder], asking("tauPSI>=0.1")).exit_code == 1
    assert judge([folder], asking("tauPSI<=0.1", "PoolPSI<=0.1")).exit_code == 7


def test_many_scores_missing_decide_nothing(moving):
    folder = moving("run", [0] * 4, lost={3})
    found = judge([folder], asking("tauPSI>=0.1"))
    assert found.runs[0].results[0].outcome is OPEN
    assert "cannot be trusted (missing_scores" in found.runs[0].results[0].reason
    assert found.exit_code == 7


def test_all_scores_missing_is_the_backend(moving):
    found = judge([moving("run", [0] * 3, lost={0, 1, 2})], asking("tauPSI<=0.1", "nDCG@10>=0"))
    assert [one.outcome for one in found.runs[0].results] == [Outcome.UNSCORED] * 2
    assert found.exit_code == 6
    assert "gave none of 24 scores" in found.runs[0].problem


def test_one_random_row_measures_nothing(toy_run):
    found = judge([toy_run(rows=1, slates=3)], asking("tauPSI<=0.1"))
    assert found.exit_code == 5
    assert "with M = 1" in found.runs[0].results[0].reason


def unsteady(query, texts):
    unsteady.calls += 1
    turned = list(range(len(texts)))
    return turned if unsteady.calls % 2 else turned[::-1]


def test_an_unsteady_scorer_passes_unless_the_gate_is_strict(tmp_path):
    slates = [Slate(f"s{i}", "q", (Candidate("a", "x"), Candidate("b", "yy"))) for i in range(6)]
    unsteady.calls = 0
    audit(scorer(unsteady), slates, rows=4, out=tmp_path / "run")
    found = judge([tmp_path / "run"], asking("tauPSI<=1", "tauPSI>=0.99"))
    assert [one.outcome for one in found.runs[0].results] == [PASSED, FAILED]
    assert any("unsteady" in note for note in found.runs[0].notes)
    strict = judge([tmp_path / "run"], asking("tauPSI<=1", "tauPSI>=0.99", strict=True))
    assert [one.outcome for one in strict.runs[0].results] == [OPEN, OPEN]
    assert "unsteady" in strict.runs[0].results[0].reason
    assert strict.exit_code == 8
    # Its answers alternate, so that its two random rows agree (tau-PSI 0) and the canonical row
    # and its repeat do not (floor 1): agreement by luck is no pass.
    lucky = only(judge([tmp_path / "run"], asking("tauPSI<=0.9")))
    assert (lucky.value, lucky.floor, lucky.outcome) == (0.0, 1.0, OPEN)
    assert "the noise floor alone is beyond the bound" in lucky.reason


def test_noise_beyond_the_bound_fails_and_is_said(toy_run):
    one = only(judge([toy_run(noise=2.0, slates=12)], asking("tauPSI<=0.01", on="mean")))
    assert (one.outcome, one.floor > 0.1) == (FAILED, True)
    assert "the noise floor alone is beyond the bound" in one.reason


def test_a_scorer_that_is_not_what_it_declares_never_passes(tmp_path):
    slates = [Slate(f"s{i}", "q", tuple(Candidate(c, c) for c in "abcd")) for i in range(6)]
    by_place = scorer(lambda query, texts: [-i for i in range(len(texts))], order_free=True)
    audit(by_place, slates, rows=4, out=tmp_path / "run")
    found = judge([tmp_path / "run"], asking("tauPSI<=0.5"))
    assert found.runs[0].results[0].value < 0.5
    assert found.exit_code == 8
    assert "not_order_free" in found.runs[0].results[0].reason


def test_several_runs_have_one_verdict(moving):
    good, bad = moving("good", [0] * 8), moving("bad", [1] * 8)
    gone = moving("gone", [0] * 2, lost={0, 1})
    found = judge([good, bad], asking("tauPSI<=0.5"))
    assert [run.outcome for run in found.runs] == [PASSED, FAILED]
    assert (found.exit_code, found.count(PASSED), found.count(FAILED)) == (1, 1, 1)
    assert judge([good, gone], asking("tauPSI<=0.5")).exit_code == 6
    assert judge([good, gone, bad], asking("tauPSI<=0.5")).exit_code == 1


def test_odd_bounds_are_noted(moving):
    (run,) = judge([moving("run", [0] * 12)], asking("tauPSI>=0")).runs
    assert run.notes == ("warning: 'tauPSI >= 0' bounds tauPSI where it is good: lower is better",)
    # The floor of 0 is under such a bound always, and says nothing.
    (run,) = judge([moving("other", [1] * 12)], asking("tauPSI>=0.01")).runs
    assert run.results[0].outcome is Outcome.PASSED


def test_runs_refused(moving, tmp_path):
    folder = moving("run", [0] * 3)
    with pytest.raises(UsageError, match="no run to judge"):
        judge([], asking("tauPSI<=0.5"))
    with pytest.raises(UsageError, match="is given twice"):
        judge([folder, tmp_path / "." / "run"], asking("tauPSI<=0.5"))
    with pytest.raises(ResumeError, match="none: does not exist"):
        judge([folder, tmp_path / "none"], asking("tauPSI<=0.5"))


def test_an_unfinished_run(tmp_path):
    slates = [Slate(f"s{i}", "q", (Candidate("a", "x"), Candidate("b", "y"))) for i in range(3)]
    RunFolder.begin(tmp_path / "run", {"scorer": {}}, slates, 1).close()
    with pytest.raises(ResumeError, match=r"run: the run is not finished \(0 of 3 parts scored\)"):
        judge([tmp_path / "run"], asking("tauPSI<=0.5"))


@pytest.mark.parametrize("name", ["scores.parquet", "rows.parquet", "slates.jsonl"])
def test_a_damaged_file(moving, name):
    folder = moving("run", [0] * 3)
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(InputError, match=name):
        judge([folder], asking("tauPSI<=0.5"))


def test_grades_that_were_edited_afterwards(moving):
    folder = moving("run", [0] * 3)
    text = (folder / "slates.jsonl").read_text()
    (folder / "slates.jsonl").write_text(text.replace('"a": 1', '"a": 3').replace('"a":1', '"a":3'))
    with pytest.raises(ResumeError, match=r"slates.jsonl: is not what the run wrote"):
        judge([folder], asking("nDCG@10>=0.5"))


def test_a_run_of_another_version(moving):
    folder = moving("run", [0] * 3)
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "format": 99}))
    with pytest.raises(ResumeError, match="format 99 of another version of evenhand"):
        judge([folder], asking("tauPSI<=0.5"))


def test_a_verdict_cannot_be_changed(moving):
    found = judge([moving("run", [0] * 3)], asking("tauPSI<=0.5"))
    assert found.passed
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.on = "mean"


def test_a_manifest_that_names_no_files_is_damaged(moving):
    folder = moving("run", [0] * 3)
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "outputs": None}))
    with pytest.raises(ResumeError, match="scores.parquet: is not what the run wrote"):
        judge([folder], asking("tauPSI<=0.5"))
