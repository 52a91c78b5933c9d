from __future__ import annotations

import shutil

import pytest

from evenhand import audit, scorer
from evenhand.errors import InputError, UsageError
from evenhand.gate.criteria import parse_change, parse_criterion
from evenhand.gate.judge import judge
from evenhand.gate.outcome import Outcome
from evenhand.gate.settings import GateSettings
from evenhand.measure.paired import PairedOptions
from evenhand.study.against.compare import compare
from evenhand.types import Candidate, Slate

PASSED, FAILED, OPEN = Outcome.PASSED, Outcome.FAILED, Outcome.INCONCLUSIVE


def moved(run, baseline, *, drop=(), rise=(), **more):
    """The results of one run beside its baseline."""
    changes = [parse_change("drop", text) for text in drop]
    changes += [parse_change("rise", text) for text in rise]
    settings = GateSettings(tuple(changes), baselines=(baseline,), **more)
    return judge([run], settings).runs[0].results


def test_a_change_by_hand(moving):
    # Two of eight slates move in the baseline, four in the run: 4/8 - 2/8 = .25.
    before, after = moving("a", [1, 1, 0, 0, 0, 0, 0, 0]), moving("b", [1, 1, 1, 1, 0, 0, 0, 0])
    (one,) = moved(after, before, rise=["tauPSI=0.25"], on="mean")
    assert (one.value, one.before, one.after, one.n) == (0.25, 0.25, 0.5, 8)
    assert (one.outcome, one.floor) == (PASSED, 0.0)
    (one,) = moved(after, before, rise=["tauPSI=0.24"], on="mean")
    assert one.outcome is FAILED
    # The other way round the value falls: a rise of -.25.
    (back,) = moved(before, after, rise=["tauPSI=0"], on="mean")
    assert (back.value, back.outcome) == (-0.25, PASSED)
    (drop,) = moved(before, after, drop=["tauPSI=0.1"], on="mean")
    assert (drop.value, drop.outcome) == (0.25, FAILED)


def test_the_interval_of_a_change(moving):
    still, all_move = moving("a", [0] * 8), moving("b", [1] * 8)
    (one,) = moved(all_move, still, rise=["tauPSI=0.5"])
    assert (one.low, one.high, one.outcome) == (1.0, 1.0, FAILED)
    (one,) = moved(still, all_move, drop=["tauPSI=0.5"])
    assert (one.value, one.low, one.high, one.outcome) == (1.0, 1.0, 1.0, FAILED)
    half = moving("c", [1, 1, 1, 1, 0, 0, 0, 0])
    (one,) = moved(half, still, rise=["tauPSI=0.5"])
    assert one.low < 0.5 < one.high
    assert one.outcome is OPEN
    (one,) = moved(half, still, rise=["tauPSI=0.95"])
    assert one.outcome is PASSED


def test_numbers_are_those_of_compare(toy_run):
    before, after = (
        toy_run(slot_bias=0.2, width=2, slates=20),
        toy_run(slot_bias=0.4, width=2, slates=20),
    )
    names = ["tauPSI", "Overlap", "nDCG@10, shuffled"]
    found = compare({"a": [before], "b": [after]}, measures=names, options=PairedOptions())
    rises = moved(after, before, rise=["tauPSI=0.1"])
    drops = moved(after, before, drop=["Overlap=0.1", "nDCG@10, shuffled=0.1"])
    for one, row in zip([*rises, *drops], found.rows, strict=True):
        sign = 1 if one.criterion.change == "rise" else -1
        assert one.value == pytest.approx(sign * row.paired.difference, abs=1e-15)
        assert sorted((sign * row.paired.low, sign * row.paired.high)) == [one.low, one.high]
        assert (one.before, one.after, one.n) == (row.paired.mean_a, row.paired.mean_b, row.paired.n)


def test_values_and_changes_together_keep_their_order(toy_run):
    before, after = toy_run(slot_bias=0.2), toy_run(slot_bias=0.25)
    asked = (
        parse_criterion("tauPSI<=0.5"),
        parse_change("drop", "nDCG@10=0.1"),
        parse_criterion("Overlap>=0.1"),
    )
    (run,) = judge([after], GateSettings(asked, baselines=(before,))).runs
    assert [one.criterion for one in run.results] == list(asked)
    assert run.facts["baseline"] == str(before)


def test_runs_that_cannot_be_compared(toy_run, moving):
    run = toy_run(slot_bias=0.2)
    for other, said in (
        (toy_run(slot_bias=0.2, rows=5), "rows: 5 in"),
        (toy_run(slot_bias=0.2, width=2), "vary width"),
        (toy_run(slot_bias=0.2, slates=9), "1 slate only in"),
        (moving("small", [0] * 3), "these runs cannot be compared"),
    ):
        with pytest.raises(UsageError, match=said):
            moved(run, other, rise=["tauPSI=0.1"])
    (one,) = moved(run, toy_run(slot_bias=0.2, width=2), rise=["tauPSI=1"], vary=("width",))
    assert one.outcome is PASSED


def test_a_run_is_no_baseline_of_itself(toy_run, tmp_path):
    run = toy_run(slot_bias=0.2)
    with pytest.raises(UsageError, match="is its own baseline"):
        moved(run, run, rise=["tauPSI=0.1"])
    shutil.copytree(run, tmp_path / "copy")
    (one,) = moved(run, tmp_path / "copy", rise=["tauPSI=0"])
    assert (one.value, one.low, one.high, one.outcome) == (0.0, 0.0, 0.0, PASSED)


def test_each_run_has_the_baseline_of_its_slates(toy_run):
    first, second = toy_run(slot_bias=0.2), toy_run(slot_bias=0.2, key="p")
    runs = [toy_run(slot_bias=0.3, key="p"), toy_run(slot_bias=0.3)]
    asked = (parse_change("rise", "tauPSI=1"),)
    found = judge(runs, GateSettings(asked, baselines=(first, second)))
    assert [run.facts["baseline"] for run in found.runs] == [str(second), str(first)]
    twins = (first, toy_run(slot_bias=0.1))
    with pytest.raises(UsageError, match="are both over the slates of"):
        judge(runs[1:], GateSettings(asked, baselines=twins))
    with pytest.raises(UsageError, match="cannot be compared"):
        judge([toy_run(slates=3)], GateSettings(asked, baselines=(first, second)))


def test_missing_scores_in_the_baseline(moving):
    run, partly = moving("a", [0] * 20), moving("b", [0] * 20, lost={7})
    (one,) = moved(run, partly, rise=["tauPSI=0.1"])
    assert (one.outcome, one.n, one.undefined) == (OPEN, 19, 1)
    assert "1 of 20 pairs lack a value" in one.reason
    for on in ("bound", "mean"):
        (one,) = moved(run, partly, rise=["tauPSI=0.1"], on=on, max_missing=0.05)
        assert (one.outcome, one.n) == (PASSED, 19)
    (one,) = moved(run, partly, rise=["tauPSI=0.1"], on="mean")
    assert one.outcome is OPEN


def test_a_baseline_without_scores_is_bad_input(moving):
    run, gone = moving("a", [0] * 3), moving("b", [0] * 3, lost={0, 1, 2})
    with pytest.raises(InputError, match="b: cannot be a baseline: given gave none"):
        moved(run, gone, rise=["tauPSI=0.1"])


def test_too_few_pairs_and_none(moving):
    before, after = moving("a", [0] * 5, grades=False), moving("b", [0] * 5, grades=False)
    (one,) = moved(after, before, rise=["tauPSI=0.1"], min_slates=6)
    assert (one.outcome, one.reason) == (OPEN, "5 pairs of slates, fewer than the 6 asked for")
    (one,) = moved(after, before, drop=["nDCG@10=0.1"])
    assert (one.outcome, one.n, one.undefined) == (OPEN, 0, 5)
    assert one.reason == "no slate has a value in both runs (5 undefined)"


def test_sets_cut_by_different_rules_are_refused(tmp_path):
    slates = [Slate(f"s{i}", "q", (Candidate("a", "x"), Candidate("b", "yy"))) for i in range(4)]
    lengths = scorer(lambda query, texts: [len(t) / 2 for t in texts])
    audit(lengths, slates, rows=2, out=tmp_path / "a", threshold=0.5)
    audit(lengths, slates, rows=2, out=tmp_path / "b")
    with pytest.raises(UsageError, match="cut by different rules"):
        moved(tmp_path / "a", tmp_path / "b", drop=["Overlap=0.1"])
    (one,) = moved(tmp_path / "a", tmp_path / "b", drop=["Overlap=0.1"], threshold=0.5)
    assert one.outcome is PASSED
    (one,) = moved(tmp_path / "a", tmp_path / "b", drop=["Overlap(t=0.5)=0.1"])
    assert one.outcome is PASSED


def test_stability_by_construction_is_not_compared(moving):
    run = moving("a", [0] * 5, scorer={"by_construction": "always in one order"})
    tau, quality = moved(run, moving("b", [0] * 5), rise=["tauPSI=0.1", "nDCG@10=0.1"])
    assert (tau.outcome, tau.reason[:22]) == (OPEN, "stable by construction")
    assert quality.outcome is PASSED


def test_one_pair_of_slates_says_why_it_decides_nothing(moving):
    baseline, candidate = moving("one baseline", [0]), moving("one candidate", [1])
    settings = GateSettings((parse_change("rise", "tauPSI=0.9"),), baselines=(baseline,))
    (run,) = judge([candidate], settings).runs
    assert run.results[0].outcome is Outcome.INCONCLUSIVE
    assert run.results[0].reason.startswith("one pair of slates has no interval")
