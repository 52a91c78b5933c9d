"""Sequence classifiers: cross-encoders and reward models, ready to score."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evenhand.errors import ScorerError, UsageError
from evenhand.models.load import DTYPES, Loaded, commit_of, refused, usable_device
from evenhand.models.quiet import quiet, require
from evenhand.models.source import Place, place
from evenhand.models.store import folder_sha256, require_tokenizer


def load_classifier(
    where: str,
    *,
    revision: str | None = None,
    device: str | None = None,
    dtype: str = "float32",
) -> Loaded:
    """Load a sequence classification model from a folder or the hub.

    Args:
        where: "/folder", "./folder", "org/name" or "org/name@revision".
        revision: branch, tag or commit of a hub id.
        device: as torch names it; None takes "cuda" where there is one, else "cpu".
        dtype: of the weights, one of `load.DTYPES`.

    Raises:
        UsageError: no model name, an unknown dtype or device.
        InputError: the folder is missing or holds no model or no tokenizer.
        MissingExtraError: torch or transformers is not installed.
        ScorerError: the hub cannot be reached, there is no such model, or a part of its
            weights is missing, as the head is where a model was never trained to score.
    """
    source = place(where, revision)
    if dtype not in DTYPES:
        raise UsageError(f"unknown dtype {dtype!r}; known are {', '.join(DTYPES)}")
    for package in ("torch", "transformers"):
        require(package)
    target = usable_device(device)
    if source.kind == "folder":
        require_tokenizer(Path(source.where))
        identity = folder_sha256(Path(source.where))
        model, tokenizer = _read(source, dtype, None)
    else:
        commit = commit_of(source)
        model, tokenizer = _read(source, dtype, commit or source.revision)
        identity = commit or f"{source.where}@{source.revision or 'main'}"
    model = model.to(target).eval().requires_grad_(False)
    name = source.where + (f"@{source.revision}" if source.revision else "")
    return Loaded(model, tokenizer, name, identity, target, dtype)


def _read(source: Place, dtype: str, revision: str | None) -> tuple[Any, Any]:
    torch, transformers = require("torch"), require("transformers")
    options: dict[str, Any] = {"revision": revision or "main"}
    if source.kind == "folder":
        options = {"local_files_only": True}
    try:
        with quiet():
            tokenizer = transformers.AutoTokenizer.from_pretrained(source.where, **options)
            model, info = transformers.AutoModelForSequenceClassification.from_pretrained(
                source.where, dtype=getattr(torch, dtype), output_loading_info=True, **options
            )
    except Exception as error:
        raise refused(source.where, error) from error
    missing = sorted(info.get("missing_keys") or ())
    if missing:
        raise ScorerError(
            f"{source.where} lacks {len(missing)} weights of a {type(model).__name__} (first: "
            f"{missing[0]}); they would be random. Give a cross-encoder or reward model with its head"
        )
    return model, tokenizer
