"""What a spec names: where the weights, and an adapter on them, are to be found."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from evenhand.errors import InputError, UsageError
from evenhand.models.fetch import SMOLLM2
from evenhand.models.shipped import NAMES

FORMS = (
    *NAMES,
    "smollm2-135m",
    "hf:org/name",
    "hf:org/name@revision",
    "hf:/local/folder",
    "hf:./folder",
    "gguf:/path/file.gguf",
    "any of these + '+' + an adapter folder or hub id",
)

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")


@dataclass(frozen=True, slots=True)
class Place:
    """Where one set of weights is.

    Attributes:
        kind: "hub", "folder", "gguf", "default" (the embedded SmolLM2) or "shipped" (a
            difference to it that comes with evenhand).
        where: hub id, path or name.
        revision: branch, tag or commit asked for on the hub, or None.
    """

    kind: Literal["hub", "folder", "gguf", "default", "shipped"]
    where: str
    revision: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A model's weights and the adapter laid on them, if any."""

    base: Place
    adapter: Place | None = None


def parse(spec: str, *, revision: str | None = None, adapter: str | None = None) -> Source:
    """Return what a model spec names; the forms are in `FORMS`.

    Args:
        spec: the spec.
        revision: of the base on the hub, instead of '@revision'.
        adapter: folder or hub id, instead of '+adapter'.

    Raises:
        UsageError: no known form, or revision or adapter given twice or where
            there can be none.
        InputError: a local folder or file is not there.
    """
    named = spec.partition("+")[0]
    if named == SMOLLM2 or named in NAMES:
        where, found = _cut(spec)
        base = Place("default" if named == SMOLLM2 else "shipped", named)
    elif spec.startswith("hf:"):
        where, found = _cut(spec[3:])
        base = place(where, revision) if where else Place("hub", "")
    elif spec.startswith("gguf:"):
        where, found = _cut(spec[5:])
        base = Place("gguf", str(Path(where).expanduser()))
    else:
        raise UsageError(f"unknown model {spec!r}; known forms are: {'; '.join(FORMS)}")
    if not where or found == "":
        raise UsageError(f"{spec!r} names nothing; known forms are: {'; '.join(FORMS)}")
    if revision is not None and base.kind != "hub":
        raise UsageError(f"revision {revision!r}: only a hub id has revisions, {spec!r} is none")
    if found is not None and adapter is not None:
        raise UsageError(f"two adapters, {found!r} in the spec and {adapter!r}; give one")
    laid = adapter if found is None else found
    return Source(base, None if laid is None else place(laid))


def _cut(text: str) -> tuple[str, str | None]:
    """Cut 'base+adapter' at a '+', which may also be a character of a local path."""
    if _is_local(text) and Path(text).expanduser().exists():
        return text, None
    cuts = [index for index, character in enumerate(text) if character == "+"]
    for index in cuts:
        if not _is_local(text) or Path(text[:index]).expanduser().exists():
            return text[:index], text[index + 1 :]
    return (text[: cuts[0]], text[cuts[0] + 1 :]) if cuts else (text, None)


def place(where: str, revision: str | None = None) -> Place:
    """Return the folder or hub id that a text names.

    A text that starts like a path, or is the path of a folder, is a folder.

    Raises:
        UsageError: not a hub id; or a revision is given twice.
        InputError: it starts like a path, and no folder is there.
    """
    path = Path(where).expanduser()
    if where and (_is_local(where) or path.is_dir()):
        if not path.is_dir():
            raise InputError("no such folder; hf: needs a model folder or a hub id", path=str(path))
        return Place("folder", str(path))
    name, mark, named = where.partition("@")
    if not _HUB_ID.fullmatch(name) or (mark and not named):
        raise UsageError(
            f"{where!r} is neither a folder here nor a hub id; known forms are: {'; '.join(FORMS)}"
        )
    if named and revision is not None and named != revision:
        raise UsageError(f"two revisions, {named!r} in the spec and {revision!r}; give one")
    return Place("hub", name, named or revision)


def _is_local(where: str) -> bool:
    return os.path.isabs(where) or where.startswith((".", "~"))
