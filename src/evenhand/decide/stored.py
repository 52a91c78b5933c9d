"""A threshold on disk, kept with the scorer revision whose scores it cuts."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evenhand.errors import InputError, UsageError
from evenhand.measure.checks import came, finite
from evenhand.records.files import write_whole

NAME = "threshold.json"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class StoredThreshold:
    """A threshold and what it belongs to.

    Attributes:
        threshold: lowest score retained.
        revision: scorer revision and surface (`study.found.analyse.threshold_revision`).
        rule: how it was picked, e.g. "advisor", "f1", "matched".
        note: anything a reader should know, e.g. floor and number of slates.
    """

    threshold: float
    revision: str
    rule: str
    note: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", finite("a stored threshold", self.threshold))
        for name in ("revision", "rule", "note"):
            value = getattr(self, name)
            if not isinstance(value, str):
                raise UsageError(f"{name} of a stored threshold must be a text, got {came(value)}")
        if not self.revision:
            raise UsageError("a threshold belongs to a scorer revision; give one")


def write_threshold(path: str | os.PathLike[str], stored: StoredThreshold) -> Path:
    """Write a threshold, whole or not at all, and return its file.

    Args:
        path: the file, or a folder in which it is called `threshold.json`.
        stored: what to write.

    Raises:
        UsageError: something else than a StoredThreshold.
        ResumeError: the system refuses to write.
    """
    if not isinstance(stored, StoredThreshold):
        raise UsageError(f"a StoredThreshold is needed, got {came(stored)}")
    target = _file(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"format": FORMAT, **asdict(stored)}, indent=1, ensure_ascii=True)
    write_whole(target, (text + "\n").encode("ascii"))
    return target


def read_threshold(path: str | os.PathLike[str], revision: str) -> StoredThreshold:
    """Read a threshold for the scorer revision it belongs to.

    Args:
        path: the file, or the folder that holds `threshold.json`.
        revision: of the scorer whose scores are to be cut.

    Raises:
        InputError: no such file, or it holds no threshold.
        UsageError: the threshold belongs to another revision.
    """
    target = _file(path)
    stored = _parsed(target)
    if stored.revision != revision:
        raise UsageError(
            f"{target}: the threshold {stored.threshold:.6g} belongs to scorer revision "
            f"{stored.revision!r}, the scores are of {revision!r}; scores of different scorers are not "
            "on one scale. Fit a threshold on this scorer's scores"
        )
    return stored


def _file(path: str | os.PathLike[str]) -> Path:
    if not isinstance(path, (str, os.PathLike)):
        raise UsageError(f"the path of a threshold is needed, got {came(path)}")
    given = Path(path)
    return given / NAME if given.is_dir() else given


def _parsed(path: Path) -> StoredThreshold:
    try:
        record: Any = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise InputError(
            "does not exist; name the file a threshold was written to", path=str(path)
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read as JSON ({error})", path=str(path)) from None
    keys = {"format", "threshold", "revision", "rule", "note"}
    if not isinstance(record, dict) or set(record) != keys or record["format"] != FORMAT:
        raise InputError(
            f"holds no threshold: needs exactly {sorted(keys)}, format {FORMAT}", path=str(path)
        )
    value = record["threshold"]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"threshold must be a number, got {value!r}", path=str(path))
    try:
        return StoredThreshold(float(value), record["revision"], record["rule"], record["note"])
    except UsageError as error:
        raise InputError(str(error), path=str(path)) from None
