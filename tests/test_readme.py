"""The README does what it says."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
COMMANDS = [
    line.partition("#")[0].strip()
    for language, body in BLOCKS
    if language == "sh"
    for line in body.splitlines()
    if line.startswith("evenhand ")
]
# Commands that run a model; `make demo` is their test.
SLOW = {"evenhand demo"}


def test_python_prints_what_is_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (at,) = [index for index, (language, _) in enumerate(BLOCKS) if language == "python"]
    exec(compile(BLOCKS[at][1], "README.md", "exec"), {"__name__": "readme"})
    language, shown = BLOCKS[at + 1]
    assert language == "text"
    assert capsys.readouterr().out.rstrip() == shown.rstrip()


@pytest.mark.parametrize("command", [line for line in COMMANDS if line not in SLOW])
def test_command_runs(command, tmp_path):
    from evenhand.data import write_slates
    from evenhand.data.demo import demo_slates

    write_slates(tmp_path / "slates.jsonl", demo_slates(4))
    code = "from evenhand.cli import main; main()"
    words = shlex.split(command)[1:]
    done = subprocess.run(
        [sys.executable, "-c", code, *words], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "tauPSI" in done.stdout


def test_some_command_is_run():
    assert set(COMMANDS) > SLOW


def test_folders_shown_are_the_folders_there_are():
    (tree,) = [body for language, body in BLOCKS if not language]
    shown = set(re.findall(r"(\w+)/", tree.partition("docs/")[0])) - {"src", "evenhand"}
    there = {path.name for path in (ROOT / "src/evenhand").iterdir() if path.is_dir()}
    assert shown == there - {"__pycache__"}


def test_make_targets_named_exist():
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)`", README)) <= targets


def test_fits_about_a_screen():
    assert len(README.splitlines()) <= 100


def test_the_demo_table_is_the_recorded_run():
    recorded = json.loads((ROOT / "experiments/demo/results.json").read_text())["results"]
    columns = {"nDCG@10 served": ("served", "nDCG@10"), "nDCG@10 shuffled": ("shuffled", "nDCG@10"),
               "tauPSI (0 stable, .5 unrelated)": ("stability", "tauPSI"),
               "its noise floor": ("floor", "tauPSI"), "retained-set overlap": ("decisions", "Overlap"),
               "retained share": ("decisions", "Retained")}  # fmt: skip
    table = README.split("## What the demo prints")[1].split("##")[0]
    shown = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if "|" in line
    ]
    numbers = {row[0]: row[1:] for row in shown[2:]}
    assert numbers.keys() == columns.keys()
    for label, (part, measure) in columns.items():
        assert numbers[label] == [f"{run[part][measure]['mean']:.3f}" for run in recorded], label
