"""Where a project keeps the settings of its gate: pyproject.toml or evenhand.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenhand.errors import InputError, UsageError
from evenhand.gate.options import Options, placed, read_options
from evenhand.measure.checks import came

# By name of the file: the tables that lead to its settings.
TABLES: Mapping[str, tuple[str, ...]] = {
    "pyproject.toml": ("tool", "evenhand", "gate"),
    "evenhand.toml": ("gate",),
}


def find_settings(start: Path) -> tuple[Options, Path | None]:
    """Return the settings of the nearest folder that has any, from `start` upwards.

    The search ends at the folder that holds `.git`, the root of a project.

    Returns:
        (settings, their file); (nothing set, None) where there are none.

    Raises:
        UsageError: pyproject.toml and evenhand.toml of one folder differ, or a setting is
            wrong.
        InputError: a file cannot be read or is no TOML.
    """
    here = start.absolute()
    for folder in (here, *here.parents):
        found = {
            path: table
            for path in (folder / name for name in TABLES)
            if path.is_file() and (table := _table(path, _load(path))) is not None
        }
        if found:
            _require_one(found)
            path = next(iter(found))
            return _options(path, found[path]), path
        if (folder / ".git").exists():
            break
    return Options(), None


def read_settings(path: Path) -> Options:
    """Return the settings of a file that was named; any name but pyproject.toml has [gate].

    Raises:
        InputError: it cannot be read, is no TOML, or has no such table.
        UsageError: a setting is wrong.
    """
    table = _table(path, _load(path))
    if table is None:
        raise InputError(f"has no table [{'.'.join(_way(path))}]", path=str(path))
    return _options(path, table)


def _options(path: Path, table: Mapping[str, Any]) -> Options:
    where = f"{path}: [{'.'.join(_way(path))}]"
    return placed(read_options(table, lambda name: f"{where} {name}"), path.absolute().parent)


def _way(path: Path) -> tuple[str, ...]:
    return TABLES.get(path.name, TABLES["evenhand.toml"])


def _load(path: Path) -> Mapping[str, Any]:
    try:
        # Some editors put a mark before the text.
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=str(path)) from None
    except UnicodeDecodeError:
        raise InputError("is no text in UTF-8; a TOML file is needed", path=str(path)) from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"is no TOML: {error}", path=str(path)) from None


def _table(path: Path, document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    found: Any = document
    for at, name in enumerate(_way(path), 1):
        if at == len(_way(path)) and path.name in TABLES:
            _require_known(path, found, name)
        if name not in found:
            return None
        found = found[name]
        if not isinstance(found, Mapping):
            way = ".".join(_way(path)[:at])
            raise UsageError(f"{path}: {way} must be a table of names and values, got {came(found)}")
    return found  # type: ignore[no-any-return]


def _require_known(path: Path, table: Mapping[str, Any], name: str) -> None:
    """Refuse what stands beside the one table that is read: a misspelt one would be as if not there."""
    if unknown := sorted(table.keys() - {name}):
        before = ".".join(_way(path)[:-1])
        where = f"[{before}] " if before else ""
        raise UsageError(f"{path}: {where}unknown {', '.join(map(repr, unknown))}; known is {name}")


def _require_one(found: Mapping[Path, Mapping[str, Any]]) -> None:
    """Refuse two files of a folder that say different things."""
    tables = list(found.values())
    if len(tables) < 2 or tables[0] == tables[1]:
        return
    one, other = tables
    names = sorted(key for key in {**one, **other} if one.get(key) != other.get(key))
    raise UsageError(
        f"{' and '.join(map(str, found))} both set the gate and differ in {', '.join(names)}; keep the "
        "settings in one of them, or name one with --config"
    )
