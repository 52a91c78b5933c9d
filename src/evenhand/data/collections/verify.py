"""Whether the files of a collection are whole: their counts and their hashes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evenhand.data.collections.files import writing
from evenhand.data.collections.making import MANIFEST
from evenhand.data.collections.registry import (
    COLLECTIONS,
    ROOT,
    collection,
    collection_folder,
    data_root,
    open_collection,
)
from evenhand.errors import InputError
from evenhand.seeds import file_hash
from evenhand.types import Slate


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found of one collection.

    Attributes:
        name: of the collection. folder: where it lies.
        slates, candidates: as read to the end, with the declared options.
        expected: declared numbers of the two; None where none is declared.
        hashes: by file "same", "changed" or "missing"; None without a manifest.
        unlisted: files that the manifest does not name.
        problems: what is wrong, a sentence each; empty when all is well.
    """

    name: str
    folder: str
    slates: int
    candidates: int
    expected: tuple[int | None, int | None]
    hashes: Mapping[str, str] | None
    unlisted: tuple[str, ...] = ()
    problems: tuple[str, ...] = field(default=())

    @property
    def good(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    @property
    def words(self) -> str:
        """What is known of the hashes, in words."""
        if self.hashes is None:
            return f"not known, as there is no {MANIFEST}"
        same = sum(state == "same" for state in self.hashes.values())
        return f"{same} of {len(self.hashes)} the same"


def verify(
    name: str, root: str | Path | None = None, *, found: tuple[int, int] | None = None
) -> Verdict:
    """Read a collection to the end and compare it with what is declared and recorded.

    Args:
        name: a key of `COLLECTIONS`. root: as in `collection_folder`.
        found: its slates and candidates, where they were counted already.

    Raises:
        UsageError: the name is unknown.
        InputError: it is not there, or a file is malformed.
    """
    folder = collection_folder(name, root)
    count, candidates = found or _counted(open_collection(name, root))
    counts = collection(name).counts
    expected = (counts.queries, counts.candidates)
    hashes, unlisted = compare(folder)
    problems = [] if count else ["it holds no slates"]
    problems += [
        f"{held:,} {what} where {wanted:,} are declared"
        for held, wanted, what in zip(
            (count, candidates), expected, ("slates", "candidates"), strict=True
        )
        if wanted is not None and held != wanted
    ]
    problems += _texts_problem(folder, counts.texts)
    problems += [
        f"{path} is {state}" for path, state in sorted((hashes or {}).items()) if state != "same"
    ]
    return Verdict(name, str(folder), count, candidates, expected, hashes, unlisted, tuple(problems))


def _texts_problem(folder: Path, wanted: int | None) -> list[str]:
    """Return what is wrong with the size of a corpus that was fetched whole."""
    held = _manifest(folder).get("source", {})
    if not held.get("whole") or wanted is None or held.get("texts") == wanted:
        return []
    return [f"{held.get('texts'):,} texts where {wanted:,} are declared"]


def _manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a folder, {} where there is none.

    Raises:
        InputError: it is damaged.
    """
    path = folder / MANIFEST
    if not path.exists():
        return {}
    try:
        manifest: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return {**manifest, "files": {str(key): dict(held) for key, held in manifest["files"].items()}}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InputError(
            "is damaged; move the folder away and fetch it again", path=str(path)
        ) from None


def _counted(slates: Iterable[Slate]) -> tuple[int, int]:
    count = candidates = 0
    for slate in slates:
        count += 1
        candidates += len(slate)
    return count, candidates


def compare(folder: Path) -> tuple[dict[str, str] | None, tuple[str, ...]]:
    """Return the state of every recorded file of a folder, and the files that are not recorded.

    Returns:
        By file "same", "changed" or "missing", or None without a manifest.

    Raises:
        InputError: the manifest is damaged.
    """
    recorded = _manifest(folder).get("files")
    if recorded is None:
        return None, ()
    wanted = {name: (held.get("bytes"), held.get("sha256")) for name, held in recorded.items()}
    states = {}
    for name, (size, digest) in wanted.items():
        file = folder / name
        if not file.is_file():
            states[name] = "missing"
        else:
            same = file.stat().st_size == size and file_hash(file) == digest
            states[name] = "same" if same else "changed"
    return states, tuple(sorted(set(_files(folder)) - set(wanted)))


def record(name: str, root: str | Path | None = None) -> Path:
    """Write a manifest of files that were placed by hand, so that later changes are seen.

    Returns:
        The manifest.

    Raises:
        UsageError: the name is unknown, or the folder cannot be written.
        InputError: the folder is missing, or has a manifest already.
    """
    folder = collection_folder(name, root)
    path = folder / MANIFEST
    if path.exists():
        raise InputError("is there already; remove it first to record anew", path=str(path))
    declared = collection(name)
    manifest: dict[str, Any] = {
        "name": name,
        "source": {"is": declared.source, "placed": True},
        "licence": declared.licence,
        "files": {
            held: {"bytes": (folder / held).stat().st_size, "sha256": file_hash(folder / held)}
            for held in _files(folder)
        },
    }
    with writing(path) as handle:
        handle.write(json.dumps(manifest, indent=2, ensure_ascii=True) + "\n")
    return path


def _files(folder: Path) -> list[str]:
    return [
        path.relative_to(folder).as_posix()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != MANIFEST and path.suffix != ".part"
    ]


def lying(root: str | Path | None = None) -> list[str]:
    """Return the names of the collections that have a folder, in the order of the registry.

    Raises:
        InputError: no root is named, or it is no folder.
    """
    base = data_root(root)
    if base is None:
        raise InputError(f"no folder of collections is named; give --root, or set {ROOT}")
    if not base.is_dir():
        raise InputError("no such folder", path=str(base))
    return [name for name in COLLECTIONS if (base / name).is_dir()]
