"""A reader over a finished run: what it answers, how that flips, and whether it reads at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from evenhand.decide.prompts import check_task
from evenhand.decide.reading import TOP, Cached, Evidence, Reader, Reading, outcome
from evenhand.errors import EvenhandError, ScorerError, UsageError
from evenhand.measure.checks import came, finite, resampling, whole
from evenhand.records import Recorded, RunFolder
from evenhand.seeds import content_hash
from evenhand.study.analysis import ReaderAnalysis
from evenhand.study.found.reader_analysis import analyse_readings
from evenhand.study.found.reading_parts import ReadingParts, same_readings
from evenhand.study.found.readings import (
    FORMAT,
    NAME,
    REREAD,
    Ask,
    asks_of,
    identity_of,
    line_of,
    run_hash,
)
from evenhand.study.rows.batched import batched

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
    chunk: int = 4,
    progress: Callable[[int, int], None] | None = None,
) -> ReaderAnalysis:
    """Let a reader read every row of a run, and return how its outputs depend on the rows.

    Writes `reader.parquet` into the run's folder, whole or not at all; until then
    the readings lie in parts beside it (`reading_parts`), so that a stopped call goes
    on where it was. A file of the same reader, task, selection and run is used as it
    stands, unless readings of it are missing: then all are read again. Any other file
    is replaced, and so are parts of other readings.
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
        chunk: slates read together and written as one part: memory holds these, and a
            stopped call loses these at most.
        progress: called with (slates done, slates in all), first with what an earlier
            call has done.

    Raises:
        UsageError: nothing limits what is read (top and thresholds both None), a
            slate has no threshold, one is no finite number, or something is of the
            wrong kind or out of range.
        ResumeError: the run is not finished, a file is damaged, or another call is
            reading this run.
        ScorerError: the reader failed, or every reading is missing.
    """
    _check(folder, reader, top, min_grade, chunk)
    resampling(draws, seed, level)
    thresholds = _checked_thresholds(top, thresholds)
    identity = _identity(folder, reader, top, thresholds, min_grade)
    options: dict[str, Any] = {"seed": seed, "level": level, "draws": draws}
    if same_readings(identity_of(folder.path / NAME), identity):
        found = analyse_readings(folder.path / NAME, identity, **options)
        if not found.counts["missing"]:
            return found
    with ExitStack() as stack:
        home = folder.path
        if not os.access(home, os.W_OK):
            home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        path = home / NAME
        parts = stack.enter_context(ReadingParts(home, identity, chunk))
        parts.merge(path, _read_all(folder, reader, parts, identity, chunk, progress, thresholds))
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


def _check(folder: RunFolder, reader: Reader, top: int | None, min_grade: int, chunk: int) -> None:
    if not isinstance(folder, RunFolder):
        raise UsageError(f"a run folder is needed, got {came(folder)}; open one with RunFolder.open")
    if not isinstance(reader, Reader) or isinstance(reader, type):
        raise UsageError(
            f"a reader is needed, got {came(reader)}; open one with evenhand.decide.open_reader"
        )
    check_task(reader.task)
    if top is not None:
        whole("top of a reader", top)
    whole("min_grade", min_grade)
    whole("chunk", chunk)


def _checked_thresholds(top: int | None, given: object) -> float | dict[str, float] | None:
    """Return thresholds as finite floats, one or one a slate."""
    if given is None:
        if top is None:
            raise UsageError("say what the reader reads: the top so many, or thresholds")
        return None
    if isinstance(given, Mapping):
        return {key: finite(f"the threshold of slate {key!r}", value) for key, value in given.items()}
    return finite("thresholds", given)


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


def _read_all(
    folder: RunFolder,
    reader: Reader,
    parts: ReadingParts,
    identity: Mapping[str, Any],
    chunk: int,
    progress: Callable[[int, int], None] | None,
    thresholds: float | Mapping[str, float] | None,
) -> int:
    """Read the parts that are not there yet, and return how many there are."""
    known = {i for i in range(-(-folder.n_slates // chunk)) if parts.done(i)}
    done = sum(min(chunk, folder.n_slates - i * chunk) for i in known)
    if progress is not None:
        progress(done, folder.n_slates)
    cached, count = Cached(reader), 0
    for index, records in enumerate(batched(folder.recorded(), chunk)):
        count += 1
        if index in known:
            continue
        parts.write(index, _lines(cached, records, identity, thresholds, again=index == 0))
        done += len(records)
        if progress is not None:
            progress(done, folder.n_slates)
    return count


def _lines(
    cached: Cached,
    records: Sequence[Recorded],
    identity: Mapping[str, Any],
    thresholds: float | Mapping[str, float] | None,
    *,
    again: bool,
) -> list[dict[str, Any]]:
    """Return the lines of some slates, with a few inputs read a second time where asked."""
    task = cached.task
    asks = [
        ask
        for record in records
        for ask in asks_of(
            record,
            task,
            top=identity["top"],
            threshold=_threshold(thresholds, record.slate.id),
            min_grade=identity["min_grade"],
        )
    ]
    found = zip(asks, _readings(cached, asks), strict=True)
    lines = [line_of(ask, reading, task) for ask, reading in found]
    if again:
        lines += _again(cached.reader, asks)
    # In slate order, so that lines read again stand with their slate.
    place = {record.slate.id: index for index, record in enumerate(records)}
    return sorted(lines, key=lambda line: place[line["slate"]])


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
    try:
        answers = reader.read(shown) if shown else []
    except EvenhandError:
        raise
    except Exception as error:
        raise ScorerError(
            f"{reader.name} failed: {type(error).__name__}: {error}. What was read before is kept; "
            "run again to go on."
        ) from error
    if (
        not isinstance(answers, Sequence)
        or len(answers) != len(shown)
        or not all(isinstance(one, Reading) for one in answers)
    ):
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
