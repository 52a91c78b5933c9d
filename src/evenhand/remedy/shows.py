"""Who is shown next: whole orders at first, then windows for the doubtful."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evenhand.remedy.base import represented
from evenhand.types import IntArray, Presentation

Order = tuple[int, ...]

# Draws before orders that show the same prompts are accepted: few candidates have few orders.
_TRIES = 20


def first_orders(
    presentation: Presentation, count: int, rng: np.random.Generator
) -> list[Presentation]:
    """Return presentations in independent random orders, of different prompts where possible.

    Two orders of the same windows would show no noise where there is some.

    Args:
        presentation: gives pattern of windows, surface and who is shown.
        count: orders. rng: of the draws.
    """
    found: list[Presentation] = []
    keys: set[frozenset[Order]] = set()
    for _ in range(count):
        for _ in range(_TRIES):
            drawn = whole_order(presentation, rng)
            key = frozenset(drawn.windows)
            if key not in keys:
                break
        keys.add(key)
        found.append(drawn)
    return found


def whole_order(presentation: Presentation, rng: np.random.Generator) -> Presentation:
    """Return a presentation of the same pattern of windows in a uniform order."""
    # From rising indices: the draw must not depend on the order that was handed over.
    return represented(presentation, rng.permutation(np.sort(presentation.order)).tolist())


def again(
    presentation: Presentation, doubtful: IntArray, share: float, rng: np.random.Generator
) -> Presentation:
    """Return a presentation that shows every doubtful candidate once more.

    Windows of the pattern are taken at random, larger ones more often, as a random order
    puts a candidate in larger ones more often, until a `share` of their slots is enough
    for the doubtful. Those are dealt to these slots at random, the other slots go to
    candidates drawn at random from the rest, and each window is shuffled. When all
    windows are needed it is a whole random order. With a share of 0 it is a whole random
    order too, of which only the windows with a doubtful candidate are shown.

    Args:
        presentation: the outer one: pattern of windows, surface and who is shown.
        doubtful: (d,) canonical indices, at least one.
        share: most of a window that doubtful candidates take on purpose, in [0, 1]; each
            window takes at least one.
        rng: of the draws.
    """
    if share == 0:
        drawn = whole_order(presentation, rng)
        wanted = set(doubtful.tolist())
        return _only(drawn, [w for w in drawn.windows if wanted.intersection(w)], rng)
    sizes = np.array([len(window) for window in presentation.windows])
    room = np.maximum(1, np.floor(share * sizes)).astype(np.int64)
    taken = rng.choice(len(sizes), len(sizes), replace=False, p=sizes / sizes.sum())
    needed = int(np.searchsorted(np.cumsum(room[taken]), len(doubtful))) + 1
    if needed >= len(sizes):
        return whole_order(presentation, rng)
    return _only(presentation, _dealt(presentation, doubtful, sizes, room, taken[:needed], rng), rng)


def _dealt(
    presentation: Presentation, doubtful: IntArray,
    sizes: IntArray, room: IntArray, taken: IntArray, rng: np.random.Generator,
) -> list[Order]:  # fmt: skip
    """Return the windows taken, filled with doubtful candidates and others."""
    places = rng.permutation(np.repeat(taken, room[taken]))[: len(doubtful)]
    rest = rng.permutation(np.setdiff1d(presentation.order, doubtful)).tolist()
    dealt: list[Order] = []
    for window in taken:
        members = [int(i) for i, place in zip(doubtful, places, strict=True) if place == window]
        while len(members) < sizes[window] and rest:
            members.append(rest.pop())
        dealt.append(tuple(rng.permutation(members).tolist()))
    return dealt


def _only(
    presentation: Presentation, windows: Sequence[Order], rng: np.random.Generator
) -> Presentation:
    """Return a presentation of some windows; the other candidates are not shown."""
    shown = [i for window in windows for i in window]
    omitted = set(range(len(presentation))) - set(shown)
    # A remedy inside may cut the order anew, so it must be as random as the windows.
    order = tuple(rng.permutation(shown).tolist())
    return replace(presentation, order=order, windows=tuple(windows), omitted=tuple(sorted(omitted)))
