from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from evenhand.present.design import design
from evenhand.score import scorer
from evenhand.study.rows.run import run_study
from evenhand.types import Candidate, Slate


@pytest.fixture
def audited(run, slates_file, tmp_path):
    """A function that audits a toy over eight slates and returns the folder."""

    def make(name, spec="toy:slot_bias=.4", *words, **slates):
        file = slates_file(**{"count": 8, **slates})
        folder = tmp_path / name
        ended = run("audit", file, "--scorer", spec, "--rows", 4, *words, "--out", folder)
        assert ended.code == 0, ended.err
        return folder

    return make


def test_two_runs(run, audited):
    one, two = audited("one", "toy:slot_bias=.9"), audited("two", "toy")
    ended = run("compare", one, two, "--draws", 500)
    assert ended.code == 0
    assert "two against one (difference = two - one)" in ended.out
    assert "nDCG@10, served" in ended.out
    found = json.loads(run("compare", one, two, "--draws", 500, "--json").out)
    assert [system["name"] for system in found["systems"]] == ["one", "two"]
    row = found["comparisons"][0]
    assert (row["measure"], row["mean_b"], row["n"]) == ("tauPSI", 0.0, 8)
    # All eight slates are steadier: 2 of 256 sign flips.
    assert (row["p"], row["exact"]) == (2 / 256, True)


def test_a_run_with_itself(run, audited):
    one = audited("one")
    found = json.loads(run("compare", one, one, "--json").out)
    assert [system["name"] for system in found["systems"]] == ["one (1)", "one (2)"]
    assert {(row["difference"], row["p"], row["p_holm"]) for row in found["comparisons"]} == {
        (0.0, 1.0, 1.0)
    }


def test_runs_of_one_folder_name_go_by_their_paths(run, audited, tmp_path):
    one = audited("one")
    other = tmp_path / "deep" / "one"
    shutil.copytree(one, other)
    found = json.loads(run("compare", one, other, "--draws", 100, "--json").out)
    assert [system["name"] for system in found["systems"]] == [str(one), str(other)]


def test_groups(run, audited):
    a, b = audited("a"), audited("b", "toy:slot_bias=.5")
    c = audited("c", "toy")
    ended = run(
        "compare", "--group", f"biased={a},{b}", "--group", f"fair={c}", "--measure", "tauPSI", "--json"
    )
    assert ended.code == 0
    found = json.loads(ended.out)
    assert [system["name"] for system in found["systems"]] == ["biased", "fair"]
    assert [row["resampled"] for row in found["comparisons"]] == ["slates, and training seeds (2)"]


def test_all_pairs_and_markdown(run, audited, tmp_path):
    runs = [audited("a"), audited("b", "toy"), audited("c", "toy:slot_bias=.1")]
    page = tmp_path / "deep" / "page.md"
    ended = run(
        "compare", *runs, "--pairs", "all", "--measure", "tauPSI", "--draws", 200, "--markdown", page
    )
    assert ended.code == 0
    assert page.read_text(encoding="utf-8").count("\n## ") == 3
    assert "corrected over 3 comparisons" in ended.out


def test_other_settings_are_2_and_nothing_is_printed(run, audited):
    one, two = audited("one", "toy:slot_bias=.4", "--width", 2), audited("two")
    ended = run("compare", one, two)
    assert (ended.code, ended.out) == (2, "")
    assert "width: 2 in" in ended.err
    varied = run("compare", one, two, "--vary", "width", "--draws", 100)
    assert varied.code == 0
    assert "the runs differ in width: 2, None" in varied.out


def test_other_slates_are_2(run, audited):
    ended = run("compare", audited("one"), audited("two", count=7))
    assert (ended.code, ended.out) == (2, "")
    assert "1 slate only in" in ended.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "at least two systems, got 0"),
        (["--group", "a"], "--group takes NAME=RUN,RUN,..., got 'a'"),
        (["--group", "a=x", "--group", "a=y"], "--group names 'a' twice"),
        (["x", "--group", "a=y"], "not both"),
        (["x", "y", "--pairs", "some"], "unknown pairs 'some'"),
        (["x", "y", "--measure", "tauPSO"], "tauPSO"),
        (["x", "y", "--draws", "0"], "draws must be at least 1"),
    ],
)
def test_wrong_use_is_2(run, words, message):
    ended = run("compare", *words)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err


def test_a_folder_without_a_run_is_4(run, audited, tmp_path):
    assert run("compare", audited("one"), tmp_path / "none").code == 4


def odd_run(folder, hole):
    """A run of eight slates; with a hole, one score of the last slate is missing."""
    slates = [
        Slate(f"q{q}", f"query {q}", tuple(Candidate(f"c{i}", f"text {q} {i}") for i in range(4)))
        for q in range(8)
    ]

    def score(query, texts):
        found = np.array([float(len(text)) + int(text[-1]) for text in texts])
        if hole and query == "query 7":
            found[0] = np.nan
        return found

    run_study(scorer(score, name="odd"), slates, design("reorder", rows=3), folder)
    return folder


def test_missing_scores_are_7_and_no_p_value(run, tmp_path):
    one, two = odd_run(tmp_path / "one", False), odd_run(tmp_path / "two", True)
    ended = run("compare", one, two, "--measure", "tauPSI", "--json")
    assert ended.code == 7
    (row,) = json.loads(ended.out)["comparisons"]
    assert (row["p"], row["p_holm"], row["low"], row["n"], row["missing"]) == (None, None, None, 7, 1)
    allowed = run("compare", one, two, "--measure", "tauPSI", "--max-missing", 0.2, "--json")
    assert allowed.code == 7
    (row,) = json.loads(allowed.out)["comparisons"]
    assert (row["p"], row["p_holm"], row["verdict"], row["missing"]) == (None, None, "withheld", 1)
    assert (row["low"], row["high"]) == (0.0, 0.0)
    assert "no p-value, 1 of 8 pairs lack a value; means" in json.loads(allowed.out)["notes"][-1]


def test_too_few_slates_are_8(run, audited):
    ended = run("compare", audited("one", count=1), audited("two", "toy", count=1), "--json")
    assert ended.code == 8
    assert {row["verdict"] for row in json.loads(ended.out)["comparisons"]} == {"withheld"}


def test_nothing_to_compare_is_5(run, tmp_path):
    # These slates have no grades.
    one, two = odd_run(tmp_path / "one", False), odd_run(tmp_path / "two", False)
    ended = run("compare", one, two, "--measure", "nDCG@10")
    assert (ended.code, ended.out) == (5, "")
    assert "nothing can be compared" in ended.err
