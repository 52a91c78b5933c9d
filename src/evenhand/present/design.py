"""Designs: which presentations of a slate are drawn.

A design splits the presented positions into groups and shuffles the candidates
inside each group; what the groups are decides which channel varies:

- ``reorder``: one group of all positions. Slot and companions move together,
  as when a retriever reorders its list. The default.
- ``order``: one group per window. Companions stay, slots move.
- ``companions``: one group per slot. Slots stay, companions move.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from evenhand.errors import UsageError
from evenhand.present.windows import RULES, Windows, cut
from evenhand.seeds import generator
from evenhand.types import Plan, Presentation, RowKind, Slate, Surface

Groups = tuple[tuple[int, ...], ...]


def _all_positions(windows: Windows) -> Groups:
    return (tuple(sorted(position for window in windows for position in window)),) if windows else ()


def _by_window(windows: Windows) -> Groups:
    return windows


def _by_slot(windows: Windows) -> Groups:
    widest = max((len(window) for window in windows), default=0)
    return tuple(
        tuple(window[slot] for window in windows if slot < len(window)) for slot in range(widest)
    )


@dataclass(frozen=True, slots=True)
class _Kind:
    groups: Callable[[Windows], Groups]
    channels: frozenset[str]


DESIGNS: dict[str, _Kind] = {
    "reorder": _Kind(_all_positions, frozenset({"order", "companions"})),
    "order": _Kind(_by_window, frozenset({"order"})),
    "companions": _Kind(_by_slot, frozenset({"companions"})),
}


def _shuffle_groups(n: int, groups: Groups, rng: np.random.Generator) -> tuple[int, ...]:
    order = list(range(n))
    for group in groups:
        for position, other in zip(group, rng.permutation(len(group)), strict=True):
            order[position] = group[other]
    return tuple(order)


def _every_order(n: int, groups: Groups) -> Iterator[tuple[int, ...]]:
    for choice in itertools.product(*(itertools.permutations(group) for group in groups)):
        order = list(range(n))
        for group, drawn in zip(groups, choice, strict=True):
            for position, candidate in zip(group, drawn, strict=True):
                order[position] = candidate
        yield tuple(order)


@dataclass(frozen=True, slots=True)
class SlateDesign:
    """Draws one canonical row, the random rows and one repeat row per slate.

    Attributes:
        name: a key of `DESIGNS`.
        rows: M, random rows. When the design has at most M presentations in
            all, each is drawn once and the plan is exhaustive.
        width: B, most candidates of a window; None = the whole slate.
        rule: window rule. seed: of the random rows. surface: of every row.
        repeat: show the canonical presentation a second time (noise floor).
    """

    name: str = "reorder"
    rows: int = 10
    width: int | None = None
    rule: str = "contiguous"
    seed: int = 0
    surface: Surface = field(default_factory=Surface)
    repeat: bool = True

    def __post_init__(self) -> None:
        if self.name not in DESIGNS:
            raise UsageError(f"unknown design {self.name!r}; known are {sorted(DESIGNS)}")
        if self.rule not in RULES:
            raise UsageError(f"unknown window rule {self.rule!r}; known are {sorted(RULES)}")
        if self.rows < 1:
            raise UsageError(f"a design needs at least 1 random row, got rows={self.rows}")
        if self.width is not None and self.width < 1:
            raise UsageError(f"a window needs a width of at least 1, got {self.width}")

    @property
    def channels(self) -> frozenset[str]:
        """The channels this design lets vary."""
        return DESIGNS[self.name].channels

    def _present(self, order: tuple[int, ...], windows: Windows) -> Presentation:
        shown = tuple(tuple(order[position] for position in window) for window in windows)
        return Presentation(order, shown, self.surface)

    def draw(self, slate: Slate) -> Plan:
        """Return the plan of one slate: row 0 canonical, then random, then repeat.

        The random rows are independent uniform draws from (seed, slate id,
        design, row); other slates do not matter.
        """
        n = len(slate)
        windows = cut(n, self.width, self.rule)
        groups = DESIGNS[self.name].groups(windows)
        count = math.prod(math.factorial(len(group)) for group in groups)
        exhaustive = count <= self.rows
        if exhaustive:
            orders = list(_every_order(n, groups))
        else:
            streams = (generator(self.seed, slate.id, self.name, row) for row in range(self.rows))
            orders = [_shuffle_groups(n, groups, rng) for rng in streams]
        first = self._present(tuple(range(n)), windows)
        presentations = [first, *(self._present(order, windows) for order in orders)]
        kinds: list[RowKind] = ["canonical", *(["random"] * len(orders))]  # type: ignore[list-item]
        if self.repeat:
            presentations.append(first)
            kinds.append("repeat")
        return Plan(tuple(presentations), tuple(kinds), exhaustive)


def design(
    name: str = "reorder",
    *,
    rows: int = 10,
    width: int | None = None,
    rule: str = "contiguous",
    seed: int = 0,
    surface: Surface | None = None,
    repeat: bool = True,
) -> SlateDesign:
    """Return a design by name; see `SlateDesign` for the settings.

    Raises:
        UsageError: a name is unknown or a number out of range.
    """
    return SlateDesign(name, rows, width, rule, seed, surface or Surface(), repeat)
