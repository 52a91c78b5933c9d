"""Where converted models are kept, and how a folder gets there whole."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from evenhand.errors import InputError, ScorerError
from evenhand.seeds import file_hash

MANIFEST = "evenhand.json"
_STALE_SECONDS = 24 * 3600.0
_SIDE_FILES = (
    "adapter_config.json",
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
    "config.json",
    "merges.txt",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "vocab.json",
)


# Each of these holds a whole vocabulary; the other tokenizer files only add to one.
_VOCABULARIES = (
    "tokenizer.json",
    "tokenizer.model",
    "vocab.json",
    "vocab.txt",
    "spiece.model",
    "sentencepiece.bpe.model",
    "tekken.json",
)


def cache_dir() -> Path:
    """Return the folder converted models are kept in; it need not exist yet.

    The environment variable EVENHAND_CACHE names it; without it, evenhand's
    folder in the user's cache folder of the platform.
    """
    named = os.environ.get("EVENHAND_CACHE")
    if named:
        return Path(named).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "evenhand"
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return (Path(base) if base else Path.home() / "AppData" / "Local") / "evenhand" / "cache"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "evenhand"


def folder_sha256(folder: Path) -> str:
    """Return a SHA-256 over what makes a model folder score as it does.

    That is the weights (safetensors, else .bin), the config and the tokenizer
    with its chat template, by name and content. The folder's place, its dates
    and other files (optimizer states, model cards) do not count.

    Raises:
        InputError: the folder holds no weights.
    """
    weights = sorted(folder.glob("*.safetensors")) or sorted(folder.glob("*.bin"))
    if not weights:
        raise InputError(
            "no *.safetensors or *.bin in this folder; a model or adapter folder holds its weights",
            path=str(folder),
        )
    beside = [folder / name for name in _SIDE_FILES if (folder / name).is_file()]
    digest = hashlib.sha256()
    for path in sorted([*weights, *beside], key=lambda path: path.name):
        digest.update(f"{path.name}\0{file_hash(path)}\n".encode())
    return digest.hexdigest()


def require_tokenizer(folder: Path) -> None:
    """Refuse a model folder without a vocabulary.

    transformers would build a tokenizer without words from the config alone.

    Raises:
        InputError: none of the files that hold a vocabulary is there.
    """
    if not any((folder / name).is_file() for name in _VOCABULARIES):
        raise InputError(
            f"no tokenizer in this folder: none of {', '.join(_VOCABULARIES)}; save the model's "
            "tokenizer there too (tokenizer.save_pretrained)",
            path=str(folder),
        )


def is_complete(folder: Path, identity: Mapping[str, Any]) -> bool:
    """Return whether a folder was published under this identity and is whole.

    Args:
        folder: a folder that `publish` may have written.
        identity: what the folder was made from and how, as given to `publish`.
    """
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        files = manifest["files"]
        whole = all((folder / name).stat().st_size == size for name, size in files.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
    return bool(files) and whole and manifest.get("identity") == dict(identity)


def publish(folder: Path, identity: Mapping[str, Any], build: Callable[[Path], None]) -> Path:
    """Make sure a folder stands complete, building it aside when it does not.

    `build` fills a temporary folder next to it; a manifest goes in last, and the
    folder is renamed in one step. A process that dies leaves nothing under the
    final name, and two processes at once both end with a whole folder.

    Args:
        folder: the final place.
        identity: JSON-like; a folder published under another one is redone.
        build: called with an empty folder; what it raises goes through.

    Raises:
        ScorerError: the cache cannot be written.
    """
    if is_complete(folder, identity):
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _sweep(folder.parent)
        partial = _aside(folder)
        partial.mkdir()
    except OSError as error:
        raise ScorerError(
            f"the model cache {folder.parent} cannot be written ({error}); "
            "set EVENHAND_CACHE to a folder that can"
        ) from error
    try:
        build(partial)
        _seal(partial, identity)
        _swap(partial, folder, identity)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def _aside(folder: Path) -> Path:
    return folder.parent / f".{folder.name}-{uuid.uuid4().hex}.partial"


def _sweep(parent: Path) -> None:
    # A killed process leaves its partial folder; a living one is younger than a day.
    for partial in parent.glob(".*.partial"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - partial.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(partial, ignore_errors=True)


def _seal(folder: Path, identity: Mapping[str, Any]) -> None:
    files = [path for path in folder.rglob("*") if path.is_file()]
    _sync(files)
    sizes = {path.relative_to(folder).as_posix(): path.stat().st_size for path in sorted(files)}
    manifest = folder / MANIFEST
    text = json.dumps({"identity": dict(identity), "files": sizes}, indent=1, sort_keys=True)
    manifest.write_text(text + "\n", encoding="utf-8")
    _sync([manifest])


def _sync(files: Iterable[Path]) -> None:
    # Without it a power cut could leave the rename done and the files empty.
    for path in files:
        with path.open("rb+") as stream:
            os.fsync(stream.fileno())


def _swap(partial: Path, folder: Path, identity: Mapping[str, Any]) -> None:
    """Rename partial to folder, moving an outdated folder out of the way."""
    for _ in range(10):
        try:
            partial.rename(folder)
            return
        except OSError:
            if not folder.exists():
                raise
        if is_complete(folder, identity):
            return  # another process was first; its folder serves as well
        trash = _aside(folder)
        try:
            folder.rename(trash)
        except FileNotFoundError:
            continue  # another process moved it
        shutil.rmtree(trash, ignore_errors=True)
    raise ScorerError(f"{folder} keeps being replaced by other processes; try again")
