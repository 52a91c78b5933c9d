"""One fetch under way, as the makers of a collection's files see it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evenhand.data.collections.declare import Collection

MANIFEST = "fetched.json"
STAGING = ".fetching"

Say = Callable[[str], None]


@dataclass
class Making:
    """One fetch under way.

    Attributes:
        name, declared: of the collection. root: folder of collections.
        folder: the staging folder. mirror: local copy of the source, or None.
        say: tells people. source: what goes to the manifest about the source.
        left_out: how often each reason left out a row.
    """

    name: str
    declared: Collection
    root: Path
    folder: Path
    mirror: Path | None
    say: Say
    source: dict[str, Any] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
