"""How a run folder comes to be, and what is compared before a run goes on."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from evenhand.errors import ResumeError
from evenhand.records import manifest as manifests
from evenhand.records import slates as slate_files
from evenhand.records.files import TEMPORARY, put_in_place, remove_temporaries, temporary_of
from evenhand.types import Slate

PARTS = "parts"


def create_run(
    folder: Path, settings: dict[str, Any], slates: Iterable[Slate], part_size: int
) -> dict[str, Any]:
    """Write slates and manifest; the manifest's appearance makes the folder a run."""
    ours = {name + TEMPORARY for name in (slate_files.NAME, manifests.NAME)}
    foreign = sorted(entry.name for entry in folder.iterdir() if entry.name not in ours)
    if foreign:
        raise ResumeError(
            f"holds files but no run ({', '.join(foreign[:3])}); name a new or empty folder",
            path=str(folder),
        )
    temporary = temporary_of(folder / slate_files.NAME)
    try:
        summary = slate_files.write_slates(temporary, slates)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
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
        temporary = temporary_of(path)
        summary = slate_files.write_slates(temporary, slates)
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
    (folder / PARTS).mkdir(exist_ok=True)
    remove_temporaries(folder)
    remove_temporaries(folder / PARTS)
    return manifest
