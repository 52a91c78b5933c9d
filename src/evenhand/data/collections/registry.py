"""The registry of public collections, and how a name becomes slates.

The folder layout is that of `read_folder`; the root that holds the folders is
named in EVENHAND_DATA.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evenhand.data.collections.declare import Collection, Placed
from evenhand.data.collections.passages import PASSAGES
from evenhand.data.collections.placed import PLACED
from evenhand.data.collections.questions import QUESTIONS, TRAINING
from evenhand.data.collections.responses import RESPONSES
from evenhand.data.folder import read_folder
from evenhand.data.report import ReadReport, Slates
from evenhand.errors import InputError, UsageError
from evenhand.types import Slate

ROOT = "EVENHAND_DATA"
DECLARED = "declared"
_RUN_SUFFIXES = (".trec", ".trec.gz", ".run", ".run.gz", ".txt", ".txt.gz")

COLLECTIONS: dict[str, Collection] = {**PASSAGES, **QUESTIONS, **RESPONSES, **TRAINING, **PLACED}


def collection(name: str) -> Collection:
    """Return the declaration of a collection.

    Raises:
        UsageError: the name is unknown; the known ones are listed.
    """
    if name not in COLLECTIONS:
        raise UsageError(f"unknown collection {name!r}; known are {sorted(COLLECTIONS)}")
    return COLLECTIONS[name]


def data_root(root: str | os.PathLike[str] | None) -> Path | None:
    """Return the folder of collection folders: the given one, else EVENHAND_DATA's, else None."""
    named = root or os.environ.get(ROOT)
    return None if not named else Path(named)


def collection_folder(name: str, root: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder that holds a collection's files.

    Args:
        name: a key of `COLLECTIONS`.
        root: folder of collection folders; None = the one EVENHAND_DATA names.

    Raises:
        UsageError: the name is unknown.
        InputError: no root is named, or it has no such folder; says where the
            files come from and how to place them.
    """
    declared = collection(name)
    base = data_root(root)
    if base is None:
        raise InputError(
            f"collection {name!r} needs its files ({declared.source}; {declared.licence}): name the "
            f"folder that holds {name}/ as root or in the variable {ROOT}"
        )
    folder = base / name
    if not folder.is_dir():
        raise InputError(
            f"no folder of collection {name!r}; get the files from {declared.source} "
            f"({declared.licence}): {advice(name)}",
            path=str(folder),
        )
    return folder


def advice(name: str) -> str:
    """Return how to get a collection's files, in one clause."""
    origin = collection(name).origin
    if isinstance(origin, Placed):
        return f"{origin.how} in the folder {name}/ of the one that {ROOT} names"
    return f"evenhand data fetch {name}"


def open_collection(
    name: str,
    root: str | os.PathLike[str] | None = None,
    *,
    limit: int | None = None,
    cap: int | str | None = DECLARED,
    **options: Any,
) -> Slates:
    """Return the slates of a collection, read as a stream.

    Args:
        name: a key of `COLLECTIONS`. root: see `collection_folder`.
        limit: most slates; None = all.
        cap: characters a candidate's text is cut to; None = no cut. The report
            of the slates counts what was cut.
        options: of `read_folder`, instead of the declared ones; None = as declared.

    Raises:
        UsageError: the name or an option is unknown, or the limit or cap under 1.
        InputError: the files are missing or malformed.
    """
    declared = collection(name)
    if limit is not None and limit < 1:
        raise UsageError(f"limit must be at least 1, got {limit}")
    most = declared.cap if cap == DECLARED else cap
    if most is not None and (not isinstance(most, int) or most < 1):
        raise UsageError(f"cap must be at least 1, or None for no cut; got {cap!r}")
    given = {key: value for key, value in options.items() if value is not None}
    folder = collection_folder(name, root)
    slates = read_folder(folder, **_reading(declared, folder, given))

    def kept(report: ReadReport) -> Iterator[Slate]:
        wanted = (slate for slate in slates if slate.verdict not in declared.without)
        for slate in itertools.islice(wanted, limit):
            yield slate if most is None else _cut(slate, most, report)

    return Slates(kept, slates.report)


def _reading(declared: Collection, folder: Path, given: dict[str, Any]) -> dict[str, Any]:
    """Return the options of `read_folder`; BM25 is made anew where it is declared and not kept."""
    options = {key: value for key, value in declared.options.items() if key not in given}
    # A form that is asked for replaces the declared run, and a run the declared form.
    if "form" in given:
        options.pop("run", None)
    if "run" in given:
        options.pop("form", None)
    run = options.get("run")
    kept = run is None or any((folder / "runs" / f"{run}{end}").is_file() for end in _RUN_SUFFIXES)
    if not kept and declared.first == "bm25":
        options = {**options, "form": "bm25"}
        options.pop("run")
    return {**options, **given}


def _cut(slate: Slate, most: int, report: ReadReport) -> Slate:
    """Return the slate with every text cut to so many characters; titles and the query stay."""
    if all(len(candidate.text) <= most for candidate in slate.candidates):
        return slate
    candidates = []
    for candidate in slate.candidates:
        if len(candidate.text) > most:
            report.add("cut_text", f"{slate.id}/{candidate.id}")
            candidate = dataclasses.replace(candidate, text=candidate.text[:most].rstrip())
        candidates.append(candidate)
    return dataclasses.replace(slate, candidates=tuple(candidates))
