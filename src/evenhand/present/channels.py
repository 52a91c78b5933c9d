"""What each channel other than the order can vary: surfaces, cuts and members.

Pure lists of variants of the canonical presentation, drawn by `present.design`.
None of them holds the canonical presentation itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from evenhand.present.texts import SKELETONS, wordings
from evenhand.present.windows import RULES, Windows, cut
from evenhand.types import Surface

T = TypeVar("T")

_DUMMIES = range(4)
_SEEDS = 2**31


def choose(items: Sequence[T], count: int, rng: np.random.Generator) -> list[T]:
    """Return all items when they are at most `count`, else a draw of them in their own order."""
    if len(items) <= count:
        return list(items)
    return [items[int(i)] for i in sorted(rng.choice(len(items), size=count, replace=False))]


def marker_surfaces(surface: Surface, count: int, rng: np.random.Generator) -> list[Surface]:
    """Return `count` surfaces with other markers.

    First the fixed schemes (numeric and letters, closing the candidate or not),
    then random markers under drawn seeds.
    """
    fixed = [
        replace(surface, markers=scheme, enclose=enclose)
        for enclose, scheme in itertools.product((False, True), ("numeric", "letters"))
    ]
    found = choose([other for other in fixed if other != surface], count, rng)
    while len(found) < count:
        other = replace(surface, markers="random", marker_seed=int(rng.integers(_SEEDS)))
        if other not in (*found, surface):
            found.append(other)
    return found


def skeleton_surfaces(surface: Surface, count: int, rng: np.random.Generator) -> list[Surface]:
    """Return up to `count` surfaces with another answer form: wording, dummy grade or both."""
    forms = [
        replace(surface, skeleton=skeleton, dummy=dummy)
        for skeleton, dummy in itertools.product(SKELETONS, _DUMMIES)
    ]
    return choose([other for other in forms if other != surface], count, rng)


def rubric_surfaces(surface: Surface, count: int, rng: np.random.Generator) -> list[Surface]:
    """Return up to `count` surfaces with another wording of the same rubric."""
    forms = [replace(surface, rubric=form) for form in wordings(surface.rubric)]
    return choose([other for other in forms if other != surface], count, rng)


SURFACES: dict[str, Callable[[Surface, int, np.random.Generator], list[Surface]]] = {
    "marker": marker_surfaces,
    "skeleton": skeleton_surfaces,
    "rubric": rubric_surfaces,
}


def window_cuts(n: int, width: int | None, rule: str, most: int | None = None) -> list[Windows]:
    """Return the other cuts of n positions: a quarter, half, all and twice of B, by every rule.

    Args:
        n: number of candidates.
        width: B; None = the whole slate.
        rule: rule of the canonical cut.
        most: no window may hold more; None = no limit.

    Returns:
        Distinct cuts, narrow ones first; empty when n has no other cut.
    """
    wide = max(1, n if width is None else min(n, width))
    widths = (max(1, wide // 4), max(1, wide // 2), wide, 2 * wide)
    found = dict.fromkeys(cut(n, one, other) for one in widths for other in RULES)
    found.pop(cut(n, width, rule), None)
    limit = n if most is None else most
    return [windows for windows in found if all(len(window) <= limit for window in windows)]


@dataclass(frozen=True, slots=True)
class Members:
    """Who is shown, in canonical order or with one member exchanged, and who is not."""

    order: tuple[int, ...]
    omitted: tuple[int, ...] = ()


def canonical_members(n: int) -> Members:
    """Return the slate without its reserve, the last candidate; a slate of one keeps it."""
    return Members(tuple(range(n - 1)), (n - 1,)) if n > 1 else Members(tuple(range(n)))


def replaced(n: int, candidate: int) -> Members:
    """Return the members with the reserve in the place of one candidate."""
    order = tuple(n - 1 if i == candidate else i for i in range(n - 1))
    return Members(order, (candidate,))


def dropped(n: int, candidate: int) -> Members:
    """Return the members without one candidate: the others move up, the reserve is appended."""
    return Members(tuple(i for i in range(n) if i != candidate), (candidate,))


def member_variants(n: int, count: int, rng: np.random.Generator) -> list[Members]:
    """Return up to `count` exchanges of one member for the reserve.

    All 2n - 3 when they are at most `count`: each of the n - 1 members replaced,
    each but the last dropped (there the two are the same). Else half of each
    kind, for the same drawn members, the last of them never dropped.

    Returns:
        Replaced ones first; empty when n < 2.
    """
    if n < 2:
        return []
    members = list(range(n - 1))
    if 2 * n - 3 > count:
        members = [int(i) for i in rng.permutation(n - 1)]
    again = [i for i in members if i != n - 2]
    first = members[: max(count - count // 2, count - len(again))]
    second = again[: count - len(first)]
    return [*(replaced(n, i) for i in first), *(dropped(n, i) for i in second)]
