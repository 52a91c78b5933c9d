"""Where the data of a training is from, and on which terms: said in the card of the scorer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from evenhand.data.collections import COLLECTIONS
from evenhand.errors import UsageError


@dataclass(frozen=True, slots=True)
class Source:
    """One source of slates, texts or labels.

    Attributes:
        name: what people call it. licence: its terms, or None when not stated.
        source: where it is from, an address or words, or None.
    """

    name: str
    licence: str | None = None
    source: str | None = None


def sources_from(settings: Mapping[str, Any]) -> tuple[Source, ...]:
    """Return the sources of a [data] section: one table a source, under its name.

    What is left out for a collection that evenhand declares is as declared.

    Args:
        settings: {name: {"licence": text, "source": text}}, both may be left out.

    Raises:
        UsageError: an unknown name in a table, or a value that is no text.
    """
    return tuple(_source(name, values) for name, values in settings.items())


def _source(name: str, values: Any) -> Source:
    if not isinstance(values, Mapping):
        raise UsageError(
            f"data.{name} is a table of a source, with licence and source, got {values!r}; write "
            f"[data.{name}] and its licence under it"
        )
    known = sorted({item.name for item in fields(Source)} - {"name"})
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise UsageError(f"unknown settings {unknown} in data.{name}; known are {known}")
    for key, value in values.items():
        if not isinstance(value, str) or not value.strip():
            raise UsageError(f"data.{name}.{key} is a text, got {value!r}; leave out what is not known")
    declared = COLLECTIONS.get(name)
    given = {} if declared is None else {"licence": declared.licence, "source": declared.source}
    return Source(name, **{**given, **values})
