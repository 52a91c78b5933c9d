"""What lies upstream, read as a stream: hub files through `datasets`, `ir_datasets`, single files.

The hub is asked once, without retries, before anything is read, so that a machine
without a connection hears it at once. A mirror is a folder with the same files, at
OWNER/NAME/PATH for the hub and under its own name for a single file.
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from evenhand.data.collections.declare import Hub, Irds, Lists
from evenhand.errors import InputError, MissingExtraError

_KINDS = {".parquet": "parquet", ".jsonl": "text", ".json": "json"}
_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class HubFile:
    """One file of a dataset repository: its path there, where it is read, its size if known."""

    path: str
    url: str
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """The files of a source by role, and the commit they are of (None for a mirror)."""

    files: dict[str, list[HubFile]]
    commit: str | None


def unreachable(what: str, name: str, error: BaseException, else_do: str = "") -> InputError:
    """Return the error for a source that cannot be reached, with what to do."""
    lines = str(error).strip().splitlines() or [""]
    return InputError(
        f"{what} cannot be read ({type(error).__name__}: {lines[0][:200]}). Check the connection, or "
        + (
            else_do
            or f"copy its files to a folder and name it: evenhand data fetch {name} --from FOLDER"
        )
    )


def list_hub(name: str, origin: Hub, mirror: Path | None) -> Listed:
    """Return the files that a collection needs of its repository.

    Raises:
        MissingExtraError: `datasets` is not installed.
        InputError: the hub or the mirror cannot be read, or lacks a file.
    """
    _datasets()
    if mirror is not None:
        folder = mirror / origin.repo
        if not folder.is_dir():
            raise InputError(f"no folder {origin.repo} in the mirror", path=str(mirror))
        held = {
            path.relative_to(folder).as_posix(): HubFile(
                path.relative_to(folder).as_posix(), str(path), path.stat().st_size
            )
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
        return Listed(_by_role(origin, held), None)
    import huggingface_hub

    try:
        info = huggingface_hub.HfApi().dataset_info(
            origin.repo, revision=origin.revision, timeout=_SECONDS, files_metadata=True
        )
    except Exception as error:
        raise unreachable(f"{origin.repo} on the hub", name, error) from error
    at = f"hf://datasets/{origin.repo}@{info.sha}/"
    held = {
        one.rfilename: HubFile(one.rfilename, at + one.rfilename, one.size)
        for one in info.siblings or []
    }
    return Listed(_by_role(origin, held), info.sha)


def _by_role(origin: Hub, held: dict[str, HubFile]) -> dict[str, list[HubFile]]:
    found = {
        role: [held[path] for path in sorted(held) if fnmatch.fnmatchcase(path, pattern)]
        for role, pattern in origin.files.items()
    }
    for role, files in found.items():
        if not files:
            raise InputError(
                f"{origin.repo} has no file {origin.files[role]}; it has {sorted(held)[:9]}"
            )
    return found


def _datasets() -> Any:
    try:
        import datasets
    except ImportError:
        raise MissingExtraError("datasets", "data") from None
    return datasets


def rows(file: HubFile) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file, streamed.

    Lines of JSON are read as text and parsed here, since rows of one file may
    differ in their columns.

    Raises:
        InputError: the file cannot be read as what its name says.
    """
    suffix = Path(file.path.removesuffix(".gz")).suffix
    done = 0
    try:
        stream = _datasets().load_dataset(
            _KINDS[suffix], data_files=[file.url], split="train", streaming=True
        )
        for row in stream:
            done += 1
            if suffix != ".jsonl":
                yield row
            elif row["text"].strip():
                yield json.loads(row["text"])
    except InputError:
        raise
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        raise InputError(
            f"cannot be read after row {done} ({type(error).__name__}: {lines[0][:200]}); the "
            "connection broke, or the file is damaged. Start again to go on from the last whole file",
            path=file.path,
        ) from error


def open_irds(name: str, origin: Irds) -> Any:
    """Return a dataset of ir_datasets.

    Raises:
        MissingExtraError: ir_datasets is not installed.
        InputError: it does not know the dataset.
    """
    try:
        import ir_datasets
    except ImportError:
        raise MissingExtraError("ir_datasets", "data-ir") from None
    try:
        return ir_datasets.load(origin.name)
    except KeyError:
        raise InputError(
            f"ir_datasets {ir_datasets.__version__} has no {origin.name}, which {name} needs; update it"
        ) from None


def lists_file(name: str, lists: Lists, folder: Path, mirror: Path | None) -> Path:
    """Return a file of ready lists, from the mirror or downloaded; a cut download goes on.

    Raises:
        InputError: it cannot be had, or is not the declared file.
    """
    file_name = lists.url.rpartition("/")[2]
    path = folder / file_name
    if mirror is not None:
        path = mirror / file_name
        if not path.is_file():
            raise InputError(f"the mirror has no {file_name}", path=str(mirror))
    elif not path.exists():
        try:
            _download(lists.url, path)
        except (httpx.HTTPError, OSError) as error:
            raise unreachable(lists.url, name, error) from error
    found = hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
    if found != lists.md5:
        if mirror is None:
            path.unlink()
        raise InputError(
            f"has MD5 {found}, and {lists.md5} is declared; it was cut or has changed", path=str(path)
        )
    return path


def _download(url: str, path: Path) -> None:
    part = path.with_name(f"{path.name}.part")
    path.parent.mkdir(parents=True, exist_ok=True)
    have = part.stat().st_size if part.exists() else 0
    asked = {"Range": f"bytes={have}-"} if have else {}
    with httpx.stream("GET", url, headers=asked, follow_redirects=True, timeout=_SECONDS) as answer:
        answer.raise_for_status()
        with part.open("ab" if answer.status_code == httpx.codes.PARTIAL_CONTENT else "wb") as out:
            for block in answer.iter_bytes():
                out.write(block)
    part.replace(path)
