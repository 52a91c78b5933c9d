"""Trackers: where the numbers of a run's steps are shown beside its log."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from evenhand.errors import UsageError
from evenhand.train.settings import TRACKERS, Training

PROJECT = "evenhand"


def require_tracker(name: str | None) -> None:
    """Refuse a tracker whose package is not installed.

    Raises:
        UsageError: names the package.
    """
    if name is None:
        return
    packages = TRACKERS[name]
    if not any(importlib.util.find_spec(package) is not None for package in packages):
        raise UsageError(
            f"tracker {name!r} needs the package {packages[0]!r}, which is not installed; install it "
            f"(pip install {packages[0]}), or leave run.tracker out: the log is kept anyway"
        )


@contextmanager
def tracking(accelerator: Any, settings: Training) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Give a callback that hands the record of a step to the run's tracker, if it has one.

    Args:
        accelerator: made with `log_with` set to the run's tracker.
        settings: told to the tracker as they stand, under dotted names.
    """
    if settings.run.tracker is None:
        yield lambda record: None
        return
    accelerator.init_trackers(PROJECT, config=dict(leaves(settings.plain())))
    try:
        yield lambda record: accelerator.log(numbers(record), step=record["step"])
    finally:
        accelerator.end_training()


def numbers(record: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of a step's record, those of a look under "held_out/"."""
    look = record.get("evaluation") or {}
    found = {name: value for name, value in record.items() if name != "step"}
    found |= {f"held_out/{name}": value for name, value in look.items()}
    return {
        name: float(value)
        for name, value in found.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    }


def leaves(
    values: Mapping[str, Any], prefix: str = ""
) -> Iterator[tuple[str, int | float | str | bool]]:
    """Yield nested values under dotted names, as trackers take them: all else as text."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value if isinstance(value, (int, float, str)) else str(value)
