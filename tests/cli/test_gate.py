"""The verb, its settings in files, and the files for continuous integration that the page shows."""

from __future__ import annotations

import json
import re
import shlex
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "gate.md").read_text(encoding="utf-8")


@pytest.fixture
def audited(run, slates_file, tmp_path, monkeypatch):
    """A function that audits a toy over eight slates; the verb is called from an empty project."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)

    def make(name="run", spec="toy:slot_bias=.4", *words, **slates):
        file = slates_file(**{"count": 8, **slates})
        ended = run("audit", file, "--scorer", spec, "--rows", 4, *words, "--out", tmp_path / name)
        assert ended.code == 0, ended.err
        return Path(name)

    return make


def cases(file="gate.xml"):
    found = ET.parse(file).getroot().iter("testcase")
    marks = ("failure", "skipped", "error")
    return {
        case.get("name"): next((one.tag for one in case if one.tag in marks), "passed")
        for case in found
    }


def test_a_gate_that_passes(run, audited):
    folder = audited("run", "toy")
    bounds = ("--max-tau-psi", 0, "--min-overlap", 1, "--max-pair-flip", 0, "--min-ndcg", 0.9)
    ended = run("gate", folder, *bounds, "--junit", "gate.xml")
    assert ended.code == 0, ended.err
    assert "gate: passed (4 passed; the whole interval decides, level 0.95)" in ended.out
    assert "scorer toy;" in ended.out
    assert "M 4; B whole slate" in ended.out
    assert ended.err == "junit: gate.xml\n"
    assert set(cases().values()) == {"passed"}
    assert len(cases()) == 4


def test_a_gate_that_fails_and_one_that_is_inconclusive(run, audited):
    folder = audited()
    value = json.loads(run("gate", folder, "--require", "tauPSI<=1", "--json").out)
    (one,) = value["runs"][0]["criteria"]
    assert one["low"] < one["high"]
    failed = run(
        "gate", folder, "--max-tau-psi", one["low"] / 2, "--min-ndcg", 0.1, "--junit", "gate.xml"
    )
    assert failed.code == 1
    assert "evenhand: the gate failed (exit 1)" in failed.err
    assert list(cases().values()) == ["failure", "passed"]
    within = (one["low"] + one["high"]) / 2
    inconclusive = run("gate", folder, "--max-tau-psi", within, "--junit", "gate.xml")
    assert inconclusive.code == 8
    assert "is inconclusive (exit 8)" in inconclusive.err
    assert list(cases().values()) == ["skipped"]
    decided = run("gate", folder, "--max-tau-psi", within, "--on", "mean")
    assert decided.code == (0 if one["value"] <= within else 1)


def test_json_says_what_the_exit_code_says(run, audited):
    ended = run("gate", audited(), "--max-tau-psi", 0, "--require", "PoolPSI<=0.1", "--json")
    found = json.loads(ended.out)
    assert (found["verdict"], found["exit_code"], ended.code) == ("failed", 1, 1)
    verdicts = [one["verdict"] for one in found["runs"][0]["criteria"]]
    assert verdicts == ["failed", "inconclusive"]
    assert found["runs"][0]["facts"]["M"] == 4


def test_a_baseline(run, audited):
    before, after = audited("before", "toy:slot_bias=.2"), audited("after", "toy:slot_bias=.9")
    words = ("--baseline", before, "--max-drop", "nDCG@10=1", "--max-rise", "tauPSI=0.01")
    ended = run("gate", after, *words)
    assert ended.code == 1, ended.err
    assert "rise of tauPSI <= 0.01" in ended.out
    assert "baseline before" in ended.out
    swapped = run("gate", before, "--baseline", after, *words[2:])
    assert swapped.code == 0, swapped.err
    other = audited("other", "toy", count=7)
    refused = run("gate", other, *words)
    assert (refused.code, refused.out) == (2, "")
    assert "1 slate only in before" in refused.err


def test_several_runs(run, audited):
    good, bad = audited("good", "toy"), audited("bad", "toy:slot_bias=.9")
    ended = run("gate", good, bad, "--max-tau-psi", 0.01, "--junit", "gate.xml")
    assert ended.code == 1
    assert "good: passed" in ended.out
    assert "bad: failed" in ended.out
    suites = ET.parse("gate.xml").getroot().findall("testsuite")
    assert [(suite.get("name"), suite.get("failures")) for suite in suites] == [
        ("good", "0"),
        ("bad", "1"),
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "nothing to judge: give a criterion, --max-tau-psi"),
        (["--max-tau-psi", "7"], "--max-tau-psi: tauPSI lies between 0 and 1"),
        (["--require", "tauPSO<=.1"], "--require: unknown measure 'tauPSO'"),
        (["--require", "tauPSI"], "--require: cannot read 'tauPSI' as a criterion"),
        (["--max-tau-psi", ".1", "--require", "tauPSI<=.2"], "bound one thing twice"),
        (["--max-drop", "nDCG@10=.1"], "needs a run to compare with; name it with --baseline"),
        (["--max-drop", "nDCG@10"], "--max-drop: takes MEASURE=NUMBER"),
        (["--max-tau-psi", ".1", "--baseline", "x"], "nothing is compared with it"),
        (["--max-tau-psi", ".1", "--on", "median"], "unknown --on 'median'"),
        (["--max-tau-psi", ".1", "--level", "2"], "--level must lie between 0 and 1"),
        (["--max-tau-psi", ".1", "--junit", "."], "no file can be made there"),
        (["--max-tau-psy", ".1"], "No such option"),
    ],
)
def test_wrong_use_is_2_before_a_run_is_opened(run, tmp_path, monkeypatch, words, message):
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    ended = run("gate", "none", *words)
    assert (ended.code, ended.out) == (2, "")
    assert message in " ".join(ended.err.split())


def test_a_folder_without_a_run_is_4_and_leaves_no_old_verdict(run, audited):
    folder = audited()
    assert run("gate", folder, "--max-tau-psi", 1, "--junit", "gate.xml").code == 0
    assert Path("gate.xml").exists()
    ended = run("gate", folder, "none", "--max-tau-psi", 1, "--junit", "gate.xml")
    assert (ended.code, ended.out) == (4, "")
    assert "none: does not exist; name a folder that an audit wrote" in ended.err
    assert not Path("gate.xml").exists()


def test_wrong_use_leaves_no_old_verdict(run, audited):
    folder = audited()
    assert run("gate", folder, "--max-tau-psi", 1, "--junit", "gate.xml").code == 0
    assert run("gate", folder, "--require", "nosuch<=1", "--junit", "gate.xml").code == 2
    assert not Path("gate.xml").exists()


def test_a_file_that_is_no_verdict_stays(run, audited):
    folder = audited()
    Path("notes.xml").write_text("<notes/>")
    for name, message in (
        ("notes.xml", "is there and is no verdict of a gate"),
        (Path(folder) / "manifest.json", "lies in a run"),
        (Path(folder) / "gate.xml", "lies in a run"),
    ):
        ended = run("gate", folder, "--max-tau-psi", 1, "--junit", name)
        assert (ended.code, ended.out) == (2, "")
        assert message in " ".join(ended.err.split())
        assert run("gate", folder, "--require", "nosuch<=1", "--junit", name).code == 2
    assert Path("notes.xml").read_text() == "<notes/>"
    assert (Path(folder) / "manifest.json").exists()
    assert not (Path(folder) / "gate.xml").exists()
    assert run("gate", folder, "--max-tau-psi", 1).code == 0


def test_settings_of_a_project(run, audited):
    folder = audited()
    Path("pyproject.toml").write_text(
        '[tool.evenhand.gate]\nmax-tau-psi = 0.0\nmin-ndcg = 0.1\njunit = "out/gate.xml"\n'
    )
    stored = run("gate", folder)
    assert stored.code == 1
    assert stored.err.startswith("settings: ")
    assert cases("out/gate.xml") == {"tauPSI <= 0": "failure", "nDCG@10, served >= 0.1": "passed"}
    # The command line wins, and what it does not speak of stands.
    typed = run("gate", folder, "--require", "tauPSI<=1", "--junit", "other.xml")
    assert typed.code == 0
    assert list(cases("other.xml")) == ["tauPSI <= 1", "nDCG@10, served >= 0.1"]
    Path("strict.toml").write_text("[gate]\nmin-ndcg = 1.0\n")
    named = run("gate", folder, "--config", "strict.toml", "--json")
    assert [one["bound"] for one in json.loads(named.out)["runs"][0]["criteria"]] == [1.0]


def test_wrong_settings_of_a_project(run, audited):
    folder = audited()
    Path("evenhand.toml").write_text("[gate]\nmax-tau-psy = 0.1\n")
    ended = run("gate", folder, "--min-ndcg", 0)
    assert ended.code == 2
    assert "evenhand.toml: [gate] max-tau-psy; known are baseline, junit," in ended.err
    Path("evenhand.toml").write_text("[gate]\nmax-tau-psi = 0.1\n")
    Path("pyproject.toml").write_text("[tool.evenhand.gate]\nmax-tau-psi = 0.2\n")
    ended = run("gate", folder)
    assert ended.code == 2
    assert "both set the gate and differ in max-tau-psi" in ended.err
    assert run("gate", folder, "--config", "none.toml").code == 4


def test_missing_scores_are_7_and_none_at_all_is_6(run, audited, slates_file):
    from evenhand import audit, scorer
    from evenhand.data import load_slates

    slates = list(load_slates(slates_file(count=20)))

    def sometimes(query, texts):
        return [float("nan") if query.endswith("13") else float(text[-1]) for text in texts]

    def never(query, texts):
        return [float("nan")] * len(texts)

    for function in (sometimes, never):
        audit(scorer(function), slates, rows=2, out=function.__name__)
    ended = run("gate", "sometimes", "--max-tau-psi", 1, "--junit", "gate.xml")
    # One of 20 slates, in the canonical row, two random rows and the repeat: 16 of 320.
    assert ended.code == 7, ended
    assert "partly scored 16 of 320 scores missing, in 4 of 80 rows" in ended.out
    assert "the gate is open, scores are missing (exit 7)" in ended.err
    assert cases() == {"tauPSI <= 1": "passed", "all scores are there": "error"}
    assert run("gate", "sometimes", "--max-tau-psi", 1, "--max-missing", 0.05).code == 0
    gone = run("gate", "never", "sometimes", "--max-tau-psi", 1, "--junit", "gate.xml")
    assert gone.code == 6
    assert "never gave none of 320 scores" in gone.out
    assert [one.get("errors") for one in ET.parse("gate.xml").getroot()] == ["1", "1"]


# The page shows files for other programs; what they run is run.


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def commands(text):
    """Return the evenhand commands anywhere in a parsed document, in order."""
    if isinstance(text, dict):
        return [found for value in text.values() for found in commands(value)]
    if isinstance(text, list):
        return [found for value in text for found in commands(value)]
    return [text] if isinstance(text, str) and text.startswith("evenhand ") else []


def test_the_shown_files_are_what_their_readers_take():
    yaml = pytest.importorskip("yaml")
    github, gitlab, hooks = (yaml.safe_load(block) for block in blocks("yaml"))
    steps = github["jobs"]["gate"]["steps"]
    assert all(("uses" in step) != ("run" in step) for step in steps)
    # "on" is a word that YAML 1.1 reads as true.
    assert github[True] == ["pull_request"]
    # The verdict is kept also where the gate ends with another code than 0.
    assert steps[-1]["if"] == "always()"
    assert gitlab["evenhand"]["artifacts"]["reports"]["junit"] == "gate.xml"
    assert gitlab["evenhand"]["artifacts"]["when"] == "always"
    (hook,) = hooks["repos"][0]["hooks"]
    assert {"id", "name", "entry", "language"} <= set(hook)
    assert hook["pass_filenames"] is False
    assert re.search(hook["files"], "runs/candidate/manifest.json")
    assert [len(commands(one)) for one in (github, gitlab)] == [2, 2]
    assert commands(github) == commands(gitlab)


def test_what_the_shown_files_run_passes_with_the_shown_settings(process, slates_file, tmp_path):
    yaml = pytest.importorskip("yaml")
    github, _, hooks = (yaml.safe_load(block) for block in blocks("yaml"))
    (tmp_path / ".git").mkdir()
    (settings,) = blocks("toml")
    (tmp_path / "pyproject.toml").write_text(settings)
    slates_file(count=12, size=8)
    for line in [*commands(github), hooks["repos"][0]["hooks"][0]["entry"]]:
        ended = process(*shlex.split(line)[1:], cwd=tmp_path)
        assert ended.code == 0, (line, ended)
    found = cases(tmp_path / "gate.xml")
    assert len(found) == 4
    assert set(found.values()) == {"passed"}
