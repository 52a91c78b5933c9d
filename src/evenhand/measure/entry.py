"""One line of the registry: what a measure by name computes and takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from evenhand.measure.grammar import Option
from evenhand.measure.task import Task

Kind = Literal["stability", "decision", "quality"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of MEASURES.

    Attributes:
        kind: what sort of number it is.
        compute: from a task to the value.
        about: what it says, in half a line.
        stable: its value for an order-free scorer; None where that depends.
        options: by name. cutoff: whether `@k` may, must or must not stand.
        canonical: it compares the random rows with the canonical one, not with
            each other, so that one of them is enough.
    """

    kind: Kind
    compute: Callable[[Task], float]
    about: str
    stable: float | None = None
    options: Mapping[str, Option] = field(default_factory=dict)
    cutoff: Literal["none", "optional", "required"] = "none"
    canonical: bool = False
