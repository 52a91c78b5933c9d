"""Designs: which presentations of a slate are drawn.

Three designs split the presented positions into groups and shuffle the
candidates inside each group; what the groups are decides which channel varies:

- ``reorder``: one group of all positions. Slot and companions move together,
  as when a retriever reorders its list. The default.
- ``order``: one group per window. Companions stay, slots move.
- ``companions``: one group per slot. Slots stay, companions move.

The others keep the canonical order and vary one thing, as `present.channels`
lists it: ``marker``, ``skeleton``, ``rubric`` (the surface), ``window`` (width
and rule), ``membership`` (one candidate exchanged for the reserve, which is the
last candidate of the slate and is not shown in the canonical row).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from evenhand.errors import UsageError
from evenhand.present.channels import (
    SURFACES,
    Members,
    canonical_members,
    choose,
    member_variants,
    window_cuts,
)
from evenhand.present.surface import check_surface
from evenhand.present.windows import RULES, Windows, cut
from evenhand.seeds import generator
from evenhand.types import Plan, Presentation, RowKind, Slate, Surface

# All orders of 7 candidates: more are not listed, whatever M is.
MOST_EXHAUSTIVE = 5040

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
class _Drawn:
    """The canonical presentation and what is shown in the random rows."""

    canonical: Presentation
    variants: list[Presentation]
    exhaustive: bool = False


@dataclass(frozen=True, slots=True)
class SlateDesign:
    """Draws one canonical row, the random rows and one repeat row per slate.

    Attributes:
        name: a key of `DESIGNS`.
        rows: M, random rows; fewer where the design has fewer variants, none
            where nothing can vary (companions of a single window). At most
            `MOST_EXHAUSTIVE` variants are listed whole; of more, M are drawn.
        width: B, most candidates of a window; None = the whole slate.
        rule: window rule. seed: of the random rows. surface: of every row.
        repeat: show the canonical presentation a second time (noise floor).
        most: no window of the ``window`` design holds more; None = no limit.
    """

    name: str = "reorder"
    rows: int = 10
    width: int | None = None
    rule: str = "contiguous"
    seed: int = 0
    surface: Surface = field(default_factory=Surface)
    repeat: bool = True
    most: int | None = None

    def __post_init__(self) -> None:
        for what in ("name", "rule"):
            if not isinstance(getattr(self, what), str):
                raise UsageError(f"{what} must be a string, got {getattr(self, what)!r}")
        for what in ("rows", "seed", "width", "most"):
            value = getattr(self, what)
            if what in ("width", "most") and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
                raise UsageError(f"{what} must be a whole number, got {value!r}")
            # A plain int: settings are compared, hashed and written as JSON.
            object.__setattr__(self, what, int(value))
        if self.name not in DESIGNS:
            raise UsageError(f"unknown design {self.name!r}; known are {sorted(DESIGNS)}")
        if self.rule not in RULES:
            raise UsageError(f"unknown window rule {self.rule!r}; known are {sorted(RULES)}")
        if self.rows < 1:
            raise UsageError(f"a design needs at least 1 random row, got rows={self.rows}")
        if self.width is not None and self.width < 1:
            raise UsageError(f"a window needs a width of at least 1, got {self.width}")
        check_surface(self.surface)

    @property
    def channels(self) -> frozenset[str]:
        """The channels this design lets vary."""
        return DESIGNS[self.name].channels

    def present(self, order: tuple[int, ...], omitted: tuple[int, ...] = ()) -> Presentation:
        """Return an order cut into the design's windows, under its surface."""
        windows = cut(len(order), self.width, self.rule)
        shown = tuple(tuple(order[position] for position in window) for window in windows)
        return Presentation(order, shown, self.surface, omitted)

    def stream(self, slate: Slate, row: int = 0) -> np.random.Generator:
        """Return the generator of a row: a function of seed, slate id, design and row."""
        return generator(self.seed, slate.id, self.name, row)

    def draw(self, slate: Slate) -> Plan:
        """Return the plan of one slate: row 0 canonical, then random, then repeat.

        The random rows are draws from (seed, slate id, design, row), those of
        orders independent and uniform; other slates do not matter.
        """
        drawn = DESIGNS[self.name].draw(self, slate)
        presentations = [drawn.canonical, *drawn.variants]
        kinds: list[RowKind] = ["canonical", *(["random"] * len(drawn.variants))]  # type: ignore[list-item]
        if self.repeat:
            presentations.append(drawn.canonical)
            kinds.append("repeat")
        return Plan(tuple(presentations), tuple(kinds), drawn.exhaustive)


def _shuffles(
    groups_of: Callable[[Windows], Groups], *, alone: bool = False
) -> Callable[[SlateDesign, Slate], _Drawn]:
    """Return the draw of a design by groups.

    When it has at most M orders in all, each is drawn once and the plan is
    exhaustive; above `MOST_EXHAUSTIVE` orders they are drawn at random all the same.

    Args:
        groups_of: the groups of a cut.
        alone: draw the only order where there is no other; else no row, because
            nothing can vary.
    """

    def draw(design: SlateDesign, slate: Slate) -> _Drawn:
        n = len(slate)
        groups = groups_of(cut(n, design.width, design.rule))
        count = math.prod(math.factorial(len(group)) for group in groups)
        canonical = design.present(tuple(range(n)))
        if count == 1 and not alone:
            return _Drawn(canonical, [])
        exhaustive = count <= min(design.rows, MOST_EXHAUSTIVE)
        if exhaustive:
            orders = list(_every_order(n, groups))
        else:
            streams = (design.stream(slate, row) for row in range(design.rows))
            orders = [_shuffle_groups(n, groups, rng) for rng in streams]
        return _Drawn(canonical, [design.present(order) for order in orders], exhaustive)

    return draw


def _surfaces(channel: str) -> Callable[[SlateDesign, Slate], _Drawn]:
    """Return the draw of a design that varies the surface."""

    def draw(design: SlateDesign, slate: Slate) -> _Drawn:
        canonical = design.present(tuple(range(len(slate))))
        others = SURFACES[channel](design.surface, design.rows, design.stream(slate))
        return _Drawn(canonical, [canonical.with_surface(other) for other in others])

    return draw


def _cuts(design: SlateDesign, slate: Slate) -> _Drawn:
    """Draw other widths and rules."""
    n = len(slate)
    canonical = design.present(tuple(range(n)))
    others = window_cuts(n, design.width, design.rule, design.most)
    chosen = choose(others, design.rows, design.stream(slate))
    return _Drawn(canonical, [replace(canonical, windows=windows) for windows in chosen])


def _exchanges(design: SlateDesign, slate: Slate) -> _Drawn:
    """Draw slates with one member exchanged for the reserve."""

    def present(members: Members) -> Presentation:
        return design.present(members.order, members.omitted)

    variants = member_variants(len(slate), design.rows, design.stream(slate))
    return _Drawn(present(canonical_members(len(slate))), [present(one) for one in variants])


@dataclass(frozen=True, slots=True)
class _Kind:
    draw: Callable[[SlateDesign, Slate], _Drawn]
    channels: frozenset[str]


DESIGNS: dict[str, _Kind] = {
    "reorder": _Kind(_shuffles(_all_positions, alone=True), frozenset({"order", "companions"})),
    "order": _Kind(_shuffles(_by_window), frozenset({"order"})),
    "companions": _Kind(_shuffles(_by_slot), frozenset({"companions"})),
    "marker": _Kind(_surfaces("marker"), frozenset({"marker"})),
    "skeleton": _Kind(_surfaces("skeleton"), frozenset({"skeleton"})),
    "rubric": _Kind(_surfaces("rubric"), frozenset({"rubric"})),
    "window": _Kind(_cuts, frozenset({"window"})),
    "membership": _Kind(_exchanges, frozenset({"membership"})),
}


def design(
    name: str = "reorder",
    *,
    rows: int = 10,
    width: int | None = None,
    rule: str = "contiguous",
    seed: int = 0,
    surface: Surface | None = None,
    repeat: bool = True,
    most: int | None = None,
) -> SlateDesign:
    """Return a design by name; see `SlateDesign` for the settings.

    Raises:
        UsageError: a name is unknown or a number out of range.
    """
    return SlateDesign(name, rows, width, rule, seed, surface or Surface(), repeat, most)
