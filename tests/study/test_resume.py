"""A run that is killed at any point and resumed ends with the same bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).with_name("killed_run.py")
NAMES = ("scores.parquet", "rows.parquet", "slates.jsonl", "manifest.json")


def run(folder, point=0, pause=0.0):
    command = [sys.executable, str(SCRIPT), str(folder), str(point), str(pause)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def contents(folder):
    return {name: (folder / name).read_bytes() for name in NAMES}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The files of a run that was left alone, and how many points it passed."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    ended = run(folder)
    assert ended.returncode == 0, ended.stderr
    return contents(folder), int(ended.stdout)


def killed_then_resumed(folder, points):
    for point in points:
        assert run(folder, point).returncode == -signal.SIGKILL
    ended = run(folder)
    assert ended.returncode == 0, ended.stderr
    return contents(folder)


def test_killed_four_times_in_one_folder(whole, tmp_path):
    files, points = whole
    # A resumed run passes fewer points, so the later kills come early in it: 11 slates are read first.
    found = killed_then_resumed(tmp_path / "run", [7, points // 2, 17, 13])
    assert found == files
    assert not list((tmp_path / "run").rglob("*.tmp"))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_at_every_point(whole, tmp_path):
    files, points = whole
    for point in range(1, points + 1):
        assert killed_then_resumed(tmp_path / str(point), [point]) == files, point


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_at_twenty_random_moments(whole, tmp_path):
    files, _ = whole
    rng, kills, folder = np.random.default_rng(7), 0, 0
    while kills < 20:
        folder += 1
        command = [sys.executable, str(SCRIPT), str(tmp_path / str(folder)), "0", "0.05"]
        while True:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ)
            time.sleep(rng.uniform(0.3, 1.6))
            process.kill()
            if process.wait() == 0:
                break
            kills += 1
        assert contents(tmp_path / str(folder)) == files
