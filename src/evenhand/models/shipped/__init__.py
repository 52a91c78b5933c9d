"""Scorers that come with evenhand: each a small difference to the embedded SmolLM2.

A folder here holds `difference.safetensors`, `scorer.json` (the form of its prompts)
and a model card. The base is fetched as `smollm2-135m` is.
"""

from __future__ import annotations

from pathlib import Path

DEFAULT = "evenhand-smol"
"""The scorer that is used where none is named: trained to agree with itself."""

SINGLE = "evenhand-smol-single"
"""Its twin of the same size, trained on one order of each slate, to compare with."""

NAMES = (DEFAULT, SINGLE)
FILE = "difference.safetensors"


def folder(name: str) -> Path:
    """Return the folder of a shipped scorer; `name` is one of `NAMES`."""
    return Path(__file__).parent / name
