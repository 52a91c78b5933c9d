"""Files that are whole or absent: atomic replacement, hashes, the folder lock."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evenhand.errors import ResumeError

if sys.platform != "win32":
    import fcntl

TEMPORARY = ".tmp"
_OWNED = re.compile(r"\.([0-9]+)\.tmp$")


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
    """Return the name under which this process writes a file before it is whole."""
    return path.with_name(f"{path.name}.{os.getpid()}{TEMPORARY}")


def put_in_place(temporary: Path, path: Path) -> None:
    """Give a fully written temporary file its name, durably."""
    sync_file(temporary)
    os.replace(temporary, path)
    sync_folder(path.parent)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; it takes the name when the block succeeds.

    Raises:
        ResumeError: the system refuses to write, for example on a full disk.
    """
    temporary = temporary_of(path)
    try:
        yield temporary
        put_in_place(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise unwritable(path, error) from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def unwritable(path: Path, error: OSError) -> ResumeError:
    """Return the error that says why a file or folder of a run cannot be written."""
    return ResumeError(
        f"cannot be written ({error.strerror or error}); make room or name another folder; "
        "what is whole is kept, and the same command goes on from there",
        path=str(path),
    )


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that readers see all of it or nothing."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def remove_temporaries(folder: Path) -> None:
    """Delete what interrupted writers left in a folder; a living process keeps its own.

    Reading a run writes its analysis without the lock, so another process may be
    at it while this one resumes.
    """
    for leftover in folder.glob("*" + TEMPORARY):
        owner = _OWNED.search(leftover.name)
        if leftover.is_file() and (owner is None or not _lives(int(owner.group(1)))):
            leftover.unlink(missing_ok=True)


def _lives(process: int) -> bool:
    if sys.platform == "win32" or process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


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
        except BlockingIOError:
            os.close(descriptor)
            raise ResumeError(
                "another run is writing this folder; wait for it to end or choose another folder",
                path=str(path),
            ) from None
        except OSError as error:
            os.close(descriptor)
            raise ResumeError(
                f"the folder cannot be locked ({error.strerror}); name one on another disk",
                path=str(path),
            ) from None
        self._descriptor = descriptor

    def release(self) -> None:
        """Let others write; releasing twice does nothing."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
