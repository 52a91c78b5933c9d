"""Where the slates of a verb come from."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.errors import InputError, UsageError

if TYPE_CHECKING:
    from evenhand.types import Slate

DEMO = "demo"


def open_slates(source: str, *, run: str | None = None, limit: int | None = None) -> Iterable[Slate]:
    """Return the slates of a source, read as a stream.

    Args:
        source: "demo" for the bundled slates ("./demo" is a path), a JSONL file,
            or a collection's folder.
        run: which first-stage run of a folder; None = its own default.
        limit: most slates; None = all.

    Raises:
        UsageError: `run` for a source that has no runs, or a limit under 1.
        InputError: the source does not exist or is malformed.
    """
    if limit is not None and limit < 1:
        raise UsageError(f"--limit must be at least 1, got {limit}")
    slates = _read(source, run)
    return slates if limit is None else list(itertools.islice(slates, limit))


def _read(source: str, run: str | None) -> Iterable[Slate]:
    if run is not None and not Path(source).is_dir():
        raise UsageError(f"--run names a run of a collection's folder, and {source!r} is no folder")
    if source == DEMO:
        from evenhand.data.demo import demo_slates

        return demo_slates()
    if not Path(source).exists():
        raise InputError(
            f"does not exist; name a JSONL file of slates, a collection's folder, or {DEMO!r}",
            path=source,
        )
    from evenhand.data import load_slates

    return load_slates(source, run=run)
