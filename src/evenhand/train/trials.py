"""Trials: what a selection chooses between, one JSON file each.

A training run writes one at every look at its held-out slates:

    {"name": "oc-sft", "lambda": 5, "step": 400, "slate_ids": ["q1", "q2"],
     "values": {"shuffled": [.61, .58], "psi": [.11, .09],
                "overlap": [.71, .8], "spread": [.21, .2]},
     "missing": 0, "settings": {"rows": 5, "width": 10}}

Values are per slate, null where undefined. `missing` counts scores that are not
there, `settings` say how the slates were shown; both may be left out.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.errors import InputError, UsageError
from evenhand.measure.checks import came, finite, floats, listed, whole
from evenhand.records import manifest
from evenhand.records.files import write_whole
from evenhand.types import FloatArray

FOLDER = "held_out"
VALUES = ("shuffled", "psi", "overlap", "spread")
_KEYS = ("name", "lambda", "step", "slate_ids", "values")
_OPTIONAL = ("missing", "settings")


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """One checkpoint of one lambda, with what held-out slates gave.

    Attributes:
        name: of the run. weight: lambda. step: of the checkpoint.
        slate_ids: held-out slates, each once.
        values: (slates,) numbers by name, those of `VALUES` and any others; NaN = undefined.
        missing: scores that were not given.
        settings: how slates were shown and judged; trials must agree in them.

    Raises:
        UsageError: a value is of the wrong kind, or counts differ.
    """

    name: str
    weight: float
    step: int
    slate_ids: tuple[str, ...]
    values: Mapping[str, FloatArray]
    missing: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise UsageError(f"the name of a trial must be a non-empty string, got {self.name!r}")
        if finite("lambda", self.weight) < 0:
            raise UsageError(f"lambda must be at least 0, got {self.weight}")
        whole("step", self.step, 0)
        whole("missing", self.missing, 0)
        ids = listed("slate_ids", self.slate_ids, "ids")
        if not all(isinstance(one, str) for one in ids) or len(set(ids)) != len(ids):
            raise UsageError(f"trial {self.label}: slate_ids must be texts, each once")
        object.__setattr__(self, "slate_ids", tuple(ids))
        lacking = [name for name in VALUES if name not in self.values]
        if lacking:
            raise UsageError(f"trial {self.label} lacks {lacking}; values needed are {VALUES}")
        found = {name: floats(name, values) for name, values in self.values.items()}
        for name, values in found.items():
            if values.shape != (len(ids),):
                raise UsageError(
                    f"trial {self.label}: {name} of shape {values.shape} for {len(ids)} slates"
                )
        object.__setattr__(self, "values", found)

    @property
    def label(self) -> str:
        """Name, lambda and step, as reports show a trial."""
        return f"{self.name} (lambda {self.weight:g}, step {self.step})"

    def on(self, ids: Sequence[str]) -> dict[str, FloatArray]:
        """Return the values with slates in another order."""
        places = {one: place for place, one in enumerate(self.slate_ids)}
        at = [places[one] for one in ids]
        return {name: values[at] for name, values in self.values.items()}


def held_out_values(look: object) -> dict[str, FloatArray]:
    """Return the values of a `train.evaluate.HeldOut` that a trial keeps."""
    names = (*VALUES, "served", "residual")
    return {name: np.asarray(getattr(look, name), dtype=np.float64) for name in names}


def write_trial(path: str | os.PathLike[str], trial: Trial) -> None:
    """Write a trial, whole or not at all; folders are made.

    Raises:
        UsageError: settings are no plain data.
        ResumeError: the system refuses to write.
    """
    record = {
        "name": trial.name, "lambda": float(trial.weight), "step": int(trial.step),
        "slate_ids": list(trial.slate_ids),
        "values": {name: _nullable(values) for name, values in trial.values.items()},
        "missing": int(trial.missing), "settings": manifest.plain(trial.settings),
    }  # fmt: skip
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_whole(target, (json.dumps(record, allow_nan=False) + "\n").encode("ascii"))


def _nullable(values: FloatArray) -> list[float | None]:
    return [float(one) if math.isfinite(one) else None for one in values]


def read_trial(path: str | os.PathLike[str]) -> Trial:
    """Read a trial.

    Raises:
        InputError: there is no file, it is no JSON, a key is missing or unknown, or a
            value is of the wrong kind.
    """
    try:
        record = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=str(path)) from None
    except ValueError as error:
        raise InputError(f"is no JSON: {error}", path=str(path)) from None
    if not isinstance(record, Mapping) or not isinstance(record.get("values", {}), Mapping):
        raise InputError(f"is no trial: an object with {', '.join(_KEYS)} is needed", path=str(path))
    unknown = sorted(set(record) - {*_KEYS, *_OPTIONAL})
    lacking = [key for key in _KEYS if key not in record]
    if unknown or lacking:
        raise InputError(
            f"unknown keys {unknown}, missing keys {lacking}; a trial has {', '.join(_KEYS)} and "
            f"may have {', '.join(_OPTIONAL)}",
            path=str(path),
        )
    try:
        return Trial(
            record["name"], record["lambda"], record["step"], record["slate_ids"], record["values"],
            record.get("missing", 0), record.get("settings", {}),
        )  # fmt: skip
    except UsageError as error:
        raise InputError(str(error), path=str(path)) from None


def read_trials(paths: Iterable[str | os.PathLike[str]]) -> list[Trial]:
    """Read trials from files, and from folders of runs: all `held_out/*.json` in each.

    Raises:
        InputError: a folder holds none; as `read_trial`.
    """
    found = []
    for path in map(Path, listed("paths", paths, "paths")):
        files = sorted((path / FOLDER).glob("*.json")) if path.is_dir() else [path]
        if not files:
            raise InputError(
                f"holds no {FOLDER}/*.json; name a training run that looked at held-out slates, "
                f"or the files themselves",
                path=str(path),
            )
        found += [read_trial(file) for file in files]
    return found


def same_slates(trials: Sequence[Trial]) -> tuple[str, ...]:
    """Return the slates that all trials share, in the order of the first.

    Raises:
        UsageError: there is no trial, one comes twice, or slates or settings differ.
    """
    if not trials:
        raise UsageError("there are no trials to select from; name at least one")
    first = trials[0]
    labels = [trial.label for trial in trials]
    if twice := sorted({one for one in labels if labels.count(one) > 1}):
        raise UsageError(f"the same trial comes twice: {', '.join(twice)}; give runs other names")
    for other in trials[1:]:
        if set(other.slate_ids) != set(first.slate_ids):
            apart = sorted(set(other.slate_ids) ^ set(first.slate_ids))
            raise UsageError(
                f"{first.label} and {other.label} are of other held-out slates ({len(apart)} in one "
                f"alone, such as {came(apart[0])}); a paired choice needs the same"
            )
        if dict(other.settings) != dict(first.settings):
            lines = manifest.differences(first.settings, other.settings)
            raise UsageError(
                f"{first.label} and {other.label} were judged differently: {'; '.join(lines)}".replace(
                    " in the folder", " in the first"
                ).replace(" now", " in the other")
            )
    return first.slate_ids
