"""Files that are whole or absent: atomic replacement, hashes, the folder lock."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evenhand.errors import ResumeError

if sys.platform != "win32":
    import fcntl

TEMPORARY = ".tmp"


def sync_file(path: Path) -> None:
    """Force the content of a file to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(path: Path) -> None:
    """Force the names in a folder to disk, so that a rename survives a power cut."""
    if sys.platform == "win32":
        return
    sync_file(path)


def temporary_of(path: Path) -> Path:
    """Return the name under which a file is written before it is whole."""
    return path.with_name(path.name + TEMPORARY)


def put_in_place(temporary: Path, path: Path) -> None:
    """Give a fully written temporary file its name, durably."""
    sync_file(temporary)
    os.replace(temporary, path)
    sync_folder(path.parent)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; it takes the name when the block succeeds."""
    temporary = temporary_of(path)
    try:
        yield temporary
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    put_in_place(temporary, path)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that readers see all of it or nothing."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def remove_temporaries(folder: Path) -> None:
    """Delete what an interrupted writer left in a folder."""
    for leftover in folder.glob("*" + TEMPORARY):
        leftover.unlink()


def file_hash(path: Path) -> str:
    """Return the SHA-256 hex digest of a file, read in blocks."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


class FolderLock:
    """Keeps two writers out of one folder.

    The lock lies on the folder itself and belongs to the open descriptor, so
    the system drops it when the process ends, however it ends.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor: int | None = None
        if sys.platform == "win32":
            return
        descriptor = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise ResumeError(
                "another run is writing this folder; wait for it to end or choose another folder",
                path=str(path),
            ) from None
        self._descriptor = descriptor

    def release(self) -> None:
        """Let others write; releasing twice does nothing."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
