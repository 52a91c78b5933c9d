"""What identifies a function: its source and the plain values that its code names."""

from __future__ import annotations

import dis
import functools
import inspect
from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

from evenhand.seeds import content_hash


def revision_of(f: object) -> tuple[str, tuple[str, ...]]:
    """Return the automatic revision of a function and what it could not cover.

    Covered are the qualified name, the source (of its class, for an object with
    `__call__`) and the plain values (None, bool, int, float, str, bytes, and tuples,
    lists, sets and dicts of these) of the globals, closure cells, defaults and own
    attributes that its code reads. Modules, functions and classes count as code.

    Returns:
        The hash, and the names of other values (a model, a client, an array), sorted.
    """
    known: dict[str, str] = {}
    unseen: set[str] = set()
    for name, value in _named(f):
        text = _plain(value)
        if text is not None:
            known[name] = text
        elif not _is_code(value):
            unseen.add(name)
    parts = {"function": _qualified(f), "source": _source(f), "values": known}
    return content_hash(parts), tuple(sorted(unseen))


def _named(f: object) -> Iterator[tuple[str, Any]]:
    """Yield (name, value) of what a callable holds or its code reads from outside."""
    if isinstance(f, functools.partial):
        yield from ((f"argument {place}", value) for place, value in enumerate(f.args))
        yield from sorted(f.keywords.items())
        yield from ((f"{name} of the function", value) for name, value in _named(f.func))
        return
    owner = getattr(f, "__self__", None) if inspect.ismethod(f) else f
    if not isinstance(owner, (FunctionType, ModuleType, type)):
        yield from sorted(getattr(owner, "__dict__", {}).items())
    inner = inspect.unwrap(f) if callable(f) else f
    for one in (f, inner) if inner is not f else (f,):
        yield from _read_by(_function(one))


def _function(f: object) -> object:
    if not inspect.isroutine(f):
        f = getattr(type(f), "__call__", None)  # noqa: B004 - the function of an object with __call__
    return getattr(f, "__func__", f)


def _read_by(f: object) -> Iterator[tuple[str, Any]]:
    if not isinstance(f, FunctionType):
        return
    for name in sorted(_globals_of(f.__code__)):
        if name in f.__globals__:
            yield name, f.__globals__[name]
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not filled yet
            continue
    for place, value in enumerate(f.__defaults__ or ()):
        yield f"default {place}", value
    yield from sorted((f.__kwdefaults__ or {}).items())


def _globals_of(code: CodeType) -> set[str]:
    """Return the globals that a code object reads, functions inside it included."""
    found = {
        str(one.argval)
        for one in dis.get_instructions(code)
        if one.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _globals_of(constant)
    return found


def _plain(value: object, depth: int = 20) -> str | None:
    """Return a text that only equal plain values share; None for any other value."""
    if isinstance(value, int):
        # Hexadecimal: Python refuses to write very long integers in decimal.
        return f"{type(value).__name__} {value:x}"
    if value is None or isinstance(value, (float, str, bytes)):
        return f"{type(value).__name__} {value!r}"
    if not isinstance(value, (tuple, list, set, frozenset, Mapping)) or not depth:
        return None
    if isinstance(value, Mapping):
        parts = [_plain(pair, depth - 1) for pair in value.items()]
    else:
        parts = [_plain(part, depth - 1) for part in value]
    texts = [part for part in parts if part is not None]
    if len(texts) < len(parts):
        return None
    ordered = sorted(texts) if isinstance(value, (set, frozenset)) else texts
    return f"{type(value).__name__} [{', '.join(ordered)}]"


def _is_code(value: object) -> bool:
    if isinstance(value, functools.partial):
        return _is_code(value.func) and not revision_of(value)[1]
    return isinstance(value, (ModuleType, type)) or inspect.isroutine(value)


def _qualified(f: object) -> str:
    if isinstance(f, functools.partial):
        return f"partial {_qualified(f.func)}"
    named = f if hasattr(f, "__qualname__") else type(f)
    return f"{getattr(named, '__module__', '')}.{getattr(named, '__qualname__', '')}"


def _source(f: object) -> str:
    if isinstance(f, functools.partial):
        return _source(f.func)
    named: Any = f if hasattr(f, "__qualname__") else type(f)
    try:
        return inspect.getsource(named)
    except (OSError, TypeError):
        return ""
