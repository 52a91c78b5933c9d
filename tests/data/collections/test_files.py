"""Files that appear whole, and one writer at a time."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys

import pytest

from evenhand.data.collections.files import alone, write_objects, writing
from evenhand.errors import UsageError


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_a_file_appears_when_it_is_complete(tmp_path, name):
    path = tmp_path / "deep" / name
    with writing(path) as handle:
        handle.write("ä\n")
        assert not path.exists()
    raw = path.read_bytes()
    assert (gzip.decompress(raw) if name.endswith(".gz") else raw) == "ä\n".encode()
    assert list(path.parent.iterdir()) == [path]


def test_an_error_leaves_the_file_that_was_there(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def broken():
        yield {"a": 1}
        raise ValueError("cut")

    with pytest.raises(ValueError, match="cut"):
        write_objects(path, broken())
    assert path.read_text() == "old"


def test_the_same_objects_give_the_same_bytes(tmp_path):
    for name in ("a.gz", "b.gz"):
        assert write_objects(tmp_path / name, [{"x": "ü"}, {"x": 2}]) == 2
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_a_folder_that_cannot_be_made_is_wrong_use(tmp_path):
    (tmp_path / "file").write_text("x")
    with (
        pytest.raises(UsageError, match="cannot be written"),
        writing(tmp_path / "file" / "a.txt"),
    ):
        pass
    with pytest.raises(UsageError, match="cannot be written"), alone(tmp_path / "file" / "lock", "x"):
        pass


def test_a_second_process_is_told_to_wait(tmp_path):
    lock = tmp_path / "x.lock"
    code = (
        "import sys; from pathlib import Path; from evenhand.data.collections.files import alone\n"
        "with alone(Path(sys.argv[1]), 'x'): pass"
    )
    with alone(lock, "x"):
        done = subprocess.run(
            [sys.executable, "-c", code, str(lock)], capture_output=True, text=True, timeout=60,
            env=os.environ,
        )  # fmt: skip
    assert "x is being fetched by another process" in done.stderr
    with alone(lock, "x"):  # free again
        pass
