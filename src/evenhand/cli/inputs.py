"""Where the slates and the scorer of a verb come from."""

from __future__ import annotations

import ast
import itertools
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evenhand.cli.common import tell
from evenhand.errors import InputError, UsageError
from evenhand.models.shipped import DEFAULT

if TYPE_CHECKING:
    from evenhand.data.collections import Collection
    from evenhand.types import Scorer, Slate

DEMO = "demo"


def open_slates(
    source: str, *, run: str | None = None, depth: int | None = None, limit: int | None = None
) -> Iterable[Slate]:
    """Return the slates of a source, read as a stream.

    Args:
        source: "demo" for the bundled slates ("./demo" is a path), a JSONL file,
            a collection's folder, or the name of a declared collection whose
            folder lies in the one that EVENHAND_DATA names.
        run: which first-stage run of a folder; None = its own default.
        depth: candidates from the top of the run; None = the reader's own.
        limit: most slates; None = all.

    Raises:
        UsageError: `run` or `depth` for a source that has no runs, or a number under 1.
        InputError: the source does not exist or is malformed.
    """
    if limit is not None and limit < 1:
        raise UsageError(f"--limit must be at least 1, got {limit}")
    if depth is not None and depth < 1:
        raise UsageError(f"--depth must be at least 1, got {depth}")
    slates = _read(source, {"run": run, "depth": depth})
    return slates if limit is None else list(itertools.islice(slates, min(limit, sys.maxsize)))


def open_remedied(
    spec: str | None, options: Mapping[str, Any], remedies: Sequence[str] | None, *, seed: int = 0
) -> Scorer:
    """Return the scorer that a spec names, behind remedies; the first of them is innermost.

    Args:
        spec: as `open_scorer` takes it; None takes the shipped default and says so on
            standard error.
        options: of the scorer.
        remedies: texts as `evenhand.remedy.parse` takes them, read before a model is loaded.
        seed: of the remedies' draws where their text names none.

    Raises:
        UsageError: a name or option is unknown, or a remedy does not fit the scorer.
    """
    from evenhand.remedy import apply, parse_all
    from evenhand.score import open_scorer

    parsed = parse_all(remedies or [], seed=seed)
    return apply(open_scorer(scorer_named(spec), **options), parsed)


def scorer_named(spec: str | None) -> str:
    """Return the scorer that is asked for; the shipped default, which is told, where none is."""
    if spec is None:
        tell(f"note: no --scorer is given; it is {DEFAULT}, a small trained grader")
    return DEFAULT if spec is None else spec


def parse_settings(settings: Sequence[str], *, flag: str = "--set") -> dict[str, Any]:
    """Return options from NAME=VALUE words; a value is a Python literal or else a string.

    Args:
        settings: the words. flag: of the command line, which messages blame.

    Raises:
        UsageError: a word has no name or no '=', or a name comes twice.
    """
    options: dict[str, Any] = {}
    for word in settings:
        name, equals, value = word.partition("=")
        if not (name and equals):
            raise UsageError(f"{flag} takes NAME=VALUE, got {word!r}")
        if name in options:
            raise UsageError(f"{flag} names {name!r} twice")
        try:
            options[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            options[name] = value
    return options


def declared(source: str) -> Collection | None:
    """Return the declaration of a collection that is named and no path, or None."""
    from evenhand.data.collections import COLLECTIONS

    return None if os.path.exists(source) else COLLECTIONS.get(source)


def _read(source: str, folder_options: Mapping[str, Any]) -> Iterable[Slate]:
    if declared(source) is not None:
        from evenhand.data.collections import open_collection

        return open_collection(source, **folder_options)
    given = [f"--{name}" for name, value in folder_options.items() if value is not None]
    if given and not os.path.isdir(source):
        raise UsageError(
            f"{' and '.join(given)} is for a collection's folder, and {source!r} is no folder"
        )
    if source == DEMO:
        from evenhand.data.demo import demo_slates

        return demo_slates()
    if not os.path.exists(source):
        from evenhand.data.collections import COLLECTIONS

        raise InputError(
            f"does not exist; name a JSONL file of slates, a collection's folder, {DEMO!r}, or one of "
            f"{', '.join(sorted(COLLECTIONS))}",
            path=source,
        )
    from evenhand.data import load_slates

    return load_slates(source, **folder_options)
