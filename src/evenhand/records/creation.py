"""How a run folder comes to be, and what is compared before a run goes on."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from evenhand.errors import ResumeError
from evenhand.records import manifest as manifests
from evenhand.records import slates as slate_files
from evenhand.records.files import (
    TEMPORARY,
    put_in_place,
    remove_temporaries,
    temporary_of,
    unwritable,
)
from evenhand.types import Slate

PARTS = "parts"


def create_run(
    folder: Path, settings: dict[str, Any], slates: Iterable[Slate], part_size: int
) -> dict[str, Any]:
    """Write slates and manifest; the manifest's appearance makes the folder a run."""
    foreign = sorted(entry.name for entry in folder.iterdir() if not _unfinished(entry.name))
    if foreign:
        raise ResumeError(
            f"holds files but no run ({', '.join(foreign[:3])}); name a new or empty folder",
            path=str(folder),
        )
    temporary, summary = _write_slates(folder, slates)
    manifest = {
        "format": manifests.FORMAT,
        "settings": settings,
        "versions": manifests.versions(),
        "slates_hash": summary.hash,
        "n_slates": summary.count,
        "part_size": part_size,
    }
    manifests.write(folder, manifest)
    put_in_place(temporary, folder / slate_files.NAME)
    (folder / PARTS).mkdir(exist_ok=True)
    return manifest


def _unfinished(name: str) -> bool:
    """Whether a file is what a killed writer leaves of slates or manifest."""
    return name.startswith((slate_files.NAME, manifests.NAME)) and name.endswith(TEMPORARY)


def _write_slates(folder: Path, slates: Iterable[Slate]) -> tuple[Path, slate_files.SlatesSummary]:
    """Write the slates under a temporary name; return it with their count and hash."""
    temporary = temporary_of(folder / slate_files.NAME)
    try:
        return temporary, slate_files.write_slates(temporary, slates)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        # An error with another file's name comes from where the slates are read.
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            raise unwritable(folder / slate_files.NAME, error) from error
        raise


def resume_run(
    folder: Path, settings: dict[str, Any], slates: Iterable[Slate], part_size: int
) -> dict[str, Any]:
    """Compare everything with the run in the folder and clear what a killed writer left."""
    manifest = manifests.read(folder)
    before = {**manifest["settings"], "part_size": manifest["part_size"]}
    found = manifests.differences(before, {**settings, "part_size": part_size})
    path = folder / slate_files.NAME
    if path.exists():
        found += slate_files.slate_differences(path, slates, manifest["slates_hash"])
    else:
        temporary, summary = _write_slates(folder, slates)
        if summary.hash == manifest["slates_hash"]:
            put_in_place(temporary, path)
        else:
            temporary.unlink()
            found.append("slates: other texts, ids, grades or order than the run was begun with")
    if found:
        raise ResumeError(
            "holds a run with other settings:\n  "
            + "\n  ".join(found)
            + "\nchoose another folder, or repeat the settings of that run to go on",
            path=str(folder),
        )
    try:
        (folder / PARTS).mkdir(exist_ok=True)
    except OSError as error:
        raise unwritable(folder / PARTS, error) from None
    remove_temporaries(folder)
    remove_temporaries(folder / PARTS)
    return manifest
