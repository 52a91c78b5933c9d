"""Whole runs with known answers, and the cases of scorers that misbehave."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from evenhand.errors import NothingMeasuredError, ResumeError, ScorerError, UsageError
from evenhand.present.design import design
from evenhand.records import RunFolder
from evenhand.score.function import scorer
from evenhand.score.toy import Toy
from evenhand.study.found.advise import advise_run
from evenhand.study.found.analyse import analyse
from evenhand.study.found.summary import analysis_from_dict, analysis_to_dict
from evenhand.study.found.verdict import Verdict, verdict
from evenhand.study.rows.run import run_study
from evenhand.types import Candidate, Scored, Slate

GRADES = dict(zip("ABCDEF", (3, 3, 2, 2, 1, 0), strict=True))
ORDER_1 = [0.83, 0.80, 0.52, 0.48, 0.29, 0.08]
ORDER_2 = [0.81, 0.78, 0.49, 0.51, 0.30, 0.07]


def slates(count=12, n=6):
    return [
        Slate(
            f"s{i}",
            f"query {i}",
            tuple(Candidate(f"c{j}", f"text {i} {j}") for j in range(n)),
            {f"c{i % n}": 2},
        )
        for i in range(count)
    ]


def study(tmp_path, given, items=None, **settings):
    return run_study(given, slates() if items is None else items, design(**settings), tmp_path / "run")


def codes(analysis):
    return {finding.code: finding.severity for finding in analysis.findings}


def test_the_worked_example(kit, tmp_path):
    slate = kit.slate("q", "ABCDEF", GRADES)
    plan = kit.plan([(0, 1, 2, 3, 4, 5), (5, 4, 3, 2, 1, 0)])
    folder = kit.run(tmp_path / "run", [(slate, plan, [ORDER_1, ORDER_1, ORDER_2, ORDER_1])])
    found = analyse(folder, threshold=0.5)
    # One swap of C and D in 15 pairs; sets {A, B, C} and {A, B, D}: 2 of 4.
    assert found.stability["tauPSI"].mean == pytest.approx(1 / 15)
    assert found.decisions["Overlap"].mean == 0.5
    assert found.served["nDCG@10"].mean == found.shuffled["nDCG@10"].mean == 1
    # F1 of {A, B, C} against the five relevant: 2 * 3 / (3 + 5).
    assert found.served["F1"].mean == pytest.approx(0.75)
    assert found.floor["tauPSI"].mean == 0
    assert found.floor["Overlap"].mean == 1
    assert found.threshold.rule == "fixed"
    assert found.per_slate["threshold"].tolist() == [0.5]
    assert (found.cost.prompts_per_slate, found.cost.tokens_per_slate) == (1, 10)
    assert found.slate_ids == ("q",)
    decided = pq.read_table(folder.path / "decisions.parquet").to_pylist()
    assert [one["retained"] for one in decided if one["consumer"] == "threshold"][1:3] == [
        ["A", "B", "C"],
        ["A", "B", "D"],
    ]


def test_high_grades_have_sets_of_their_own(kit, tmp_path):
    # 8 slates alike: a grade 2, b grade 1, scored .9 .6 .3 .1. Relevant from 1 on are a and b: kept
    # whole from t = .45, F1 1. From 2 on it is a: t = .75 in both folds.
    plan = kit.plan([(0, 1, 2, 3), (3, 2, 1, 0)])
    rows = [[0.9, 0.6, 0.3, 0.1], [0.9, 0.6, 0.3, 0.1], [0.6, 0.9, 0.3, 0.1], [0.9, 0.6, 0.3, 0.1]]
    entries = [(kit.slate(f"s{i}", grades={"a": 2, "b": 1}), plan, rows) for i in range(8)]
    folder = kit.run(tmp_path / "run", entries)
    found = analyse(folder)
    assert found.threshold.folds == pytest.approx((0.45, 0.45))
    assert (found.threshold_high.rule, found.threshold_high.min_grade) == ("f1", 2)
    assert found.threshold_high.folds == pytest.approx((0.75, 0.75))
    # Both rows keep {a, b} at .45; at .75 one keeps a and the other b: nothing shared.
    assert found.decisions["Overlap"].mean == 1
    assert found.decisions["Overlap(rel=2)"].mean == 0
    assert (found.served["F1"].mean, found.served["F1(rel=2)"].mean) == (1, 1)
    # Shuffled: a alone is right, b alone is wrong.
    assert (found.shuffled["F1"].mean, found.shuffled["F1(rel=2)"].mean) == (1, 0.5)
    assert analysis_from_dict(json.loads(json.dumps(analysis_to_dict(found)))).threshold_high == (
        found.threshold_high
    )
    fixed = analyse(folder, threshold=0.5)
    assert fixed.threshold_high is None
    assert "Overlap(rel=2)" not in fixed.decisions
    low = [(kit.slate(f"s{i}", grades={"a": 1}), plan, rows) for i in range(8)]
    assert analyse(kit.run(tmp_path / "low", low)).threshold_high is None
    # Grades 0 and 2 alone: both cuts would be one, and the rows the same twice.
    both = [(kit.slate(slate.id, grades={"a": 2, "c": 0}), plan, rows) for slate, plan, rows in low]
    alike = analyse(kit.run(tmp_path / "both", both))
    assert (alike.threshold.rule, alike.threshold_high) == ("f1", None)
    assert "F1(rel=2)" not in alike.served


def test_c5_scores_by_received_place(kit, tmp_path):
    orders = [tuple((i + shift) % 4 for i in range(4)) for shift in range(4)]
    plan = kit.plan(orders)
    rows = [1 - shown.positions() / 4 for shown in plan.presentations]
    folder = kit.run(tmp_path / "run", [(kit.slate(), plan, rows)])
    found = analyse(folder, threshold=0.5)
    # Over the 6 distinct pairs: 4 at shift 1 or 3 with 3 of 6 pairs swapped, 2 at shift 2 with 4 of 6.
    assert found.stability["tauPSI"].mean == pytest.approx((4 * 3 + 2 * 4) / 6 / 6)
    assert found.decisions["Overlap"].mean == pytest.approx(0.5)
    assert found.decisions["FirstSlot"].mean == 1
    np.testing.assert_allclose(found.slot_curve.y["score"], [1, 0.75, 0.5, 0.25])
    assert "near_random" in codes(found)


def test_c1_a_stale_cache_is_unsteady(tmp_path):
    class Stale(Toy):
        """Scores by place; from the second call on, scores of the first call's reversed order."""

        calls = 0

        def score(self, shown):
            type(self).calls += 1
            results = super().score(shown)
            return (
                results if self.calls == 1 else [Scored(one.scores[::-1], prompts=1) for one in results]
            )

    # One part: its second call is the repeat rows'.
    folder = run_study(
        Stale(relevance="position"), slates(), design(rows=4), tmp_path / "run", part_size=12
    )
    found = analyse(folder)
    assert codes(found)["unsteady"] == "error"
    # The canonical row against its reverse.
    assert found.floor["tauPSI"].mean == 1
    assert verdict(found) is Verdict.MEASURED
    assert verdict(found, strict=True) is Verdict.INCONCLUSIVE


def test_c20_constant_scores_are_degenerate_not_unstable(tmp_path):
    folder = study(
        tmp_path, scorer(lambda query, texts: [0.5] * len(texts), scale="unit"), slates(1, 4), rows=4
    )
    found = analyse(folder)
    assert found.stability["tauPSI"].mean == 0
    assert found.counts["degenerate_slates"] == 1
    assert codes(found)["degenerate"] == "warning"
    assert codes(found)["collapse"] == "warning"
    assert found.overlap_curve.x.tolist() == [0.5]


def test_c31_one_value_says_how_a_run_ended(tmp_path):
    def fails_on(*queries):
        def f(query, texts):
            if query in queries:
                raise TimeoutError("no answer")
            return [len(text) + int(text[-1]) for text in texts]

        return scorer(f, name="flaky", revision=str(len(queries)))

    whole = analyse(run_study(fails_on(), slates(), design(rows=3), tmp_path / "0"))
    assert verdict(whole) is Verdict.MEASURED
    part = analyse(run_study(fails_on("query 3"), slates(), design(rows=3), tmp_path / "1"))
    assert verdict(part).exit_code == 7
    # One slate of 6 candidates in 5 rows.
    assert (part.counts["failed_rows"], part.counts["missing_scores"]) == (5, 30)
    assert (part.stability["tauPSI"].n, part.stability["tauPSI"].undefined) == (11, 1)
    assert "no answer" in next(one.message for one in part.findings if one.code == "failures")
    every = [slate.query for slate in slates()]
    failed = run_study(fails_on(*every), slates(), design(rows=3), tmp_path / "12")
    # One rule for all studies: a scorer that failed on everything is 6, not 5.
    for look in (analyse, advise_run):
        with pytest.raises(ScorerError, match="flaky gave none of 360 scores, .*no answer") as caught:
            look(failed)
        assert caught.value.exit_code == 6


def picks(kit, tmp_path, grades, ids="abc", **gold):
    """A run whose best is a in the canonical row and b, a in the random ones."""
    rest = [0.1] * (len(ids) - 2)
    rows = [[0.9, 0.5, *rest], [0.3, 0.5, *rest], [0.9, 0.5, *rest], [0.9, 0.5, *rest]]
    orders = [tuple(reversed(range(len(ids)))), (1, 0, *range(2, len(ids)))]
    plan = kit.plan(orders)
    slate = replace(kit.slate("s", ids, grades), **gold)
    return analyse(kit.run(tmp_path / "run", [(slate, plan, rows)]), threshold=0.4)


def test_a_pick_from_a_few_is_right_or_wrong_unasked(kit, tmp_path):
    found = picks(kit, tmp_path, {"a": 1})
    # Right in one of two random rows; margins .2 (b before a) and .4.
    assert found.decisions["CorrectFlip"].mean == 1
    assert found.decisions["Margin"].mean == pytest.approx(0.3)
    assert (found.served["GoldAccuracy"].mean, found.shuffled["GoldAccuracy"].mean) == (1, 0.5)
    assert found.floor["CorrectFlip"].mean == 0


@pytest.mark.parametrize(
    ("grades", "ids", "gold"),
    [
        (None, "abc", {}),  # no gold
        ({"a": 2, "b": 1}, "abc", {}),  # three levels: a grade is no right or wrong
        ({"a": 0}, "abc", {}),  # one level: nothing is a wrong pick
        ({"a": 1}, "abcdefghi", {}),  # nine candidates
        ({"a": 1}, "abc", {"answers": ("x",)}),  # evidence for a reader
        ({"a": 1}, "abc", {"verdict": "SUPPORTS"}),
    ],
)
def test_other_slates_ask_for_no_pick(kit, tmp_path, grades, ids, gold):
    found = picks(kit, tmp_path, grades, ids, **gold)
    assert not {"CorrectFlip", "Margin"} & found.decisions.keys()
    assert not {"GoldAccuracy"} & found.served.keys()


def test_missing_scores_are_never_zero(kit, tmp_path):
    nan = math.nan
    plan = kit.plan([(1, 0, 2), (2, 1, 0)])
    rows = [[0.9, nan, 0.1], [0.9, nan, 0.1], [0.8, 0.5, 0.2], [0.9, nan, 0.1]]
    found = analyse(
        kit.run(tmp_path / "run", [(kit.slate("s", "abc", {"a": 1}), plan, rows)]), threshold=0.1
    )
    # b is left out of the one pair of rows: {a, c} in both.
    assert found.stability["tauPSI"].mean == 0
    assert found.decisions["Overlap"].mean == 1
    assert found.counts["missing_scores"] == 3


@pytest.mark.parametrize(
    ("items", "says"),
    [
        ([], "the run has no slates"),
        ([Slate("e", "q", ())], "of 1 slate, 1 without candidates and 0 with one"),
        ([Slate("e", "q", (Candidate("a", "t"),))], "of 1 slate, 0 without candidates and 1 with one"),
    ],
)
def test_nothing_measured(tmp_path, items, says):
    with pytest.raises(NothingMeasuredError, match=says):
        analyse(study(tmp_path, Toy(), items))


def test_one_random_row_measures_nothing_and_says_what_to_do(tmp_path):
    with pytest.raises(NothingMeasuredError, match=r"M = 1 .*agreement needs two\. .*--rows 10"):
        analyse(run_study(Toy(), slates(), design(rows=1), tmp_path / "run"))


def test_companions_of_a_whole_slate_measure_nothing_and_say_what_to_do(tmp_path):
    drawn = design("companions", rows=3, width=20)
    with pytest.raises(NothingMeasuredError, match=r"'companions' at width 20 .*under the number"):
        analyse(run_study(Toy(), slates(), drawn, tmp_path / "run"))


@pytest.mark.parametrize(("cut", "code"), [(-9.0, "keeps_all"), (0.5, None)])
def test_a_threshold_that_keeps_everything_is_found(tmp_path, cut, code):
    wide = [Slate(f"w{n}", f"q{n}", tuple(Candidate(f"c{j}", "t") for j in range(4))) for n in range(3)]

    def f(query, texts):
        return [-9.0, 0.0, 1.0, 10.0]

    found = codes(analyse(run_study(scorer(f), wide, design(rows=4), tmp_path / "run"), threshold=cut))
    # At the lowest score all is kept; at .5, the two highest of four.
    assert ("keeps_all" in found) == (code == "keeps_all")
    assert "keeps_none" not in found


def test_small_slates_are_kept_and_counted(tmp_path):
    small = [Slate(f"n{n}", "q", tuple(Candidate(f"c{j}", "t") for j in range(n))) for n in range(4)]
    found = analyse(study(tmp_path, Toy(relevance="position"), small))
    # All 2 and 6 orders of two and three candidates: a position-only scorer is at .5 over all pairs.
    np.testing.assert_allclose(found.per_slate["tauPSI"], [np.nan, np.nan, 0.5, 0.5])
    assert (found.counts["empty_slates"], found.counts["single_candidate_slates"]) == (1, 1)
    assert found.counts["exhaustive_slates"] == 2
    assert codes(found)["exhaustive"] == "note"


def test_an_order_free_scorer_is_perfectly_stable_and_verified(tmp_path):
    found = analyse(study(tmp_path, Toy()))
    assert found.stability["tauPSI"].mean == 0
    assert found.decisions["Overlap"].mean == 1
    assert codes(found) == {"order_free": "note"}
    # One presentation is one prompt, although nine rows of ten were reused.
    assert found.cost.prompts_per_slate == 1


def test_a_false_promise_of_order_freedom_is_an_error(tmp_path):
    def place(query, texts):
        return [-i for i in range(len(texts))]

    found = analyse(study(tmp_path, scorer(place, name="place", revision="1", order_free=True)))
    assert codes(found)["not_order_free"] == "error"


def test_thresholds_are_cross_fitted_with_grades_and_a_quantile_without(kit, tmp_path):
    graded = analyse(study(tmp_path, Toy(slot_bias=0.1)))
    assert graded.threshold.rule == "f1"
    assert graded.threshold.revision.startswith(Toy(slot_bias=0.1).revision + "+")
    assert set(graded.per_slate["threshold"]) == set(graded.threshold.folds)
    bare = [Slate(one.id, one.query, one.candidates) for one in slates(1, 6)]
    folder = run_study(Toy(relevance="position"), bare, design(rows=3), tmp_path / "bare")
    found = analyse(folder)
    # Canonical scores 1, 5/6, .. 1/6: the 80% quantile lies at place .8 * 5 = 4 of the rising order.
    assert found.threshold.rule == "quantile"
    assert found.threshold.folds == (pytest.approx(5 / 6),)
    assert codes(found)["threshold_by_quantile"] == "note"
    assert found.served == {}


def test_a_threshold_outside_the_scores_is_refused(tmp_path):
    with pytest.raises(UsageError, match="outside the observed scores"):
        analyse(study(tmp_path, Toy(slot_bias=0.1)), threshold=5.0)


def test_an_unfinished_run_is_refused(kit, tmp_path):
    with RunFolder.begin(tmp_path, {"rows": 2}, [kit.slate()], 2):
        pass
    with pytest.raises(ResumeError, match="not finished"):
        analyse(RunFolder.open(tmp_path))


def test_the_summary_reads_back_and_the_run_is_left_as_it_was(tmp_path):
    folder = study(tmp_path, Toy(slot_bias=0.3), [*slates(), Slate("e", "q", ())])
    scores = (folder.path / "scores.parquet").read_bytes()
    found = analyse(folder)
    stored = json.loads((folder.path / "summary.json").read_text())
    assert stored["per_slate"]["tauPSI"][-1] is None
    assert stored == analysis_to_dict(found) == analysis_to_dict(analysis_from_dict(stored))
    assert (folder.path / "scores.parquet").read_bytes() == scores
    # Analysed again, resumed and analysed again: the same.
    study(tmp_path, Toy(slot_bias=0.3), [*slates(), Slate("e", "q", ())])
    assert analysis_to_dict(analyse(RunFolder.open(folder.path))) == stored


def test_nothing_is_written_when_not_wanted(tmp_path):
    folder = study(tmp_path, Toy(slot_bias=0.3))
    before = set(os.listdir(folder.path))
    analyse(folder, save=False)
    assert set(os.listdir(folder.path)) == before


def test_slates_beyond_one_batch_keep_their_order(tmp_path):
    items = slates(70, 3)
    found = analyse(study(tmp_path, Toy(slot_bias=0.9), items, rows=2))
    alone = analyse(
        run_study(Toy(slot_bias=0.9), items[66:67], design(rows=2), tmp_path / "one"), threshold=0.1
    )
    assert found.slate_ids[66] == "s66"
    assert len(found.per_slate["tauPSI"]) == 70
    assert found.per_slate["tauPSI"][66] == alone.per_slate["tauPSI"][0]
