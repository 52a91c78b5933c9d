"""The manifest of a run: settings, versions, hashes, and how two of them differ."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
import math
import platform
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from evenhand import __version__
from evenhand.errors import ResumeError, UsageError
from evenhand.records.files import write_whole

NAME = "manifest.json"
FORMAT = 2
_KEYS: Mapping[str, type] = {
    "format": int,
    "n_slates": int,
    "part_size": int,
    "settings": dict,
    "slates_hash": str,
    "versions": dict,
}
_ABSENT = "(not set)"


def plain(value: Any) -> Any:
    """Return a setting as JSON values: what the manifest stores and compares.

    Dataclasses and mappings become objects, sequences lists, sets sorted lists;
    a float that JSON lacks becomes its name.

    Raises:
        UsageError: the value has no such form.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted((plain(item) for item in value), key=str)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Path):
        return str(value)
    raise UsageError(f"a setting must be plain data (numbers, text, lists, mappings), got {value!r}")


def versions() -> dict[str, str]:
    """Return the versions that could move a score: evenhand, Python, array and model libraries.

    torch and transformers are named only when the process has loaded them.
    """
    found = {"evenhand": __version__, "python": platform.python_version()}
    for module in ("numpy", "pyarrow", "torch", "transformers"):
        if module in sys.modules:
            try:
                found[module] = importlib.metadata.version(module)
            except importlib.metadata.PackageNotFoundError:
                found[module] = str(getattr(sys.modules[module], "__version__", "unknown"))
    return found


def _flat(value: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(value, Mapping) or (not value and prefix):
        return {prefix: value}
    flat: dict[str, Any] = {}
    for key, item in value.items():
        flat.update(_flat(item, f"{prefix}.{key}" if prefix else str(key)))
    return flat


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return one line for each setting that differs, with both values; nested names are dotted."""
    old, new = _flat(before), _flat(now)
    lines = []
    for key in sorted(old.keys() | new.keys()):
        was, is_now = old.get(key, _ABSENT), new.get(key, _ABSENT)
        if was != is_now or type(was) is not type(is_now):
            lines.append(f"{key}: {was!r} in the folder, {is_now!r} now")
    return lines


def write(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write the manifest, whole or not at all; lone surrogates survive as escapes."""
    text = json.dumps(manifest, indent=2, sort_keys=True, ensure_ascii=True, allow_nan=False)
    write_whole(folder / NAME, (text + "\n").encode("ascii"))


def read(folder: Path) -> dict[str, Any]:
    """Read and check the manifest of a run folder.

    Raises:
        ResumeError: it is missing, damaged, or of a format this version does not know.
    """
    path = folder / NAME
    try:
        manifest = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise ResumeError(
            f"no run here: {NAME} is missing; name a folder that an audit wrote", path=str(folder)
        ) from None
    except (OSError, ValueError) as error:
        raise ResumeError(
            f"the manifest cannot be read ({error}); restore it or start a new folder", path=str(path)
        ) from None
    missing = [key for key in _KEYS if not isinstance(manifest, dict) or key not in manifest]
    if missing:
        raise ResumeError(
            f"not the manifest of a run: {missing} missing; choose another folder", path=str(path)
        )
    if manifest["format"] != FORMAT:
        raise ResumeError(
            f"format {manifest['format']!r} of another version of evenhand; this one reads {FORMAT}",
            path=str(path),
        )
    wrong = [key for key, kind in _KEYS.items() if not isinstance(manifest[key], kind)]
    if not wrong and (manifest["n_slates"] < 0 or manifest["part_size"] < 1):
        wrong = ["n_slates, part_size"]
    if wrong:
        raise ResumeError(
            f"damaged: {', '.join(wrong)} is not what a run writes; restore it or start a new folder",
            path=str(path),
        )
    return dict(manifest)
