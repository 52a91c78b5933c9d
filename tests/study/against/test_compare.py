from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from evenhand.data.demo import demo_slates
from evenhand.errors import NothingMeasuredError, UsageError
from evenhand.measure.family import holm
from evenhand.measure.paired import PairedOptions, paired
from evenhand.present.design import design
from evenhand.score.toy import Toy
from evenhand.study.against.compare import compare
from evenhand.study.analysis import ThresholdFit
from evenhand.study.found.analyse import analyse
from evenhand.study.rows.run import run_study

NAN = float("nan")
QUICK = PairedOptions(draws=2000)
ORDERS = [(1, 0, 2, 3), (3, 2, 1, 0)]
STEADY = np.tile([4.0, 3.0, 2.0, 1.0], (4, 1))


@pytest.fixture(scope="module")
def toys(tmp_path_factory):
    """Runs of toys over the demo slates: bias .4, bias .2, both with noise."""
    root = tmp_path_factory.mktemp("toys")
    dials = {
        "strong": {"slot_bias": 0.4},
        "weak": {"slot_bias": 0.2},
        "noisy": {"slot_bias": 0.2, "noise": 0.5},
        "noisier": {"slot_bias": 0.2, "noise": 0.52},
    }
    drawn = design("reorder", rows=6, width=5)
    slates = list(demo_slates())[:20]
    return {name: run_study(Toy(**found), slates, drawn, root / name) for name, found in dials.items()}


def only(found, measure):
    (row,) = [row for row in found.rows if row.measure == measure]
    return row


def test_a_stronger_slot_bias_differs(toys):
    found = compare({"strong": [toys["strong"]], "weak": [toys["weak"]]}, options=QUICK)
    row = only(found, "tauPSI")
    assert (row.baseline, row.other, row.verdict) == ("strong", "weak", "differs")
    assert row.paired.difference < -0.05
    assert row.paired.high < 0
    assert row.adjusted < 0.01
    assert row.exceeds_noise
    assert (row.paired.n, row.paired.missing, row.undefined, found.missing_scores) == (20, 0, 0, 0)
    assert found.slates == (20,)
    assert found.systems[1].scorers == ("toy:slot_bias=0.2",)


def test_numbers_are_those_of_the_analyses(toys):
    found = compare({"a": [toys["strong"]], "b": [toys["weak"]]}, options=QUICK)
    one, other = (analyse(toys[name], save=False) for name in ("strong", "weak"))
    for row, key in zip(
        found.rows, ("tauPSI", "Overlap", "PairFlip", "nDCG@10", "nDCG@10, shuffled"), strict=True
    ):
        assert row.paired == paired(one.per_slate[key], other.per_slate[key], options=QUICK)
    assert [row.adjusted for row in found.rows] == list(holm([row.paired.p for row in found.rows]))
    assert found.family == 5


def test_a_scorer_against_itself(toys):
    found = compare({"a": [toys["noisy"]], "b": [toys["noisy"]]}, options=QUICK)
    for row in found.rows:
        assert (row.paired.difference, row.paired.p, row.adjusted) == (0.0, 1.0, 1.0)
        assert row.verdict == "not shown"


def test_a_difference_under_the_noise_floor_is_not_claimed(toys):
    found = compare({"a": [toys["noisy"]], "b": [toys["noisier"]]}, measures=["tauPSI"], options=QUICK)
    row = found.rows[0]
    # Noise of .5 on scores in 0..1 swaps a good part of the pairs when scored twice.
    assert min(row.floors) > 0.1
    assert row.exceeds_noise is False
    sure = replace(row, adjusted=0.001)
    assert sure.verdict == "within noise"
    assert replace(sure, floors=(NAN, NAN)).verdict == "differs"
    # At most alpha is enough; 1 - .95 is .050000000000000044.
    assert replace(sure, adjusted=0.05, floors=(NAN, NAN)).verdict == "differs"
    assert any("unsteady" in note for note in found.notes)


def test_all_pairs_make_one_family(toys):
    groups = {name: [toys[name]] for name in ("strong", "weak", "noisy")}
    first = compare(groups, measures=["tauPSI"], options=QUICK)
    assert [(row.baseline, row.other) for row in first.rows] == [
        ("strong", "weak"),
        ("strong", "noisy"),
    ]
    every = compare(groups, measures=["tauPSI"], pairs="all", options=QUICK)
    assert [(row.baseline, row.other) for row in every.rows][2] == ("weak", "noisy")
    assert (first.family, every.family) == (2, 3)
    with pytest.raises(UsageError, match="unknown pairs 'some'"):
        compare(groups, pairs="some")


def test_matched_retention(toys):
    groups = {"a": [toys["strong"]], "b": [toys["weak"]]}
    found = compare(groups, measures=["Overlap"], match_retention=True, options=QUICK)
    assert found.matched
    assert any("the share that the baseline keeps" in note for note in found.notes)
    assert found.rows[0].paired != compare(groups, measures=["Overlap"], options=QUICK).rows[0].paired


def test_matched_retention_by_hand(kit, tmp_path):
    # Only a is relevant. In the baseline it is the best and F1 keeps it alone: a quarter. In the
    # other it is third, so keeping three gives the best F1, 2 / 4: three quarters.
    graded = [(kit.slate(f"s{at}", grades={"a": 1}), kit.plan(ORDERS), STEADY) for at in range(4)]
    worse = np.tile([2.0, 4.0, 3.0, 1.0], (4, 1))
    moved = [(slate, plan, worse) for slate, plan, _ in graded]
    a, b = kit.run(tmp_path / "a", graded), kit.run(tmp_path / "b", moved)
    free = compare({"a": [a], "b": [b]}, measures=["Retained"], options=QUICK).rows[0]
    assert (free.paired.mean_a, free.paired.mean_b) == (0.25, 0.75)
    matched = compare(
        {"a": [a], "b": [b]}, measures=["Retained"], match_retention=True, options=QUICK
    ).rows[0]
    assert (matched.paired.mean_a, matched.paired.mean_b) == (0.25, 0.25)


def test_measures_may_be_named(toys):
    found = compare(
        {"a": [toys["strong"]], "b": [toys["weak"]]}, measures=["Overlap(t=0.3)"], options=QUICK
    )
    assert [row.measure for row in found.rows] == ["Overlap(t=0.3)"]


def test_thresholds_of_different_rules_are_refused(toys, monkeypatch):
    def fake(folder, **options):
        found = analyse(folder, **options)
        if folder is toys["weak"]:
            return replace(found, threshold=ThresholdFit("quantile", (0.5,), None, "r"))
        return found

    monkeypatch.setattr("evenhand.study.against.lines.analyse", fake)
    groups = {"a": [toys["strong"]], "b": [toys["weak"]]}
    with pytest.raises(
        UsageError, match=r"Overlap .*'a': f1 at grade >= 1; 'b': quantile.*match_retention"
    ):
        compare(groups)
    assert compare(groups, measures=["Overlap(t=0.3)", "tauPSI"], options=QUICK).rows
    assert compare(groups, match_retention=True, options=QUICK).rows


def entries(kit, scores, **more):
    return [(kit.slate(f"s{at}", **more), kit.plan(ORDERS), found) for at, found in enumerate(scores)]


def holed(row=2, column=1):
    scores = STEADY.copy()
    scores[row, column] = NAN
    return scores


def test_slates_that_lack_scores_are_no_pairs(kit, tmp_path):
    moved = STEADY.copy()
    moved[2] = STEADY[2, ::-1]
    a = kit.run(tmp_path / "a", entries(kit, [STEADY] * 4))
    b = kit.run(tmp_path / "b", entries(kit, [moved, moved, STEADY, holed()]))
    groups = {"a": [a], "b": [b]}
    found = compare(groups, measures=["tauPSI"], options=QUICK)
    row = found.rows[0]
    # tauPSI of the slate with a hole would be defined (0) from the other candidates.
    assert (row.paired.n, row.paired.missing, row.undefined) == (3, 1, 0)
    assert row.paired.difference == pytest.approx(2 / 3)
    assert math.isnan(row.paired.p)
    assert (row.verdict, found.family, found.missing_scores) == ("withheld", 0, 1)
    assert any("b: 1 slate without all scores" in note for note in found.notes)
    assert any("1 of 4 pairs lack a value" in note for note in found.notes)
    spared = compare(groups, measures=["tauPSI"], options=replace(QUICK, max_missing=0.3))
    allowed = spared.rows[0]
    # Differences 1, 1, 0: a resampled mean lies between 0 and 1. No allowance buys a p-value.
    assert (allowed.paired.low, allowed.paired.high, allowed.paired.missing) == (0, 1, 1)
    assert math.isnan(allowed.paired.p)
    assert math.isnan(allowed.adjusted)
    assert (allowed.verdict, spared.family) == ("withheld", 0)
    assert any("no p-value, 1 of 4 pairs lack a value; means" in note for note in spared.notes)


def test_slates_undefined_for_both_are_no_pairs_but_withhold_nothing(kit, tmp_path):
    slates = [
        (kit.slate(f"s{at}", grades={"a": 1} if at else None), kit.plan(ORDERS), STEADY)
        for at in range(4)
    ]
    a, b = (kit.run(tmp_path / name, slates) for name in "ab")
    row = compare({"a": [a], "b": [b]}, measures=["nDCG@10, served"], options=QUICK).rows[0]
    assert (row.paired.n, row.paired.missing, row.undefined) == (3, 0, 1)
    assert row.paired.p == 1.0


def test_usual_measures_that_no_slate_defines_are_left_out(kit, tmp_path):
    a, b = (kit.run(tmp_path / name, entries(kit, [STEADY] * 3)) for name in "ab")
    found = compare({"a": [a], "b": [b]}, options=QUICK)
    assert [row.measure for row in found.rows] == ["tauPSI", "Overlap", "PairFlip"]
    with pytest.raises(NothingMeasuredError, match="nDCG@10, served, nDCG@10, shuffled"):
        compare({"a": [a], "b": [b]}, measures=["nDCG@10"])


def test_one_slate_has_no_test(kit, tmp_path):
    a, b = (kit.run(tmp_path / name, entries(kit, [STEADY])) for name in "ab")
    row = compare({"a": [a], "b": [b]}, measures=["tauPSI"], options=QUICK).rows[0]
    assert row.verdict == "withheld"
    assert "needs at least 2" in row.paired.withheld


def shifted(by, count=3):
    """Slates of which `by` have their second random row reversed: tauPSI 1 there, else 0."""
    moved = STEADY.copy()
    moved[2] = STEADY[2, ::-1]
    return [moved if at < by else STEADY for at in range(count)]


def test_collections_and_seeds(kit, tmp_path):
    def run(name, ids, by):
        found = [(kit.slate(f"{ids}{at}"), kit.plan(ORDERS), s) for at, s in enumerate(shifted(by))]
        return kit.run(tmp_path / name, found)

    a = [run("a1", "p", 0), run("a2", "q", 3)]
    b = [run("b1", "p", 3), run("b1s", "p", 0), run("b2", "q", 3), run("b2s", "q", 0)]
    found = compare({"a": a, "b": b}, measures=["tauPSI"], options=QUICK)
    row = found.rows[0]
    # a: (0 + 1) / 2; b: seed 0 (1 + 1) / 2, seed 1 (0 + 0) / 2, together .5.
    assert (row.paired.mean_a, row.paired.mean_b, row.paired.difference) == (0.5, 0.5, 0.0)
    assert row.paired.resampled == "slates within each of 2 collections, and training seeds (2)"
    # Both draws of a seed the same: -.5 or +.5, each with chance 1/4.
    assert (row.paired.low, row.paired.high) == (-0.5, 0.5)
    assert found.slates == (3, 3)
    assert [len(group) for group in found.systems[1].runs] == [2, 2]


def test_values_are_paired_by_slate_id(kit, tmp_path):
    scores = shifted(2, 4)
    forward = [(kit.slate(f"s{at}"), kit.plan(ORDERS), s) for at, s in enumerate(scores)]
    a = kit.run(tmp_path / "a", forward)
    b = kit.run(tmp_path / "b", forward[::-1])
    row = compare({"a": [a], "b": [b]}, measures=["tauPSI"], options=QUICK).rows[0]
    assert (row.paired.difference, row.paired.low, row.paired.high) == (0.0, 0.0, 0.0)


def test_nothing_is_written_into_the_runs(toys):
    before = sorted(path.name for path in toys["weak"].path.iterdir())
    compare({"a": [toys["strong"]], "b": [toys["weak"]]}, measures=["tauPSI"], options=QUICK)
    assert sorted(path.name for path in toys["weak"].path.iterdir()) == before


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: compare(["a", "b"]), "mapping of a name to its run folders, got"),
        (lambda: compare("ab"), "mapping of a name to its run folders, got 'ab'"),
        (lambda: compare(None), "mapping of a name"),
        (
            lambda: compare({"a": "runs/a", "b": "runs/b"}),
            "the runs of 'a' must be a list of run folders",
        ),
        (lambda: compare({"a": [3], "b": [4]}), "a run is a folder's path or a RunFolder, got 3"),
        (lambda: compare({"a": None, "b": None}), "the runs of 'a' must be a list"),
        (lambda: compare({1: ["x"], 2: ["y"]}), "a system is called by a text, got 1"),
        (lambda: compare({"a": ["x"], "b": ["y"]}, vary="width"), "vary must be a list of settings"),
        (lambda: compare({"a": ["x"], "b": ["y"]}, vary=[None]), "vary must hold str, got None"),
        (
            lambda: compare({"a": ["x"], "b": ["y"]}, measures="tauPSI"),
            "measures must be a list of names",
        ),
        (lambda: compare({"a": ["x"], "b": ["y"]}, measures=[3]), "measures must hold str, got 3"),
        (lambda: compare({"a": ["x"], "b": ["y"]}, measures=3), "measures must be a list"),
        (lambda: compare({"a": ["x"], "b": ["y"]}, pairs=None), "unknown pairs None"),
        (lambda: compare({"a": ["x"], "b": ["y"]}, options=3), "options must be PairedOptions, got 3"),
    ],
)
def test_wrong_kinds_are_refused_by_name(call, said):
    with pytest.raises(UsageError, match=said):
        call()


def test_five_slates_have_no_detectable_difference_and_a_note_says_why(tmp_path):
    drawn, slates = design("reorder", rows=4, width=5), list(demo_slates())[:5]
    runs = {
        name: [run_study(Toy(slot_bias=bias), slates, drawn, tmp_path / name)]
        for name, bias in (("a", 0.4), ("b", 0.2))
    }
    found = compare(runs, measures=["tauPSI", "OrderSD"], options=QUICK)
    assert math.isnan(found.rows[0].paired.detectable)
    said = (
        "tauPSI, OrderSD of a and b: no detectable difference, the exact permutation test of 5 slates"
    )
    # One reason stands once, whatever lacks a number for it.
    assert sum(note.startswith(said) for note in found.notes) == 1
    assert sum("no detectable difference" in note for note in found.notes) == 1


def test_places_of_a_ranking_are_no_scores_to_cut_unless_asked(kit, tmp_path):
    slates = [(kit.slate(f"s{at}", grades={"a": 1}), kit.plan(ORDERS), STEADY) for at in range(4)]
    scored = kit.run(tmp_path / "scored", slates)
    ranking = kit.run(tmp_path / "ranking", slates, {"order_only": True})
    groups = {"scored": [scored], "ranking": [ranking]}
    found = compare(groups, options=QUICK)
    usual = ["tauPSI", "PairFlip", "nDCG@10, served", "nDCG@10, shuffled"]
    assert [row.measure for row in found.rows] == usual
    assert any(note.startswith("ranking: its scores are places") for note in found.notes)
    named = compare(groups, measures=["Overlap", "tauPSI"], options=QUICK)
    assert [row.measure for row in named.rows] == ["Overlap", "tauPSI"]
