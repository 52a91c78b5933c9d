"""One run on disk: begun, resumed, merged, read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from evenhand.errors import InputError, ResumeError, UsageError
from evenhand.records import manifest as manifests
from evenhand.records import merged
from evenhand.records import slates as slate_files
from evenhand.records.creation import PARTS, create_run, resume_run
from evenhand.records.files import FolderLock, unwritable, write_whole
from evenhand.records.tables import Entry, Recorded, part_table
from evenhand.seeds import file_hash
from evenhand.types import Slate


class RunFolder:
    """A run in a folder: `slates.jsonl`, `manifest.json`, `parts/`, merged tables.

    A part counts as done once its hash file stands beside it; both appear whole
    or not at all. Use `begin` to write and `open` to read.

    Attributes:
        path: the folder.
        manifest: settings, versions, hashes, counts.
    """

    def __init__(self, path: Path, manifest: dict[str, Any], lock: FolderLock | None = None) -> None:
        self.path = path
        self.manifest = manifest
        self._lock = lock
        self._offsets: list[int] | None = None

    @classmethod
    def begin(
        cls,
        path: str | os.PathLike[str],
        settings: Mapping[str, Any],
        slates: Iterable[Slate],
        part_size: int = 4,
    ) -> RunFolder:
        """Create a run, or go on with the one in the folder; locks it against other writers.

        The slates are read once, as a stream. A folder that was killed while
        being created is begun anew.

        Args:
            path: a new or empty folder, or one that an earlier call made.
            settings: plain data; all of it is compared on resume.
            slates: the input, ids unique.
            part_size: slates scored between two writes to disk.

        Raises:
            ResumeError: other settings or slates (each difference named), a
                damaged part, a folder that is no run, or one that is in use.
            InputError: two slates share an id.
            UsageError: part_size < 1 or settings that are no plain data.
        """
        if not isinstance(part_size, int) or part_size < 1:
            raise UsageError(f"part_size must be a whole number of at least 1, got {part_size!r}")
        wanted = manifests.plain(settings)
        folder = Path(path)
        existed = os.path.exists(folder)
        if existed and not folder.is_dir():
            raise ResumeError("is a file; name a folder for the run", path=str(folder))
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = FolderLock(folder)
        except OSError as error:
            raise unwritable(folder, error) from None
        try:
            if (folder / manifests.NAME).exists():
                found = resume_run(folder, wanted, slates, part_size)
            else:
                found = create_run(folder, wanted, slates, part_size)
            run = cls(folder, found, lock)
            run._require_sound_parts()
            return run
        except BaseException:
            lock.release()
            if not existed and not any(folder.iterdir()):
                folder.rmdir()
            raise

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> RunFolder:
        """Open a run for reading.

        Raises:
            ResumeError: the folder holds no run.
        """
        folder = Path(path)
        if not os.path.isdir(folder):
            what = "is a file" if os.path.exists(folder) else "does not exist"
            raise ResumeError(f"{what}; name a folder that an audit wrote", path=str(folder))
        return cls(folder, manifests.read(folder))

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings that the run was begun with."""
        return self.manifest["settings"]  # type: ignore[no-any-return]

    @property
    def part_size(self) -> int:
        """Slates in a part; the last may hold fewer."""
        return int(self.manifest["part_size"])

    @property
    def n_slates(self) -> int:
        """Slates in the run."""
        return int(self.manifest["n_slates"])

    @property
    def n_parts(self) -> int:
        """Parts in the run."""
        return -(-self.n_slates // self.part_size)

    @property
    def finished(self) -> bool:
        """Whether all parts are scored and merged."""
        names = (merged.SCORES_NAME, merged.ROWS_NAME)
        return "outputs" in self.manifest and all((self.path / name).exists() for name in names)

    def slates(self) -> Iterator[Slate]:
        """Yield the slates in order, one in memory at a time."""
        yield from slate_files.read_slates(self.path / slate_files.NAME)

    def part_path(self, index: int) -> Path:
        """Return the file of one part."""
        return self.path / PARTS / f"{index:04d}.parquet"

    def _hash_path(self, index: int) -> Path:
        return self.part_path(index).with_suffix(".sha256")

    def _done(self, index: int) -> bool:
        return self.part_path(index).exists() and self._hash_path(index).exists()

    def pending(self) -> list[int]:
        """Return the parts that are not yet scored."""
        return [index for index in range(self.n_parts) if not self._done(index)]

    def part_slates(self, index: int) -> list[Slate]:
        """Return the slates of one part.

        Raises:
            UsageError: there is no such part.
        """
        if not 0 <= index < self.n_parts:
            raise UsageError(f"no part {index}; the run has parts 0 to {self.n_parts - 1}")
        path = self.path / slate_files.NAME
        if self._offsets is None:
            self._offsets = slate_files.part_offsets(path, self.part_size)
        if len(self._offsets) != self.n_parts:
            raise ResumeError(
                f"holds other slates than the {self.n_slates} of the manifest; restore both files or "
                "start a new folder",
                path=str(path),
            )
        return list(slate_files.read_slates(path, self._offsets[index], self.part_size))

    def write_part(self, index: int, entries: Sequence[Entry]) -> None:
        """Write one part: every slate of it with its plan and one Scored per row.

        Raises:
            UsageError: the entries are not the slates of that part, or the folder
                is open for reading only.
        """
        if self._lock is None:
            raise UsageError("the run is open for reading; use RunFolder.begin to write")
        expected = [slate.id for slate in self.part_slates(index)]
        given = [slate.id for slate, _, _ in entries]
        if given != expected:
            raise UsageError(f"part {index} holds slates {expected}, got {given}")
        for slate, plan, results in entries:
            if len(results) != len(plan) or any(len(scored.scores) != len(slate) for scored in results):
                raise UsageError(f"slate {slate.id!r}: one Scored per row and one score per candidate")
        path = self.part_path(index)
        merged.write_table(path, part_table(entries))
        write_whole(self._hash_path(index), f"{file_hash(path)}  {path.name}\n".encode("ascii"))

    def _require_sound_parts(self) -> None:
        bad = [index for index in range(self.n_parts) if self._done(index) and not self._sound(index)]
        if bad:
            names = ", ".join(self.part_path(index).name for index in bad)
            raise ResumeError(
                f"damaged: {names}; delete the named parts to have them scored again",
                path=str(self.path / PARTS),
            )

    def _sound(self, index: int) -> bool:
        expected = self._hash_path(index).read_bytes().split()[:1]
        return expected == [file_hash(self.part_path(index)).encode("ascii")]

    def _read_parts(self) -> Iterator[tuple[pa.Table, list[Slate]]]:
        for index in range(self.n_parts):
            path, slates = self.part_path(index), self.part_slates(index)
            table = merged.read_table(path)
            if list(dict.fromkeys(table.column("slate").to_pylist())) != [slate.id for slate in slates]:
                raise ResumeError(
                    "holds other slates than this part of the run; delete it to have it scored again",
                    path=str(path),
                )
            yield table, slates

    def merge(self) -> None:
        """Write `scores.parquet` and `rows.parquet` from the parts; nothing when they stand.

        Raises:
            ResumeError: parts are pending or do not belong to the run.
            UsageError: the folder is open for reading only.
        """
        if self._lock is None:
            raise UsageError("the run is open for reading; use RunFolder.begin to write")
        if pending := self.pending():
            raise ResumeError(
                f"{len(pending)} of {self.n_parts} parts are not scored", path=str(self.path)
            )
        if self.finished and self.manifest["outputs"] == self._output_hashes():
            return
        merged.merge_parts(self.path, self._read_parts())
        self.manifest["outputs"] = self._output_hashes()
        manifests.write(self.path, self.manifest)

    def _output_hashes(self) -> dict[str, str]:
        return {name: file_hash(self.path / name) for name in (merged.SCORES_NAME, merged.ROWS_NAME)}

    def _require_finished(self) -> None:
        if not self.finished:
            done = self.n_parts - len(self.pending())
            raise ResumeError(
                f"the run is not finished ({done} of {self.n_parts} parts scored); "
                "run it again with the same settings and folder to go on",
                path=str(self.path),
            )

    def recorded(self) -> Iterator[Recorded]:
        """Yield the record of each slate in order; memory does not grow with the run.

        Raises:
            ResumeError: the run is not finished, or a file is damaged.
        """
        self._require_finished()
        yield from merged.read_recorded(self.path, self.slates())

    def find(self, slate_id: str) -> Recorded:
        """Return the record of one slate without reading the others.

        Raises:
            InputError: no such slate; the first ids are listed.
        """
        self._require_finished()
        slate = slate_files.find_slate(self.path / slate_files.NAME, slate_id)
        if slate is None:
            known = [other.id for other, _ in zip(self.slates(), range(5), strict=False)]
            raise InputError(f"no slate {slate_id!r}; the first are {known}", path=str(self.path))
        return merged.find_recorded(self.path, slate)

    def close(self) -> None:
        """Let other writers in; reading goes on."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
