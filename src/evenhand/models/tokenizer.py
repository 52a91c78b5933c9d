"""A tokenizer without its model: for engines that are sent token ids over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evenhand.errors import InputError, ScorerError, UsageError
from evenhand.models.fetch import smollm2_folder
from evenhand.models.quiet import first_line, quiet, require
from evenhand.models.shipped import NAMES
from evenhand.models.source import Place, parse
from evenhand.models.store import require_tokenizer
from evenhand.seeds import content_hash


def load_tokenizer(spec: str) -> tuple[Any, str]:
    """Return the tokenizer that a spec names, and its identity.

    Args:
        spec: "smollm2-135m", "hf:org/name", "hf:org/name@revision", a folder that
            holds one ("hf:/folder" or its path), or a hub id.

    Returns:
        A transformers tokenizer, and a hash of its vocabulary, rules and chat
        template: the same wherever the same tokenizer is kept.

    Raises:
        UsageError: no known form, or one without a tokenizer of its own.
        InputError: the folder holds no tokenizer.
        MissingExtraError: transformers is not installed.
        ScorerError: it cannot be loaded.
    """
    place = _place(spec)
    transformers = require("transformers")
    where, options = _where(place)
    try:
        with quiet():
            tokenizer = transformers.AutoTokenizer.from_pretrained(where, **options)
    except Exception as error:
        cause = f"{type(error).__name__}: {first_line(error).rstrip('.')}"
        raise ScorerError(
            f"the tokenizer of {spec} could not be loaded ({cause}). Check the hub id and the "
            "connection, or give a folder with the model; for a service, the model that the server runs"
        ) from error
    return tokenizer, identity(tokenizer)


def identity(tokenizer: Any) -> str:
    """Return a hash of all that decides which ids a text and a conversation become."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    rules = backend.to_str() if backend is not None else sorted(tokenizer.get_vocab().items())
    return content_hash([rules, tokenizer.chat_template or ""])[:16]


def _place(spec: str) -> Place:
    if not isinstance(spec, str) or not spec.strip():
        raise UsageError(f"a tokenizer is named by a hub id or a folder, got {spec!r}")
    schemes = ("hf:", "gguf:", "smollm2-135m", *NAMES)
    bare = not spec.startswith(schemes)
    folder = Path(spec).expanduser()
    if bare and folder.is_dir():
        return Place("folder", str(folder))
    source = parse(f"hf:{spec}" if bare else spec)
    if source.base.kind == "gguf" or source.adapter is not None:
        raise UsageError(
            f"{spec!r} names no tokenizer; give the hub id or the folder of the base model, "
            "or smollm2-135m"
        )
    return source.base


def _where(place: Place) -> tuple[str, dict[str, Any]]:
    """Return what `from_pretrained` takes for a place."""
    if place.kind in ("default", "shipped"):
        return str(smollm2_folder()), {"local_files_only": True}
    if place.kind == "folder":
        if not Path(place.where).is_dir():
            raise InputError("no such folder; a tokenizer is a hub id or a folder", path=place.where)
        require_tokenizer(Path(place.where))
        return place.where, {"local_files_only": True}
    return place.where, {"revision": place.revision or "main"}
