"""Ways to run the command line: inside this process, and as one of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import NamedTuple

import pytest

from evenhand.cli import main
from evenhand.types import Candidate, Slate, slate_to_dict


class Ended(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys):
    """A function that runs a verb in this process."""

    def call(*words):
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        captured = capsys.readouterr()
        code = ended.value.code
        return Ended(0 if code is None else code, captured.out, captured.err)

    return call


@pytest.fixture
def process():
    """A function that runs a verb in a process of its own."""

    def call(*words, **options):
        command = [sys.executable, "-m", "evenhand.cli", *map(str, words)]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=120, check=False, **options
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def slates_file(tmp_path):
    """A function that writes slates of a given size to a JSONL file."""

    def write(count=3, size=4, name="slates.jsonl"):
        lines = []
        for q in range(count):
            candidates = tuple(Candidate(f"c{i}", f"text {i}") for i in range(size))
            grades = {f"c{i}": i % 4 for i in range(size)}
            lines.append(json.dumps(slate_to_dict(Slate(f"q{q}", f"query {q}", candidates, grades))))
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return write
