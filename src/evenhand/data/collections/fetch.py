"""Fetching: from a declared source to a folder that `read_folder` reads.

Everything is made in a staging folder beside the others, one upstream file after
the other, and moved to its place when it is whole. A fetch that was cut goes on
after the last whole file. `fetched.json` in the folder says what was made from what.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path

from evenhand.data.collections.declare import Collection, Hub, Irds, Placed
from evenhand.data.collections.files import alone, writing
from evenhand.data.collections.from_hub import make_from_hub
from evenhand.data.collections.from_irds import make_from_irds
from evenhand.data.collections.making import MANIFEST, STAGING, Making, Say
from evenhand.data.collections.plan import require_modules
from evenhand.data.collections.registry import ROOT, advice, collection, data_root
from evenhand.errors import InputError, UsageError
from evenhand.seeds import content_hash, file_hash

_MAKERS: Mapping[type, Callable[[Making], None]] = {Hub: make_from_hub, Irds: make_from_irds}


def fetch(
    name: str,
    root: str | Path | None = None,
    *,
    mirror: str | Path | None = None,
    say: Say = lambda _: None,
) -> Path:
    """Make the folder of a collection from its source; one that is there already is left as it is.

    Args:
        name: a key of `COLLECTIONS`.
        root: folder of collection folders; None = the one EVENHAND_DATA names.
        mirror: a folder with the source's files, read instead of the network.
        say: told one line a step.

    Returns:
        The folder.

    Raises:
        UsageError: an unknown name, no root, or a fetch of it is under way.
        MissingExtraError: what reads the source is not installed.
        InputError: the source cannot be reached or read, the files have to be
            placed by hand, or the folder holds files that no fetch made.
    """
    declared, base = collection(name), data_root(root)
    if isinstance(declared.origin, Placed):
        raise InputError(
            f"{name} is not fetched, as it needs {_why(declared.origin)} ({declared.licence}): "
            f"{advice(name)}"
        )
    if base is None:
        raise UsageError(f"nowhere to put {name}: name a folder with --root, or in the variable {ROOT}")
    if mirror is not None and not Path(mirror).is_dir():
        raise InputError("no such folder", path=str(mirror))
    require_modules(declared)
    target = base / name
    _require_free(target)
    with alone(base / STAGING / f"{name}.lock", name):
        if not (target / MANIFEST).exists():
            _make(name, declared, base, None if mirror is None else Path(mirror), say)
    return target


def _why(origin: Placed) -> str:
    return "a signed agreement" if origin.agreement else "files that are placed by hand"


def _require_free(target: Path) -> None:
    """Refuse a folder that holds more than first stages and was not fetched."""
    if not target.exists() or (target / MANIFEST).exists():
        return
    held = sorted(entry.name for entry in target.iterdir())
    if held not in ([], ["runs"]):
        raise InputError(
            f"holds {held[:9]}, which no fetch made; move them away, or keep them and do not fetch",
            path=str(target),
        )


def _make(name: str, declared: Collection, base: Path, mirror: Path | None, say: Say) -> None:
    from_mirror = None if mirror is None else str(mirror)
    key = content_hash([str(declared.origin), repr(declared.origin), from_mirror])[:12]
    folder = base / STAGING / f"{name}-{key}"
    made = Making(name, declared, base, folder / "made", mirror, say)
    made.folder.mkdir(parents=True, exist_ok=True)
    _MAKERS[type(declared.origin)](made)
    target = base / name
    if target.exists():
        # First stages of one's own are a part of the collection from now on.
        (target / "runs").mkdir(exist_ok=True)
        shutil.copytree(target / "runs", made.folder / "runs", dirs_exist_ok=True)
    _write_manifest(made)
    if target.exists():
        target.replace(folder / "placed")
    made.folder.replace(target)
    shutil.rmtree(folder, ignore_errors=True)


def _write_manifest(made: Making) -> None:
    """Write what was made from what, with the hash of every file."""
    files = {
        path.relative_to(made.folder).as_posix(): {
            "bytes": path.stat().st_size,
            "sha256": file_hash(path),
        }
        for path in sorted(made.folder.rglob("*"))
        if path.is_file() and path.name != MANIFEST
    }
    manifest = {
        "name": made.name,
        "source": {"is": made.declared.source, "mirror": made.mirror is not None, **made.source},
        "licence": made.declared.licence,
        "left_out": dict(sorted(made.left_out.items())),
        "made_by": {one: _version(one) for one in ("evenhand", "datasets", "ir-datasets", "bm25s")},
        "files": files,
    }
    with writing(made.folder / MANIFEST) as handle:
        handle.write(json.dumps(manifest, indent=2, ensure_ascii=True) + "\n")


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
