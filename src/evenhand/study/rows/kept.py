"""Answers of a scorer kept in a folder, so that a study that was stopped can go on.

For studies that ask as they go, where the next question depends on the last answer.
Every call is a line of `answers.jsonl`; the same study asks the same again, and what
stands there is not asked twice.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.errors import ResumeError
from evenhand.present.surface import texts_hash
from evenhand.records import manifest
from evenhand.records.files import FolderLock, unwritable, write_whole
from evenhand.records.slates import to_line
from evenhand.seeds import content_hash
from evenhand.study.plain import plain
from evenhand.study.rows.run import ResumeWarning, describe
from evenhand.types import Scored, Scorer, Shown, Slate, Surface

HEAD, ANSWERS, RESULT = "study.json", "answers.jsonl", "result.json"
_FLOATS = ("scores", "grades", "label_mass")
_COUNTS = ("truncated", "escaped")


class KeptScorer:
    """A scorer whose answers are kept: those in the folder first, then its own.

    Attributes:
        known: calls that an earlier study left answered.
    """

    def __init__(self, scorer: Scorer, folder: Path, head: Mapping[str, Any]) -> None:
        self._scorer, self._folder, self._head = scorer, folder, head
        self._path = folder / ANSWERS
        self.name, self.revision, self.scale = scorer.name, scorer.revision, scorer.scale
        self.order_free, self.channels = scorer.order_free, scorer.channels
        self.max_window, self.default_window = scorer.max_window, scorer.default_window
        self.surface = scorer.surface
        self.known = _whole_lines(self._path)
        self._lines = self._read()

    def __getattr__(self, name: str) -> Any:
        # What a scorer may tell beside the protocol: dtype, options, unseen.
        return getattr(self.__dict__["_scorer"], name)

    def _read(self) -> Iterator[bytes]:
        if self.known:
            with self._path.open("rb") as stream:
                yield from stream

    def score(self, shown: Sequence[Shown]) -> list[Scored]:
        """Return what the folder holds for this call, or ask and keep it.

        Raises:
            ResumeError: the folder holds the answer to another question, is damaged,
                or cannot be written.
        """
        asked = content_hash([_question(one) for one in shown])
        line = next(self._lines, None)
        if line is not None:
            return _answers(line, asked, self._path)
        found = self._scorer.score(shown)
        if all(isinstance(one, Scored) for one in found):
            self._keep({"asked": asked, "scored": [plain(asdict(one)) for one in found]})
        return list(found)

    def _keep(self, record: Mapping[str, Any]) -> None:
        try:
            if not (self._folder / HEAD).exists():
                write_whole(self._folder / HEAD, _document(self._head))
            with self._path.open("ab") as stream:
                stream.write(json.dumps(record, allow_nan=False).encode("ascii") + b"\n")
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise unwritable(self._path, error) from None


@contextmanager
def kept(
    scorer: Scorer,
    out: str | os.PathLike[str] | None,
    study: str,
    settings: Mapping[str, Any],
    slates: Sequence[Slate],
    *,
    surface: Surface | None = None,
) -> Iterator[Scorer]:
    """Give a scorer whose answers are kept in a folder while the block runs.

    Args:
        scorer: what is studied.
        out: the folder; None = nothing is kept, and the scorer is given as it is.
        study: name of the study, e.g. "worst".
        settings: all that could change what is asked.
        slates: what is asked about.
        surface: of the presentations; None = the scorer's own.

    Raises:
        ResumeError: the folder holds another study or other files, is in use, or
            cannot be written.
    """
    if out is None:
        yield scorer
        return
    folder, used = Path(out), scorer.surface if surface is None else surface
    head = manifest.plain(
        {
            "study": study,
            "settings": {**settings, "surface": used, "surface_texts": texts_hash(used)},
            "scorer": describe(scorer),
            "slates": slates_hash(slates),
        }
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from None
    lock = FolderLock(folder)
    try:
        _require_same(folder, head)
        asked = KeptScorer(scorer, folder, head)
        if asked.known:
            _warn_of_unseen(scorer)
        yield asked
    finally:
        lock.release()


def slates_hash(slates: Iterable[Slate]) -> str:
    """Return the hash of slates, in order, that the head of a kept study holds."""
    return content_hash([to_line(slate).decode("ascii") for slate in slates])


def write_result(out: str | os.PathLike[str], found: Mapping[str, Any]) -> None:
    """Write what a finished study found, as JSON values, beside its answers.

    Raises:
        ResumeError: the system refuses to write.
    """
    write_whole(Path(out) / RESULT, _document(found))


def _document(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=True, allow_nan=False) + "\n").encode("ascii")


def _require_same(folder: Path, head: Mapping[str, Any]) -> None:
    path = folder / HEAD
    if not path.exists():
        foreign = sorted(entry.name for entry in folder.iterdir() if entry.name != ANSWERS)
        if foreign or (folder / ANSWERS).exists():
            raise ResumeError(
                f"holds files but no such study ({', '.join(foreign[:3]) or ANSWERS}); name a new or "
                "empty folder",
                path=str(folder),
            )
        return
    try:
        before = json.loads(path.read_bytes())
    except (OSError, ValueError):
        raise ResumeError("is damaged; start a new folder", path=str(path)) from None
    found = manifest.differences(before, head)
    if found:
        raise ResumeError(
            "holds a study with other settings:\n  "
            + "\n  ".join(found)
            + "\nchoose another folder, or repeat the settings of that study to go on",
            path=str(folder),
        )


def _warn_of_unseen(scorer: Scorer) -> None:
    unseen = tuple(getattr(scorer, "unseen", ()))
    if unseen:
        warnings.warn(
            f"answers of an earlier call stand, and the automatic revision of {scorer.name} does not "
            f"cover {', '.join(unseen)}: if that has changed, the study mixes two scorers",
            ResumeWarning,
            stacklevel=4,
        )


def _whole_lines(path: Path) -> int:
    """Return the number of whole lines of a file; what a killed writer left of one more is cut off."""
    if not path.exists():
        return 0
    with path.open("r+b") as stream:
        whole, lines = 0, 0
        for line in stream:
            if line.endswith(b"\n"):
                whole, lines = whole + len(line), lines + 1
        stream.truncate(whole)
    return lines


def _question(shown: Shown) -> list[Any]:
    one = shown.presentation
    return [shown.slate.id, shown.row, shown.kind, *map(plain, (one.order, one.windows, one.surface))]


def _answers(line: bytes, asked: str, path: Path) -> list[Scored]:
    try:
        record = json.loads(line)
        before, found = record["asked"], [_scored(one) for one in record["scored"]]
    except (ValueError, KeyError, TypeError):
        raise ResumeError("is damaged; start a new folder", path=str(path)) from None
    if before != asked:
        raise ResumeError(
            "holds the answer to another question than the study asks now: another version of evenhand "
            "asks otherwise, or the file is damaged. Start a new folder.",
            path=str(path),
        )
    return found


def _scored(record: dict[str, Any]) -> Scored:
    """Return one answer from its JSON form; null becomes NaN in arrays."""
    for names, kind in ((_FLOATS, np.float64), (_COUNTS, np.int64)):
        for name in names:
            if record[name] is not None:
                record[name] = np.array(record[name], dtype=kind)
    return Scored(**record)
