"""`evenhand advise` on runs of toys."""

import json


def audited(run, slates, folder, scorer):
    assert run("audit", slates, "--scorer", scorer, "--rows", 4, "--out", folder).code == 0


def test_the_advised_threshold_is_marked_in_the_curve(run, slates_file, tmp_path):
    audited(run, slates_file(12, 6), tmp_path / "toy", "toy:slot_bias=0.05")
    ended = run("advise", tmp_path / "toy", "--lines", 5)
    assert ended.code == 0
    assert ended.out.startswith("advised threshold: ")
    marked = [line for line in ended.out.splitlines() if line.startswith("* ")]
    assert len(marked) == 1


def test_json_and_store(run, slates_file, tmp_path):
    audited(run, slates_file(12, 6), tmp_path / "toy", "toy")
    ended = run("advise", tmp_path / "toy", "--store", "--json")
    advice = json.loads(ended.out)
    stored = json.loads((tmp_path / "toy" / "threshold.json").read_text())
    assert stored["threshold"] == advice["threshold"]
    assert stored["revision"] == advice["revision"] != ""


def test_none_is_advised_where_no_sets_agree(run, slates_file, tmp_path):
    audited(run, slates_file(12, 6), tmp_path / "toy", "toy:relevance=position")
    ended = run("advise", tmp_path / "toy", "--floor", 0.99)
    assert ended.code == 8
    assert "advised threshold: none (" in ended.out


def test_a_folder_without_a_run_is_refused(run, tmp_path):
    assert run("advise", tmp_path).code == 4


def test_a_grade_that_no_candidate_has_is_refused(run, slates_file, tmp_path):
    audited(run, slates_file(6, 4), tmp_path / "toy", "toy")
    ended = run("advise", tmp_path / "toy", "--min-grade", 99)
    assert (ended.code, ended.out) == (2, "")
    assert "no candidate has a grade of 99 or more, the highest is 3" in " ".join(ended.err.split())


def test_failed_canonical_rows_end_with_7(run, tmp_path):
    from evenhand.present.design import design
    from evenhand.score import scorer
    from evenhand.study.rows.run import run_study
    from evenhand.types import Candidate, Slate

    grades = {"c0": 1}
    slates = [
        Slate(f"q{q}", f"{q}", tuple(Candidate(f"c{i}", f"{i}") for i in range(5)), grades)
        for q in range(5)
    ]

    def score(query, texts):
        # Of three slates only the canonical presentation and its like fail.
        lost = int(query) < 3 and list(texts) == sorted(texts)
        return [float("nan") if lost else -float(text) for text in texts]

    run_study(scorer(score, name="odd"), slates, design("reorder", rows=3), tmp_path / "odd")
    ended = run("advise", tmp_path / "odd")
    assert ended.code == 7
    assert "3 of 5 slates without a canonical row, left out of F1" in ended.out
    # The relevant one scores highest throughout.
    assert "on the other: 1.000" in ended.out
