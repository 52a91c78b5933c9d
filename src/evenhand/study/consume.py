"""A reader over a finished run: what it answers, how that flips, and whether it reads at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

from evenhand.decide.prompts import check_task
from evenhand.decide.reading import TOP, Cached, Evidence, Reader, Reading, outcome
from evenhand.errors import ScorerError, UsageError
from evenhand.records import Recorded, RunFolder
from evenhand.records.files import replacing
from evenhand.records.merged import open_writer
from evenhand.seeds import content_hash
from evenhand.study.analysis import ReaderAnalysis
from evenhand.study.reader_analysis import analyse_readings
from evenhand.study.readings import (
    FORMAT,
    NAME,
    REREAD,
    Ask,
    asks_of,
    identity_of,
    line_of,
    run_hash,
    schema_for,
    table_of,
)

_REREAD = 8
_NO_SCORES = "no scores in this row"


def consume(
    folder: RunFolder,
    reader: Reader,
    *,
    top: int | None = TOP,
    thresholds: float | Mapping[str, float] | None = None,
    min_grade: int = 1,
    seed: int = 0,
    level: float = 0.95,
    draws: int = 2000,
    chunk: int = 16,
    progress: Callable[[int, int], None] | None = None,
) -> ReaderAnalysis:
    """Let a reader read every row of a run, and return how its outputs depend on the rows.

    Writes `reader.parquet` into the run's folder, whole or not at all. A file of the
    same reader, task, selection and run is used as it stands, unless readings of it
    are missing: then all are read again. Any other file is replaced.
    Identical inputs are read once. A few inputs are read a second time in other
    batches, to see whether the reader itself is steady.

    Args:
        folder: a finished run.
        reader: frozen; see `decide.open_reader`.
        top: read the top so many; None = all that are retained.
        thresholds: read only candidates at or above it, one for all slates or one
            by slate id; None = whatever they score.
        min_grade: lowest grade of gold evidence.
        seed, level, draws: of the intervals.
        chunk: slates read together; memory holds these.
        progress: called with (slates done, slates in all).

    Raises:
        UsageError: nothing limits what is read (top and thresholds both None), a
            slate has no threshold, or a number is out of range.
        ResumeError: the run is not finished, or a file is damaged.
        ScorerError: the reader failed, or every reading is missing.
    """
    _check(top, thresholds, chunk)
    check_task(reader.task)
    identity = _identity(folder, reader, top, thresholds, min_grade)
    options: dict[str, Any] = {"seed": seed, "level": level, "draws": draws}
    if _belongs(identity_of(folder.path / NAME), identity):
        found = analyse_readings(folder.path / NAME, identity, **options)
        if not found.counts["missing"]:
            return found
    with ExitStack() as stack:
        home = folder.path
        if not os.access(home, os.W_OK):
            home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        path = home / NAME
        _read_all(folder, reader, path, identity, chunk, progress, thresholds)
        found = analyse_readings(path, identity, **options)
        nothing = found.counts["readings"] and found.counts["missing"] == found.counts["readings"]
        if nothing:
            path.unlink()
    if nothing:
        said = "; ".join(found.reasons) or "no reason given"
        raise ScorerError(
            f"{reader.name}: every one of its readings is missing ({said}). Mend the reader"
        )
    return found


def saved_reading(folder: RunFolder, **options: Any) -> ReaderAnalysis | None:
    """Return the analysis of the readings that stand in a run's folder, without a reader.

    Args:
        folder: a finished run.
        options: seed, level and draws of the intervals.

    Returns:
        None where there are none, or where they belong to another run.
    """
    path = folder.path / NAME
    identity = identity_of(path)
    if identity is None or identity.get("format") != FORMAT or identity.get("run") != run_hash(folder):
        return None
    return analyse_readings(path, identity, **options)


def _check(top: int | None, thresholds: float | Mapping[str, float] | None, chunk: int) -> None:
    if top is None and thresholds is None:
        raise UsageError("say what the reader reads: the top so many, or thresholds")
    if top is not None and top < 1:
        raise UsageError(f"a reader reads at least the top 1, got {top}")
    if chunk < 1:
        raise UsageError(f"chunk must be at least 1, got {chunk}")


def _identity(
    folder: RunFolder,
    reader: Reader,
    top: int | None,
    thresholds: float | Mapping[str, float] | None,
    min_grade: int,
) -> dict[str, Any]:
    cuts = dict(thresholds) if isinstance(thresholds, Mapping) else thresholds
    return {
        "format": FORMAT,
        "run": run_hash(folder),
        "reader": {"name": reader.name, "revision": reader.revision, "task": reader.task},
        "top": top,
        "thresholds": content_hash(cuts)[:16] if isinstance(cuts, dict) else cuts,
        "min_grade": min_grade,
    }


def _belongs(found: Mapping[str, Any] | None, wanted: Mapping[str, Any]) -> bool:
    """Return whether readings are those wanted; how the reader is called does not matter."""

    def core(identity: Mapping[str, Any]) -> dict[str, Any]:
        reader = {k: v for k, v in identity.get("reader", {}).items() if k != "name"}
        return {**identity, "reader": reader}

    return found is not None and core(found) == core(wanted)


def _chunks(items: Iterator[Recorded], size: int) -> Iterator[list[Recorded]]:
    while batch := list(islice(items, size)):
        yield batch


def _read_all(
    folder: RunFolder,
    reader: Reader,
    path: Path,
    identity: Mapping[str, Any],
    chunk: int,
    progress: Callable[[int, int], None] | None,
    thresholds: float | Mapping[str, float] | None,
) -> None:
    cached, schema, done = Cached(reader), schema_for(identity), 0
    with replacing(path) as temporary, open_writer(temporary, schema) as writer:
        for records in _chunks(folder.recorded(), chunk):
            asks = [
                ask
                for record in records
                for ask in asks_of(
                    record,
                    reader.task,
                    top=identity["top"],
                    threshold=_threshold(thresholds, record.slate.id),
                    min_grade=identity["min_grade"],
                )
            ]
            lines = [
                line_of(ask, reading, reader.task)
                for ask, reading in zip(asks, _readings(cached, asks), strict=True)
            ]
            if not done:
                lines += _again(reader, asks)
            # In slate order, so that lines read again stand with their slate.
            place = {record.slate.id: index for index, record in enumerate(records)}
            lines.sort(key=lambda line: place[line["slate"]])
            table = table_of(lines, schema)
            writer.write_table(table, row_group_size=max(1, len(table)))
            done += len(records)
            if progress is not None:
                progress(done, folder.n_slates)


def _threshold(thresholds: float | Mapping[str, float] | None, slate_id: str) -> float | None:
    if not isinstance(thresholds, Mapping):
        return thresholds
    if slate_id not in thresholds:
        raise UsageError(f"no threshold for slate {slate_id!r}; there are {len(thresholds)}")
    return thresholds[slate_id]


def _readings(reader: Reader, asks: Sequence[Ask]) -> list[Reading]:
    shown = [ask.evidence for ask in asks if ask.evidence is not None]
    answers = iter(_asked(reader, shown))
    return [Reading(None, 0, _NO_SCORES) if ask.evidence is None else next(answers) for ask in asks]


def _asked(reader: Reader, shown: Sequence[Evidence]) -> list[Reading]:
    """Return one checked reading each."""
    answers = reader.read(shown) if shown else []
    if len(answers) != len(shown) or not all(isinstance(one, Reading) for one in answers):
        raise ScorerError(
            f"{reader.name} must give one Reading for each of {len(shown)} inputs, in order"
        )
    return list(answers)


def _again(reader: Reader, asks: Sequence[Ask]) -> list[dict[str, Any]]:
    """Return lines of a few inputs read a second time, in other batches and past the cache."""
    by_input = {
        ask.evidence.key: ask for ask in asks if ask.evidence is not None and ask.evidence.texts
    }
    again = list(by_input.values())[::-1][:_REREAD]
    lines = []
    for ask, reading in zip(
        again, _asked(reader, [one.evidence for one in again if one.evidence]), strict=True
    ):
        line = line_of(ask, reading, reader.task)
        lines.append({**line, "kind": REREAD, "outcome": outcome(reader.task, reading.output)})
    return lines
