import pytest

from evenhand.errors import UsageError
from evenhand.present.design import design
from evenhand.remedy import apply
from evenhand.score.toy import Toy
from evenhand.study.against.compare import compare
from evenhand.study.found.analyse import analyse
from evenhand.study.rows.remedied import (
    by_construction,
    drawn_plan,
    probes_shared,
    remedy_facts,
    settled_elsewhere,
    too_few_ensembles,
)
from evenhand.study.rows.run import describe, run_study
from evenhand.types import Candidate, Slate

BIASED = Toy(slot_bias=0.5)


def slate(n, name="s"):
    candidates = tuple(Candidate(f"c{i}", f"text {i}") for i in range(n))
    return Slate(name, f"query {name}", candidates, {f"c{i}": i % 4 for i in range(n)})


def run(folder, names, rows=4, scorer=BIASED):
    slates = [slate(6, f"s{i}") for i in range(8)]
    return run_study(apply(scorer, names), slates, design(rows=rows), folder)


def test_records_say_which_remedies_and_what_they_are():
    assert remedy_facts(BIASED) == {}
    assert describe(apply(BIASED, ["interleave"]))["remedies"] == ["interleave"]
    assert remedy_facts(apply(BIASED, ["interleave", "average:4"])) == {
        "remedies": ["interleave", "average:4"],
        "draws": True,
    }
    assert "by_construction" in describe(apply(BIASED, ["sorted"]))


def test_facts_of_another_kind_are_not_taken_for_ours():
    class Chatty(Toy):
        facts = {"model": "x"}  # noqa: RUF012

    assert remedy_facts(Chatty()) == {}


def test_rows_of_a_scorer_that_draws_are_not_all_there_are():
    # 2! = 2 orders under M = 5: shown in turn, 0 1 then 1 0, until there are five.
    drawn, made = design(rows=5), apply(BIASED, ["average:2"])
    plan = drawn_plan(made, drawn, slate(2))
    orders = [shown.order for shown in plan.presentations]
    assert plan.kinds == ("canonical", *["random"] * 5, "repeat")
    assert orders == [(0, 1), (0, 1), (1, 0), (0, 1), (1, 0), (0, 1), (0, 1)]
    assert not plan.exhaustive


def test_other_plans_are_as_they_were():
    drawn, made = design(rows=5), apply(BIASED, ["average:2"])
    assert drawn_plan(BIASED, drawn, slate(2)) == drawn.draw(slate(2))
    assert drawn_plan(apply(BIASED, ["interleave"]), drawn, slate(2)) == drawn.draw(slate(2))
    assert drawn_plan(apply(Toy(), ["average:2"]), drawn, slate(2)) == drawn.draw(slate(2))
    assert drawn_plan(made, drawn, slate(6)) == drawn.draw(slate(6))


def test_a_plan_without_repeat_and_one_of_a_lone_candidate():
    made = apply(BIASED, ["average:2"])
    plan = drawn_plan(made, design(rows=3, repeat=False), slate(2))
    assert plan.kinds == ("canonical", *["random"] * 3)
    assert drawn_plan(made, design(rows=3), slate(1)).kinds == ("canonical", "random", "repeat")
    assert drawn_plan(made, design(rows=3), slate(0)).exhaustive is False


def test_the_report_says_what_is_stable_by_construction(tmp_path):
    analysis = analyse(run(tmp_path / "sorted", ["sorted"]))
    (found,) = [one for one in analysis.findings if one.code == "by_construction"]
    assert found.severity == "note"
    assert found.message.startswith("Stable by construction: `sorted` shows the same candidates")
    assert "under other salts" in found.message
    assert by_construction({}) is None
    plain = analyse(run(tmp_path / "plain", ["average:2"]))
    assert "by_construction" not in {one.code for one in plain.findings}


def test_what_is_stable_by_construction_is_left_out_of_agreement(tmp_path):
    runs = {name: [run(tmp_path / name, names)] for name, names in CONTENDERS.items()}
    found = compare(runs, pairs="all")
    asked = {(row.baseline, row.other, row.measure.partition("@")[0]) for row in found.rows}
    assert ("plain", "averaged", "tauPSI") in asked
    assert ("plain", "sorted", "nDCG") in asked
    assert {m for a, b, m in asked if "sorted" in (a, b)} == {"nDCG"}
    assert "sorted: stable by construction, agreement is not compared" in found.notes


CONTENDERS = {"plain": [], "averaged": ["average:2"], "sorted": ["sorted"]}


def test_averages_are_compared_over_four_ensembles_at_least(tmp_path):
    runs = {"plain": [run(tmp_path / "a", [], 3)], "averaged": [run(tmp_path / "b", ["average:2"], 3)]}
    with pytest.raises(UsageError, match=r"M = 3 random rows are fewer than 4 disjoint ensembles"):
        compare(runs)
    assert too_few_ensembles({"scorer": {"draws": True, "name": "x"}, "rows": 4}) is None
    assert too_few_ensembles({"scorer": {"draws": False}, "rows": 2}) is None
    assert too_few_ensembles({"rows": 2}) is None


def test_sets_cut_elsewhere_than_adaptive_settles_are_told(tmp_path):
    folder = run(tmp_path / "a", ["adaptive:threshold=0.3", "interleave"])
    fitted, given = analyse(folder), analyse(folder, threshold=0.3)
    (found,) = [one for one in fitted.findings if one.code == "settled_elsewhere"]
    assert found.message.startswith(
        "adaptive spends its orders on the decision at 0.3, and retained sets"
    )
    assert "settled_elsewhere" not in {one.code for one in given.findings}
    assert remedy_facts(apply(Toy(), ["adaptive:threshold=0.3"])).get("settles_at") is None
    assert remedy_facts(apply(BIASED, ["adaptive:best"])).get("settles_at") is None
    assert settled_elsewhere({"settles_at": 0.3}, None) is None


def test_probes_that_rows_share_are_told():
    found = probes_shared({"remedies": ["calibrate:text=none", "average:2"], "order_free": False})
    assert found is not None
    assert "one prompt for each width" in found.message
    # Alone, or blind: each slate is asked once and pays for all it needs.
    assert probes_shared({"remedies": ["calibrate", "isolated"], "order_free": True}) is None
    assert probes_shared({"remedies": ["average:2"], "order_free": False}) is None
    assert probes_shared({}) is None
