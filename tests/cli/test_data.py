import json

from evenhand.cli.data import survey
from evenhand.types import Candidate, Slate


def test_a_survey_counts_by_hand():
    slates = [
        Slate(
            "q1",
            "x",
            (Candidate("a", "same"), Candidate("b", " same "), Candidate("c", " ")),
            {"a": 2, "c": 0},
        ),
        Slate("q2", "y", (Candidate("a", "alone"),)),
    ]
    assert survey(slates) == {
        "slates": 2,
        "candidates": 4,
        "smallest_slate": 1,
        "largest_slate": 3,
        "slates_with_grades": 1,
        "judged_candidates": 2,
        "relevant_candidates": 1,
        "empty_texts": 1,
        "repeated_texts": 1,
    }


def test_check_counts_a_file(run, slates_file):
    ended = run("data", "check", slates_file(3, 4), "--json")
    assert ended.code == 0
    found = json.loads(ended.out)
    assert (found["slates"], found["candidates"]) == (3, 12)
    assert "slates" in run("data", "check", slates_file(3, 4)).out


def test_check_names_file_and_line_of_bad_input(run, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"id": "q", "query": "x", "candidates": []}\nnot json\n', encoding="utf-8")
    ended = run("data", "check", bad)
    assert (ended.code, ended.out) == (4, "")
    assert f"{bad}:2" in ended.err


def test_a_file_without_slates_is_4(run, tmp_path):
    (tmp_path / "empty.jsonl").write_text("", encoding="utf-8")
    assert run("data", "check", tmp_path / "empty.jsonl").code == 4


def test_convert_makes_slates_that_can_be_read_again(run, tmp_path):
    (tmp_path / "run.trec").write_text("q1 Q0 b 1 2.0 t\nq1 Q0 a 2 1.0 t\n", encoding="utf-8")
    (tmp_path / "qrels.txt").write_text("q1 0 a 3\n", encoding="utf-8")
    corpus = [{"_id": "a", "text": "alpha"}, {"_id": "b", "text": "beta"}]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)), encoding="utf-8")
    (tmp_path / "queries.jsonl").write_text(
        json.dumps({"_id": "q1", "text": "a query"}), encoding="utf-8"
    )
    out = tmp_path / "made" / "slates.jsonl"
    ended = run(
        "data", "convert", "--run", tmp_path / "run.trec", "--qrels", tmp_path / "qrels.txt",
        "--corpus", tmp_path / "corpus.jsonl", "--queries", tmp_path / "queries.jsonl", "--out", out,
        "--json",
    )  # fmt: skip
    assert ended.code == 0
    assert json.loads(ended.out)["slates"] == 1
    slate = json.loads(out.read_text("utf-8"))
    assert [candidate["id"] for candidate in slate["candidates"]] == ["b", "a"]
    assert slate["grades"] == {"a": 3}


def test_the_demo_slates_can_be_written_and_checked(run, tmp_path):
    out = tmp_path / "demo.jsonl"
    written = json.loads(run("data", "demo", "--out", out, "--json").out)["slates"]
    assert written >= 24
    assert json.loads(run("data", "check", out, "--json").out)["slates"] == written
