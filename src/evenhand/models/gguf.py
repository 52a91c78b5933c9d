"""GGUF files: converted once to a plain safetensors folder, then read from there.

Reading a GGUF takes half a minute and what comes out cannot be saved, so its
tensors go into a model built from the config alone.
"""

from __future__ import annotations

import contextlib
import gc
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from evenhand.errors import InputError, ScorerError
from evenhand.models.quiet import first_line, quiet, require
from evenhand.models.store import cache_dir, publish

if TYPE_CHECKING:
    import transformers
    from torch import Tensor

CONVERSION = 1
"""Raised whenever a conversion would come out different; older folders are redone."""

_PROBE = "Passage [1]: water boils at 100 degrees.\nGrades:\n[1] Grade: 0"
_TOLERANCE = 1e-4


def folder_for(name: str, sha256: str) -> Path:
    """Return the folder of the cache that a GGUF with this hash is converted to."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-") or "model"
    return cache_dir() / "models" / f"{plain}-{sha256[:16]}"


def identity_of(sha256: str) -> dict[str, Any]:
    """Return what a converted folder's manifest must say."""
    return {"sha256": sha256, "conversion": CONVERSION}


def check_magic(path: Path) -> None:
    """Check that a file is there and is a GGUF.

    Raises:
        InputError: it is missing, or something else.
    """
    if not path.is_file():
        raise InputError("no such file; gguf: needs a .gguf file", path=str(path))
    with path.open("rb") as stream:
        magic = stream.read(4)
    if magic != b"GGUF":
        raise InputError(f"not a GGUF file: it starts with {magic!r}, not b'GGUF'", path=str(path))


def converted(path: Path, name: str, sha256: str) -> Path:
    """Return the plain model folder of a GGUF file, converting it when needed.

    Args:
        path: the file.
        name: for the folder's name.
        sha256: of the file, in hex.

    Raises:
        InputError: the file is missing or not a GGUF.
        ScorerError: transformers cannot read it, the result does not give the
            same logits as the file, or the cache cannot be written.
        MissingExtraError: gguf, torch or transformers is not installed.
    """
    check_magic(path)
    for package in ("torch", "transformers", "gguf"):
        require(package)
    return publish(folder_for(name, sha256), identity_of(sha256), lambda folder: convert(path, folder))


def convert(path: Path, folder: Path) -> None:
    """Write a GGUF's weights (float32), config and tokenizer to an empty folder.

    Raises:
        ScorerError: transformers cannot read it, or the logits differ.
    """
    # transformers shows a bar of its own on stderr while it unpacks tensors.
    with contextlib.redirect_stderr(io.StringIO()), quiet():
        try:
            ids, expected = _unpack(path, folder)
            gc.collect()
            found = _logits(folder, ids)
        except ScorerError:
            raise
        except Exception as error:
            raise ScorerError(
                f"{path} could not be converted ({type(error).__name__}: {first_line(error)}); "
                "use the model's safetensors folder (hf:/folder) instead"
            ) from error
    gap = float((found - expected).abs().max())
    if not gap <= _TOLERANCE:
        raise ScorerError(
            f"{path}: the converted model's logits differ from the file's by {gap:.3g} "
            f"(allowed {_TOLERANCE:g}); use the model's safetensors folder (hf:/folder) instead"
        )


def _unpack(path: Path, folder: Path) -> tuple[Tensor, Tensor]:
    """Write the folder; return probe ids (1, L) and the file's logits (1, L, V)."""
    torch, transformers = require("torch"), require("transformers")
    place = {"gguf_file": path.name, "local_files_only": True}
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(path.parent), **place)
    _pin_pre_tokenizer(tokenizer, path)
    source = transformers.AutoModelForCausalLM.from_pretrained(
        str(path.parent), dtype=torch.float32, **place
    ).eval()
    settings = source.config.to_dict()
    for key in ("quantization_config", "_name_or_path"):
        settings.pop(key, None)
    config = type(source.config).from_dict(settings)
    ids = tokenizer(_PROBE, return_tensors="pt", add_special_tokens=False).input_ids
    with torch.no_grad():
        expected = source(input_ids=ids).logits
    plain = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    plain.load_state_dict(source.state_dict())
    plain.save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))
    return ids, expected


def _logits(folder: Path, ids: Tensor) -> Tensor:
    torch, transformers = require("torch"), require("transformers")
    model = transformers.AutoModelForCausalLM.from_pretrained(
        str(folder), dtype=torch.float32, local_files_only=True
    ).eval()
    with torch.no_grad():
        return cast("Tensor", model(input_ids=ids).logits)


def _pin_pre_tokenizer(tokenizer: transformers.PreTrainedTokenizerFast, path: Path) -> None:
    """Split text as the file asks where transformers leaves the choice out.

    A file that names the "smollm" pre-tokenizer was trained with every digit
    cut off before the bytes are merged; the general byte-level rule agrees for
    most text, not for blanks before a digit.
    """
    field = require("gguf").GGUFReader(path).fields.get("tokenizer.ggml.pre")
    if field is None or field.contents() != "smollm":
        return
    pre_tokenizers = require("tokenizers").pre_tokenizers
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=True, use_regex=True),
        ]
    )
