"""The crossed design: partitions into windows, orders inside them, repeats.

A candidate is shown with C random sets of companions, and with each set in R
random orders inside the windows, and each of these presentations twice. What
moves with the partition, with the inner order, and between the repeats of one
prompt can then be told apart (`measure.crossed`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from evenhand.errors import UsageError
from evenhand.present.windows import RULES, Windows, cut
from evenhand.seeds import generator
from evenhand.types import FloatArray, Plan, Presentation, RowKind, Slate, Surface

REPEATS = 2


@dataclass(frozen=True, slots=True)
class CrossedDesign:
    """Draws partitions x orders x 2 presentations of a slate.

    Rows run over partitions, inside them over orders, inside them over the two
    repeats; of each pair the first is a "random" row and the second a "repeat".
    There is no canonical row.

    Attributes:
        partitions: C, random assignments of the candidates to the windows, each
            drawn on its own. At least 2.
        orders: R, random orders inside the windows of each partition. At least 2.
        width: B, most candidates of a window; None = the whole slate, where
            companions cannot vary.
        rule: window rule. seed: of the draws. surface: of every row.
    """

    partitions: int = 5
    orders: int = 3
    width: int | None = None
    rule: str = "contiguous"
    seed: int = 0
    surface: Surface = field(default_factory=Surface)

    def __post_init__(self) -> None:
        for name in ("partitions", "orders"):
            if getattr(self, name) < 2:
                raise UsageError(
                    f"a crossed design needs at least 2 {name} to see a variance, "
                    f"got {name}={getattr(self, name)}"
                )
        if self.rule not in RULES:
            raise UsageError(f"unknown window rule {self.rule!r}; known are {sorted(RULES)}")
        if self.width is not None and self.width < 1:
            raise UsageError(f"a window needs a width of at least 1, got {self.width}")

    @property
    def name(self) -> str:
        """Name of the design."""
        return "crossed"

    @property
    def channels(self) -> frozenset[str]:
        """The channels this design lets vary."""
        return frozenset({"order", "companions"})

    @property
    def rows(self) -> int:
        """Presentations of a slate, repeats included."""
        return self.partitions * self.orders * REPEATS

    def draw(self, slate: Slate) -> Plan:
        """Return the plan of one slate; other slates do not matter."""
        n = len(slate)
        windows = cut(n, self.width, self.rule)
        shown: list[Presentation] = []
        for partition in range(self.partitions):
            members = generator(self.seed, slate.id, "partition", partition).permutation(n)
            for order in range(self.orders):
                index = partition * self.orders + order
                rng = generator(self.seed, slate.id, "inner order", index)
                shown += [self._present(windows, members, rng)] * REPEATS
        kinds: tuple[RowKind, ...] = ("random", "repeat") * (self.partitions * self.orders)
        return Plan(tuple(shown), kinds)

    def arrange(self, scores: ArrayLike) -> FloatArray:
        """Return (C, R, 2, n) from the (rows, n) scores of a plan.

        Raises:
            UsageError: the rows are not those of this design.
        """
        rows = np.asarray(scores, dtype=np.float64)
        if rows.ndim != 2 or len(rows) != self.rows:
            raise UsageError(f"scores of shape {rows.shape} for the {self.rows} rows of the design")
        return rows.reshape(self.partitions, self.orders, REPEATS, rows.shape[1])

    def _present(self, windows: Windows, members: np.ndarray, rng: np.random.Generator) -> Presentation:
        """Return the partition in which window w holds `members` at its positions, shuffled inside."""
        order = [0] * len(members)
        for window in windows:
            for position, other in zip(window, rng.permutation(len(window)), strict=True):
                order[position] = int(members[window[other]])
        cuts = tuple(tuple(order[position] for position in window) for window in windows)
        return Presentation(tuple(order), cuts, self.surface)
