"""Readings under way: a part of the slates at a time, so that a stop loses one at most.

The parts lie in `reader_parts` of the run folder until all are there and make one
file. A part counts as done once its hash file stands beside it; both appear whole or
not at all. `identity.json` says whose they are: parts of another reader, task,
selection, run or part size are deleted and read anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from evenhand.errors import ResumeError
from evenhand.records.files import FolderLock, replacing, unwritable, write_whole
from evenhand.records.merged import open_writer, read_table, write_table
from evenhand.seeds import file_hash
from evenhand.study.found.readings import schema_for, table_of

FOLDER = "reader_parts"
_IDENTITY = "identity.json"


def same_readings(one: Mapping[str, Any] | None, other: Mapping[str, Any]) -> bool:
    """Return whether two identities are of the same readings; the reader's name does not matter."""

    def core(identity: Mapping[str, Any]) -> dict[str, Any]:
        reader = {k: v for k, v in identity.get("reader", {}).items() if k != "name"}
        return {**identity, "reader": reader}

    return one is not None and core(one) == core(other)


class ReadingParts:
    """The parts of one reading of one run; locks their folder against other readers.

    Attributes:
        path: their folder.
    """

    def __init__(self, home: Path, identity: Mapping[str, Any], size: int) -> None:
        """Open the folder; parts that belong to other readings are deleted.

        Args:
            home: the run folder. identity: whose readings they are.
            size: slates in a part.

        Raises:
            ResumeError: another process reads this run, a part is damaged, or the
                folder cannot be written.
        """
        self.path = home / FOLDER
        self._identity = identity
        try:
            self.path.mkdir(exist_ok=True)
            self._lock = FolderLock(self.path)
        except OSError as error:
            raise unwritable(self.path, error) from None
        try:
            self._claim({**identity, "slates_in_a_part": size})
            self._require_sound()
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> ReadingParts:
        return self

    def __exit__(self, *_: object) -> None:
        if not any(self.path.glob("*.parquet")):
            self.discard()
        self._lock.release()

    def _claim(self, wanted: Mapping[str, Any]) -> None:
        path = self.path / _IDENTITY
        try:
            found = json.loads(path.read_bytes())
        except (OSError, ValueError):
            found = None
        if isinstance(found, dict) and same_readings(found, wanted):
            return
        self._empty()
        write_whole(path, (json.dumps(wanted, indent=1, sort_keys=True) + "\n").encode("ascii"))

    def _part(self, index: int) -> Path:
        return self.path / f"{index:04d}.parquet"

    def _hash(self, index: int) -> Path:
        return self._part(index).with_suffix(".sha256")

    def _require_sound(self) -> None:
        bad = [
            written.with_suffix(".parquet").name
            for written in sorted(self.path.glob("*.sha256"))
            if not self._sound(written)
        ]
        if bad:
            raise ResumeError(
                f"damaged: {', '.join(bad)}; delete the named parts to have them read again",
                path=str(self.path),
            )

    def _sound(self, written: Path) -> bool:
        part = written.with_suffix(".parquet")
        # Without its part a hash says nothing: the part is read again.
        return not part.exists() or written.read_bytes().split()[:1] == [
            file_hash(part).encode("ascii")
        ]

    def done(self, index: int) -> bool:
        """Return whether a part is there, with every reading in it."""
        if not (self._part(index).exists() and self._hash(index).exists()):
            return False
        table = read_table(self._part(index), columns=["input", "output"])
        lost = pc.and_(table["input"].is_valid(), table["output"].is_null())
        return not pc.any(lost).as_py()

    def write(self, index: int, lines: Sequence[Mapping[str, Any]]) -> None:
        """Write the lines of one part, whole or not at all."""
        path = self._part(index)
        self._hash(index).unlink(missing_ok=True)
        write_table(path, table_of(lines, schema_for(self._identity)))
        write_whole(self._hash(index), f"{file_hash(path)}  {path.name}\n".encode("ascii"))

    def merge(self, target: Path, count: int) -> None:
        """Write all parts into one file, a row group each, and delete them."""
        schema = schema_for(self._identity)
        with replacing(target) as temporary, open_writer(temporary, schema) as writer:
            for index in range(count):
                table = read_table(self._part(index)).replace_schema_metadata(schema.metadata)
                writer.write_table(table, row_group_size=max(1, len(table)))
        self.discard()

    def discard(self) -> None:
        """Delete the parts and their folder."""
        if self.path.exists():
            self._empty()
            self.path.rmdir()

    def _empty(self) -> None:
        # Hashes first: a part without one is not done.
        for pattern in ("*.sha256", "*"):
            for path in self.path.glob(pattern):
                path.unlink()
