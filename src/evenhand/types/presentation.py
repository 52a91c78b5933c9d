"""How a slate is shown: surface, presentation, and the plan of a whole run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import UsageError
from evenhand.types.arrays import BoolArray, IntArray, RowKind, Visibility
from evenhand.types.slate import Slate


@dataclass(frozen=True, slots=True)
class Surface:
    """The words and marks around the candidates of a window.

    Names refer to the tables of `evenhand.present.surface`.

    Attributes:
        rubric: which rubric text.
        markers: which marker scheme.
        marker_seed: draw of a random marker scheme.
        enclose: the marker also closes each candidate.
        query: where the query stands relative to the candidates.
        skeleton: wording of the answer lines.
        dummy: grade that stands in every answer line.
        visibility: what may see what: "sequential", "parallel" (answer lines blind to each
            other), "isolated" (candidates blind to each other, what they share before them).
    """

    rubric: str = "relevance"
    markers: str = "numeric"
    marker_seed: int = 0
    enclose: bool = False
    query: Literal["before", "after", "around"] = "before"
    skeleton: str = "grade"
    dummy: int = 0
    visibility: Visibility = "sequential"


@dataclass(frozen=True, slots=True)
class Presentation:
    """One way to show a slate: an order, its cut into windows, a surface.

    Attributes:
        order: canonical index of the candidate at each presented position.
        windows: for each window, the canonical index at each of its slots.
        surface: the words around them.
        omitted: canonical indices of the candidates that are not shown, rising.
            They have no place (-1) and no score: not shown is not missing.
    """

    order: tuple[int, ...]
    windows: tuple[tuple[int, ...], ...]
    surface: Surface = field(default_factory=Surface)
    omitted: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", tuple(int(i) for i in self.order))
        windows = tuple(tuple(int(i) for i in window) for window in self.windows)
        object.__setattr__(self, "windows", windows)
        object.__setattr__(self, "omitted", tuple(sorted(int(i) for i in self.omitted)))
        if sorted((*self.order, *self.omitted)) != list(range(len(self))):
            apart = f" without {self.omitted}" if self.omitted else ""
            raise UsageError(f"order {self.order} is not a permutation of 0..{len(self) - 1}{apart}")
        if sorted(i for window in windows for i in window) != sorted(self.order):
            raise UsageError("the windows must hold every candidate of the order exactly once")
        if any(not window for window in windows):
            raise UsageError("a window must hold at least one candidate")

    def __len__(self) -> int:
        return len(self.order) + len(self.omitted)

    def included(self) -> BoolArray:
        """Return the (n,) booleans of the candidates that are shown."""
        shown = np.ones(len(self), dtype=np.bool_)
        shown[list(self.omitted)] = False
        return shown

    def positions(self) -> IntArray:
        """Return the (n,) presented position of each candidate, -1 where it is not shown."""
        positions = np.full(len(self), -1, dtype=np.int64)
        positions[list(self.order)] = np.arange(len(self.order))
        return positions

    def slots(self) -> IntArray:
        """Return the (n,) slot inside its window of each candidate, from 0; -1 = not shown."""
        slots = np.full(len(self), -1, dtype=np.int64)
        for window in self.windows:
            slots[list(window)] = np.arange(len(window))
        return slots

    def window_of(self) -> IntArray:
        """Return the (n,) index of the window that holds each candidate; -1 = not shown."""
        found = np.full(len(self), -1, dtype=np.int64)
        for index, window in enumerate(self.windows):
            found[list(window)] = index
        return found

    def to_canonical(self, by_slot: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Put per-window slot values, (B,) or (B, k) each, in canonical order.

        A candidate that is not shown gets NaN, or 0 where the values are no floats.

        Raises:
            UsageError: a window's values do not match its candidates.
        """
        if len(by_slot) != len(self.windows):
            raise UsageError(f"{len(by_slot)} windows of values for {len(self.windows)} windows")
        for window, values in zip(self.windows, by_slot, strict=True):
            if len(values) != len(window):
                raise UsageError(f"{len(values)} values for a window of {len(window)} candidates")
        if not by_slot:
            return np.full(len(self), np.nan)
        joined = np.concatenate([np.asarray(values) for values in by_slot])
        filler = np.nan if joined.dtype.kind == "f" else 0
        result = np.full((len(self), *joined.shape[1:]), filler, dtype=joined.dtype)
        result[[i for window in self.windows for i in window]] = joined
        return result

    def with_surface(self, surface: Surface) -> Presentation:
        """Return the same order and windows under another surface."""
        return replace(self, surface=surface)


@dataclass(frozen=True, slots=True)
class Shown:
    """A slate in one presentation, and which row of the run it is."""

    slate: Slate
    presentation: Presentation
    row: int = 0
    kind: RowKind = "canonical"

    def __post_init__(self) -> None:
        if len(self.slate) != len(self.presentation):
            raise UsageError(
                f"slate {self.slate.id!r} has {len(self.slate)} candidates, "
                f"its presentation {len(self.presentation)}"
            )


@dataclass(frozen=True, slots=True)
class Plan:
    """The presentations a design drew for one slate, with their row kinds.

    Attributes:
        exhaustive: the random rows are all that the design can draw, each once;
            means over pairs of rows then include each row with itself.
    """

    presentations: tuple[Presentation, ...]
    kinds: tuple[RowKind, ...]
    exhaustive: bool = False

    def __post_init__(self) -> None:
        if len(self.presentations) != len(self.kinds):
            raise UsageError("one kind per presentation")

    def __len__(self) -> int:
        return len(self.kinds)

    def shown(self, slate: Slate) -> Iterator[Shown]:
        """Yield the slate in each presentation, in row order."""
        for row, (presentation, kind) in enumerate(zip(self.presentations, self.kinds, strict=True)):
            yield Shown(slate, presentation, row, kind)

    def included(self) -> BoolArray:
        """Return the (rows, n) booleans of which candidates each row shows."""
        n = len(self.presentations[0]) if self.presentations else 0
        shown = [presentation.included() for presentation in self.presentations]
        return np.array(shown, dtype=np.bool_).reshape(len(self), n)

    def rows(self, kind: RowKind) -> list[int]:
        """Return the row numbers of one kind."""
        return [row for row, other in enumerate(self.kinds) if other == kind]
