import hashlib

import pytest

from evenhand.errors import ResumeError
from evenhand.records.files import (
    FolderLock,
    file_hash,
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


def test_hash_is_that_of_the_content(tmp_path):
    (tmp_path / "a").write_bytes(b"abc" * 100_000)
    assert file_hash(tmp_path / "a") == hashlib.sha256(b"abc" * 100_000).hexdigest()


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
