"""Randomness and hashes: everything random in evenhand is drawn from here.

A generator is a function of (seed, slate id, purpose, index) alone, so a plan
does not move when slates are dropped, added or processed in another order, nor
with PYTHONHASHSEED.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def _digest(*parts: object) -> bytes:
    text = json.dumps([str(part) for part in parts], ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).digest()


def generator(seed: int, slate_id: str, purpose: str, index: int = 0) -> np.random.Generator:
    """Return a numpy Generator that depends on its four arguments alone.

    Args:
        seed: the study's seed.
        slate_id: the slate the numbers are for; "" for a whole run.
        purpose: what they are for, e.g. "order"; keeps streams apart.
        index: row, view or look within the purpose.
    """
    return np.random.default_rng(int.from_bytes(_digest(seed, slate_id, purpose, index), "big"))


def tie_ranks(slate_id: str, candidate_ids: Sequence[str], salt: str = "") -> NDArray[np.int64]:
    """Return each candidate's place in a fixed pseudo-random order.

    Ties of scores are broken by it everywhere (lower first): it depends on the
    slate id and the candidate id alone, never on slot or input order.

    Returns:
        (n,) int64, a permutation of 0..n-1.
    """
    keys = [_digest(salt, slate_id, candidate) for candidate in candidate_ids]
    ranks = np.empty(len(keys), dtype=np.int64)
    ranks[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
    return ranks


def file_hash(path: Path) -> str:
    """Return the SHA-256 hex digest of a file, read in blocks."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def content_hash(value: Any) -> str:
    """Return the SHA-256 hex digest of a JSON-like value, keys sorted."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()
