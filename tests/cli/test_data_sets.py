"""`evenhand data list`, `plan`, `fetch` and `check` of declared collections."""

import json
import os
import time

import pytest

from evenhand.cli.data_sets import columns
from evenhand.data.collections import COLLECTIONS


@pytest.fixture
def mirror(tmp_path):
    """MuSiQue's file with one question of twenty paragraphs."""
    paragraphs = [
        {"idx": i, "title": f"t{i}", "paragraph_text": f"x{i}", "is_supporting": i in (1, 2)}
        for i in range(20)
    ]
    row = {
        "id": "2hop__1", "paragraphs": paragraphs, "question": "Who?", "question_decomposition": [],
        "answer": "Ann", "answer_aliases": [], "answerable": True,
    }  # fmt: skip
    path = tmp_path / "mirror/dgslibisey/MuSiQue/musique_ans_v1.0_dev.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(row) + "\n")
    return tmp_path / "mirror"


@pytest.fixture
def llmbar(tmp_path):
    """A root with one placed collection that is much too small."""
    folder = tmp_path / "root" / "llmbar"
    folder.mkdir(parents=True)
    line = {"id": "a", "prompt": "p", "responses": ["x", "y"], "gold": 0}
    (folder / "responses.jsonl").write_text(json.dumps(line) + "\n")
    return tmp_path / "root"


def test_columns_leave_out_what_nobody_has():
    rows = [{"a": 1, "b_c": "x", "d": None}, {"a": 22, "b_c": "", "d": ""}]
    assert columns(rows, ("a", "b_c", "d")) == "a   b c\n1   x\n22"


def test_list_names_all_or_those_of_a_task(run):
    rows = json.loads(run("data", "list", "--json").out)
    assert [row["name"] for row in rows] == list(COLLECTIONS)
    text = run("data", "list", "--task", "qa").out
    names = [line.split()[0] for line in text.splitlines()[1:]]
    assert names == [name for name, one in COLLECTIONS.items() if one.task == "qa"]
    ended = run("data", "list", "--task", "x")
    assert ended.code == 2
    assert "known are ['passages', 'qa', 'responses', 'verdict']" in ended.err


def test_plan_says_what_is_missing_and_what_to_do(run, tmp_path):
    ended = run("data", "plan", "scifact", "robust04", "--root", tmp_path)
    assert ended.code == 0
    assert "2.8 MB" in ended.out
    assert "evenhand data fetch scifact" in ended.out
    assert "sign NIST's agreement" in ended.out
    assert ended.out.rstrip().endswith("to download, about: 2.8 MB; nothing was fetched")
    assert list(tmp_path.iterdir()) == []
    rows = json.loads(run("data", "plan", "--root", tmp_path, "--json").out)
    assert [row["name"] for row in rows] == list(COLLECTIONS)
    assert run("data", "plan", "none").code == 2


def test_fetch_makes_a_folder_that_check_reads(run, mirror, tmp_path):
    pytest.importorskip("datasets", reason="the extra data is not installed")
    root = tmp_path / "root"
    ended = run("data", "fetch", "musique", "--root", root, "--from", mirror, "--json")
    assert ended.code == 0
    assert json.loads(ended.out) == [{"name": "musique", "folder": str(root / "musique")}]
    assert "musique: musique_ans_v1.0_dev.jsonl" in ended.err
    checked = run("data", "check", "musique", "--root", root, "--json")
    found = json.loads(checked.out)
    assert (found["slates"], found["candidates"], found["hashes"]) == (1, 10, "1 of 1 the same")
    # One question where 200 are declared.
    assert checked.code == 4
    assert found["problems"] == [
        "1 slates where 200 are declared", "10 candidates where 2,000 are declared",
    ]  # fmt: skip
    assert "not as declared or recorded: musique" in checked.err


def test_fetch_refuses_wrong_names_before_anything(run, mirror, tmp_path):
    ended = run("data", "fetch", "musique", "none", "--root", tmp_path / "root", "--from", mirror)
    assert ended.code == 2
    assert not (tmp_path / "root").exists()
    assert run("data", "fetch", "robust04", "--root", tmp_path).code == 4


def test_fetch_without_a_connection_ends_at_once_with_4(process, tmp_path):
    pytest.importorskip("datasets", reason="the extra data is not installed")
    env = {**os.environ, "HF_ENDPOINT": "http://127.0.0.1:9"}
    began = time.monotonic()
    ended = process("data", "fetch", "hotpotqa", "--root", tmp_path, env=env)
    assert ended.code == 4
    assert "hotpotqa/hotpot_qa on the hub cannot be read" in ended.err
    assert "--from FOLDER" in ended.err
    assert "Traceback" not in ended.err
    # Starting and importing take most of it; a retry would wait longer than that.
    assert time.monotonic() - began < 15


def test_check_without_a_name_checks_all_that_lie_there(run, llmbar):
    ended = run("data", "check", "--root", llmbar)
    assert ended.code == 4
    assert "1 slates where 885 are declared" in ended.out
    (row,) = json.loads(run("data", "check", "--root", llmbar, "--json").out)
    assert (row["name"], row["slates"], row["expected_slates"]) == ("llmbar", 1, 885)


def test_check_records_hashes_and_sees_a_change(run, llmbar):
    found = run("data", "check", "llmbar", "--root", llmbar, "--record")
    assert "1 of 1 the same" in found.out
    path = llmbar / "llmbar" / "responses.jsonl"
    path.write_text(path.read_text().replace('"x"', '"z"'))
    again = json.loads(run("data", "check", "llmbar", "--root", llmbar, "--json").out)
    assert "responses.jsonl is changed" in again["problems"]


def test_check_refuses_what_does_not_go_together(run, llmbar, slates_file, tmp_path):
    assert run("data", "check", "--record", "--root", llmbar).code == 2
    assert run("data", "check", "--run", "BM25", "--root", llmbar).code == 2
    assert run("data", "check", slates_file(), "--record").code == 2
    assert run("data", "check", "--root", tmp_path / "none").code == 4
    (tmp_path / "empty").mkdir()
    assert run("data", "check", "--root", tmp_path / "empty").code == 4


def test_check_of_a_missing_collection_says_how_to_get_it(run, tmp_path):
    ended = run("data", "check", "scifact", "--root", tmp_path)
    assert ended.code == 4
    assert "evenhand data fetch scifact" in ended.err
