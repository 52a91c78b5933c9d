"""The settings of a gate by name, as a file or a command line gives them: checked, then joined."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evenhand.errors import UsageError
from evenhand.gate.criteria import (
    SHORT,
    Change,
    Criterion,
    criterion,
    parse_change,
    parse_criterion,
)
from evenhand.gate.settings import GateSettings, require_distinct
from evenhand.measure.checks import came, choice, finite, inside, whole


@dataclass(frozen=True, slots=True)
class Options:
    """What one source sets, checked.

    Attributes:
        criteria: as they stand there.
        others: the other fields of `GateSettings` that are set, by name.
    """

    criteria: tuple[Criterion, ...] = ()
    others: Mapping[str, Any] = field(default_factory=dict)


def _number(name: str, value: Any) -> float:
    return finite(name, value)


def _texts(name: str, value: Any) -> tuple[str, ...]:
    found = (value,) if isinstance(value, (str, Path)) else value
    if not isinstance(found, (list, tuple)) or not all(isinstance(one, (str, Path)) for one in found):
        raise UsageError(f"{name} must be a text or a list of texts, got {came(value)}")
    return tuple(str(one) for one in found)


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"{name} must be true or false, got {came(value)}")
    return value


def _share(name: str, value: Any) -> float:
    if not 0 <= finite(name, value) < 1:
        raise UsageError(f"{name} is a share under 1, got {came(value)}")
    return float(value)


def _on(name: str, value: Any) -> str:
    choice(name, value, ("bound", "mean"))
    return str(value)


def _path(name: str, value: Any) -> Path:
    if not isinstance(value, (str, Path)) or not str(value):
        raise UsageError(f"{name} must name a file, got {came(value)}")
    return Path(value)


def _paths(name: str, value: Any) -> tuple[Path, ...]:
    return tuple(Path(one) for one in _texts(name, value))


# By name of the option: the field of GateSettings and what checks and converts a value.
_FIELDS: Mapping[str, tuple[str, Callable[[str, Any], Any]]] = {
    "baseline": ("baselines", _paths),
    "on": ("on", _on),
    "level": ("level", inside),
    "threshold": ("threshold", _number),
    "max-missing": ("max_missing", _share),
    "min-slates": ("min_slates", whole),
    "strict": ("strict", _flag),
    "vary": ("vary", _texts),
    "junit": ("junit", _path),
}
_CHANGES: Mapping[str, Change] = {"max-drop": "drop", "max-rise": "rise"}
KNOWN = tuple(sorted([*SHORT, "require", *_CHANGES, *_FIELDS]))


def read_options(values: Mapping[str, Any], say: Callable[[str], str]) -> Options:
    """Check the settings of one source.

    Args:
        values: by name as in KNOWN; "_" may stand for "-". None = not set.
        say: from a name to how a message calls it there, with the file for one.

    Raises:
        UsageError: an unknown name (the known ones are listed), a value of the wrong kind or
            range, or two criteria that bound one thing.
    """
    criteria: list[Criterion] = []
    others: dict[str, Any] = {}
    for name, value in _named(values, say).items():
        if value is None:
            continue
        if name in _FIELDS:
            own, check = _FIELDS[name]
            others[own] = check(say(name), value)
            continue
        try:
            criteria += _criteria(name, value)
        except UsageError as error:
            raise UsageError(f"{say(name)}: {error}") from None
    require_distinct(tuple(criteria))
    return Options(tuple(criteria), others)


def _named(values: Mapping[str, Any], say: Callable[[str], str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for given, value in values.items():
        name = given.replace("_", "-")
        if name not in KNOWN:
            raise UsageError(f"unknown setting {say(given)}; known are {', '.join(KNOWN)}")
        if name in found:
            raise UsageError(f"{say(name)} is set twice, with '-' and with '_'; keep one")
        found[name] = value
    return found


def _criteria(name: str, value: Any) -> list[Criterion]:
    if name in SHORT:
        measure, relation = SHORT[name]
        return [criterion(measure, relation, finite("the bound", value))]
    if name == "require":
        return [parse_criterion(text) for text in _texts("it", value)]
    return list(_changed(_CHANGES[name], value))


def _changed(change: Change, value: Any) -> Iterator[Criterion]:
    """Yield the criteria of {measure: number}, or of texts "measure=number"."""
    if isinstance(value, Mapping):
        for measure, bound in value.items():
            yield criterion(measure, "<=", finite(f"the bound of {measure}", bound), change)
        return
    for text in _texts("it", value):
        yield parse_change(change, text)


def joined(under: Options, over: Options) -> GateSettings:
    """Return the settings of two sources; where both speak of one thing, `over` wins.

    A criterion of `over` takes the place of the one that bounds the same from the same
    side; the others of `under` stand.

    Raises:
        UsageError: as `GateSettings`.
    """
    said = {one.key: one for one in over.criteria}
    kept = [said.pop(one.key, one) for one in under.criteria]
    others = {**under.others, **over.others}
    return GateSettings(criteria=(*kept, *said.values()), **others)


def placed(options: Options, folder: Path) -> Options:
    """Return options whose relative paths are taken from a folder, that of their file."""
    others = dict(options.others)
    if "baselines" in others:
        others["baselines"] = tuple(folder / one for one in others["baselines"])
    if "junit" in others:
        others["junit"] = folder / others["junit"]
    return replace(options, others=others)
