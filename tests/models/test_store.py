import hashlib
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evenhand.errors import InputError, ScorerError
from evenhand.models import cache_dir
from evenhand.models.store import MANIFEST, folder_sha256, is_complete, publish


def _fill(text):
    def build(folder):
        (folder / "weights.bin").write_text(text)

    return build


def test_cache_dir_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("EVENHAND_CACHE", str(tmp_path / "mine"))
    assert cache_dir() == tmp_path / "mine"
    monkeypatch.delenv("EVENHAND_CACHE")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_dir() == tmp_path / "evenhand"


def test_folder_sha256_covers_weights_config_and_tokenizer_only(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(b"weights")
        (folder / "config.json").write_bytes(b"{}")
    (two / "README.md").write_text("a card")
    (two / "optimizer.pt").write_bytes(b"state")
    lines = [
        f"config.json\0{hashlib.sha256(b'{}').hexdigest()}\n",
        f"model.safetensors\0{hashlib.sha256(b'weights').hexdigest()}\n",
    ]
    expected = hashlib.sha256("".join(lines).encode()).hexdigest()
    assert folder_sha256(one) == folder_sha256(two) == expected
    (two / "chat_template.jinja").write_text("{{ messages }}")
    assert folder_sha256(two) != expected
    (one / "model.safetensors").write_bytes(b"weighty")
    assert folder_sha256(one) != expected


def test_folder_without_weights_is_refused(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match=r"no \*\.safetensors or \*\.bin"):
        folder_sha256(tmp_path)


def test_publish_builds_once_and_again_when_identity_or_files_differ(tmp_path):
    folder = tmp_path / "cache" / "m"
    publish(folder, {"version": 1}, _fill("first"))
    publish(folder, {"version": 1}, _fill("never built"))
    assert (folder / "weights.bin").read_text() == "first"
    publish(folder, {"version": 2}, _fill("second"))
    assert (folder / "weights.bin").read_text() == "second"
    (folder / "weights.bin").write_text("sec")  # cut short
    assert not is_complete(folder, {"version": 2})
    publish(folder, {"version": 2}, _fill("second"))
    (folder / MANIFEST).write_text("{")
    publish(folder, {"version": 2}, _fill("third"))
    assert (folder / "weights.bin").read_text() == "third"
    assert [path.name for path in folder.parent.iterdir()] == ["m"]


def test_failed_build_leaves_nothing(tmp_path):
    def build(folder):
        (folder / "weights.bin").write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        publish(tmp_path / "m", {}, build)
    assert list(tmp_path.iterdir()) == []


def test_failed_rebuild_keeps_the_old_folder(tmp_path):
    publish(tmp_path / "m", {"version": 1}, _fill("first"))

    def build(folder):
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        publish(tmp_path / "m", {"version": 2}, build)
    assert is_complete(tmp_path / "m", {"version": 1})


_ENDLESS = """
import sys, time
from pathlib import Path
from evenhand.models.store import publish
def build(folder):
    (folder / "weights.bin").write_text("half")
    print("building", flush=True)
    time.sleep(60)
publish(Path(sys.argv[1]), {}, build)
"""


def test_killed_build_leaves_nothing_under_the_name(tmp_path):
    folder = tmp_path / "m"
    command = [sys.executable, "-c", _ENDLESS, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "building\n"
        process.send_signal(signal.SIGKILL)
    assert not folder.exists()
    (partial,) = tmp_path.iterdir()
    publish(folder, {}, _fill("whole"))
    assert (folder / "weights.bin").read_text() == "whole"
    assert partial.exists()  # it might belong to a process that still works
    old = time.time() - 2 * 24 * 3600
    os.utime(partial, (old, old))
    publish(tmp_path / "other", {}, _fill("whole"))
    assert not partial.exists()


def _publish_slowly(folder, text):
    def build(partial):
        time.sleep(0.2)
        (partial / "weights.bin").write_text(text)

    publish(Path(folder), {"version": 1}, build)


def test_two_processes_at_once_both_end_with_a_whole_folder(tmp_path):
    context = multiprocessing.get_context("spawn")
    folder = tmp_path / "m"
    publish(folder, {"version": 0}, _fill("outdated"))
    jobs = [context.Process(target=_publish_slowly, args=(str(folder), str(i))) for i in range(2)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert [job.exitcode for job in jobs] == [0, 0]
    assert is_complete(folder, {"version": 1})
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_unwritable_cache_says_what_to_set(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ScorerError, match="EVENHAND_CACHE"):
        publish(tmp_path / "file" / "m", {}, _fill("x"))
