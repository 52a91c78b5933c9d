import pytest

from evenhand.errors import ResumeError
from evenhand.records.files import (
    FolderLock,
    remove_temporaries,
    replacing,
    write_whole,
)


def test_a_file_appears_whole_and_leaves_no_temporary(tmp_path):
    write_whole(tmp_path / "a", b"first")
    write_whole(tmp_path / "a", b"second")
    assert (tmp_path / "a").read_bytes() == b"second"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_failed_write_leaves_the_old_file(tmp_path):
    write_whole(tmp_path / "a", b"old")

    def interrupted():
        with replacing(tmp_path / "a") as temporary:
            temporary.write_bytes(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert (tmp_path / "a").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_only_temporaries_are_removed(tmp_path):
    for name in ("a.parquet", "a.parquet.tmp"):
        (tmp_path / name).touch()
    remove_temporaries(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


def test_the_lock_keeps_a_second_writer_out_until_released(tmp_path):
    lock = FolderLock(tmp_path)
    with pytest.raises(ResumeError, match="another run is writing"):
        FolderLock(tmp_path)
    lock.release()
    lock.release()
    FolderLock(tmp_path).release()


def test_a_living_process_keeps_its_temporaries_and_a_folder_is_left(tmp_path):
    import subprocess
    import sys

    sleeper = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        living = tmp_path / f"decisions.parquet.{sleeper.pid}.tmp"
        living.touch()
        (tmp_path / "mine.tmp").mkdir()
        remove_temporaries(tmp_path)
        assert living.exists()
    finally:
        sleeper.communicate(b"\n")
    remove_temporaries(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.tmp"]


def test_two_writers_of_one_file_do_not_share_a_temporary(tmp_path, monkeypatch):
    with replacing(tmp_path / "a") as mine:
        mine.write_bytes(b"mine")
        monkeypatch.setattr("os.getpid", lambda: 1)
        write_whole(tmp_path / "a", b"theirs")
        assert mine.read_bytes() == b"mine"
    assert (tmp_path / "a").read_bytes() == b"mine"


def test_a_full_disk_is_told_with_the_file_and_leaves_no_temporary(tmp_path):
    def full():
        with replacing(tmp_path / "a") as temporary:
            temporary.touch()
            raise OSError(28, "No space left on device")

    with pytest.raises(ResumeError, match=r"a: cannot be written \(No space left on device\)"):
        full()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_locked_is_not_said_to_be_in_use(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(ResumeError, match="cannot be locked"):
        FolderLock(tmp_path)
