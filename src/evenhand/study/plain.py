"""Results as JSON values: what is not a number is null."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from evenhand.errors import UsageError


def plain(value: Any) -> Any:
    """Return a value as JSON holds it.

    Frozen dataclasses and mappings become objects, arrays and sequences lists,
    numbers of numpy plain ones, and NaN or infinity null.

    Raises:
        UsageError: a part of the value has no JSON form.
    """
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (Sequence, set, frozenset)):
        ordered = sorted(value) if isinstance(value, (set, frozenset)) else value
        return [plain(each) for each in ordered]
    raise UsageError(f"a {type(value).__name__} has no JSON form")
