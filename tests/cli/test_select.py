import json

import numpy as np
import pytest

from evenhand.train.trials import Trial, write_trial

IDS = [f"q{i}" for i in range(10)]


@pytest.fixture
def trials(tmp_path):
    """A folder with three trials: a the best, b .01 below at an error of .01, c steady and bad."""
    quality = {"a": [0.6] * 10, "b": [0.5] + [0.6] * 9, "c": [0.3] * 10}
    psi = {"a": 0.2, "b": 0.1, "c": 0.01}
    for step, name in enumerate("abc"):
        values = {"shuffled": quality[name], "psi": np.full(10, psi[name])}
        values |= {"overlap": np.full(10, 0.8), "spread": np.full(10, 0.2)}
        one = Trial(name, 10.0 if name == "a" else 5.0, step, IDS, values)
        write_trial(tmp_path / "run" / "held_out" / f"{step}.json", one)
    return tmp_path / "run"


def test_both_choices_and_a_reason_for_each(run, trials, tmp_path):
    ended = run("select", trials, "--out", tmp_path / "selection.json")
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert lines[0] == "3 trials over 10 held-out slates"
    assert lines[1].split() == [
        "trial",
        "nDCG@10",
        "tau-PSI",
        "overlap",
        "spread",
        "below",
        "best",
        "error",
    ]
    assert lines[3].split()[-6:] == ["0.5900", "0.1000", "0.8000", "0.2000", "0.0100", "0.0100"]
    assert "quality alone: a (lambda 10, step 0)" in lines
    assert "quality and stability: b (lambda 5, step 1)" in lines
    assert any("out: quality is 0.3000 under the best" in line for line in lines)
    assert f"selection: {tmp_path / 'selection.json'}" in ended.err
    found = json.loads((tmp_path / "selection.json").read_text())
    assert (found["paper"]["name"], found["ours"]["name"]) == ("a", "b")


def test_json_is_what_is_written(run, trials, tmp_path):
    ended = run("select", trials, "--out", tmp_path / "s.json", "--json")
    printed = json.loads(ended.out)
    del printed["evenhand"]
    assert printed == json.loads((tmp_path / "s.json").read_text())


@pytest.mark.parametrize("baseline", ["0.65", "file"])
def test_nothing_above_the_baseline_ends_with_8(run, trials, tmp_path, baseline):
    if baseline == "file":
        values = {name: np.full(10, 0.7) for name in ("shuffled", "psi", "overlap", "spread")}
        baseline = tmp_path / "base.json"
        write_trial(baseline, Trial("base", 0.0, 0, IDS, values))
    ended = run("select", trials, "--baseline", baseline, "--out", tmp_path / "s.json")
    assert ended.code == 8
    assert "nothing is chosen: the best quality, 0.6000 of a" in ended.err
    assert "quality alone: nothing" in ended.out
    assert json.loads((tmp_path / "s.json").read_text())["refused"]


def test_faults_have_their_codes(run, trials, tmp_path):
    assert run("select").code == 2
    assert run("select", trials, trials, "--out", tmp_path / "s.json").code == 2
    gone = run("select", tmp_path / "none.json", "--out", tmp_path / "s.json")
    assert (gone.code, "cannot be read" in gone.err) == (4, True)
    assert not (tmp_path / "s.json").exists()
    nowhere = run("select", trials, "--out", tmp_path / "no" / "s.json")
    assert nowhere.code == 4
