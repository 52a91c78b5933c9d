"""How a run was last analysed on request: what a later look at it starts from."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path

from evenhand.errors import ResumeError, UsageError
from evenhand.records.files import write_whole

NAME = "asked.json"


@dataclass(frozen=True, slots=True)
class Asked:
    """Analysis options of a run.

    Attributes:
        threshold: keep candidates at or above it; None = fitted.
        measures: names of further measures; None = the usual ones.
    """

    threshold: float | None = None
    measures: tuple[str, ...] | None = None


def write_asked(folder: Path, threshold: float | None, measures: Sequence[str] | None) -> None:
    """Keep the analysis options of a run; a folder that cannot be written is left alone.

    Raises:
        UsageError: the threshold is no finite number, or the measures are no list of names.
        ResumeError: the system refuses to write, for example on a full disk.
    """
    if threshold is not None and not _finite(threshold):
        raise UsageError(f"threshold must be a finite number or None, got {threshold!r}")
    if measures is not None and (isinstance(measures, str) or not isinstance(measures, Sequence)):
        raise UsageError(f"measures must be a list of names, got {measures!r}")
    given = {
        "threshold": None if threshold is None else float(threshold),
        "measures": None if measures is None else list(measures),
    }
    content = (json.dumps(given, indent=2) + "\n").encode("ascii")
    path = folder / NAME
    if os.access(folder, os.W_OK) and not (path.exists() and path.read_bytes() == content):
        write_whole(path, content)


def read_asked(folder: Path) -> Asked:
    """Return the analysis options that a run was last audited with; the usual ones where none stand.

    Raises:
        ResumeError: the file is damaged.
    """
    path = folder / NAME
    try:
        found = json.loads(path.read_bytes())
        threshold, measures = found["threshold"], found["measures"]
    except FileNotFoundError:
        return Asked()
    except (OSError, ValueError, TypeError, KeyError):
        raise _damaged(path) from None
    names = isinstance(measures, list) and all(isinstance(name, str) for name in measures)
    if not (threshold is None or _finite(threshold)) or not (measures is None or names):
        raise _damaged(path)
    return Asked(threshold, None if measures is None else tuple(measures))


def _finite(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _damaged(path: Path) -> ResumeError:
    return ResumeError("is damaged; delete it to have the usual analysis", path=str(path))
