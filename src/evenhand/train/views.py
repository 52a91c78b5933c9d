"""Views: the ways a labelled slate is shown in one training step.

- ``within``: the canonical list is cut into fixed windows; every window is a group
  of its own, shown in N random orders. Companions stay.
- ``across``: the whole slate is one group; each view is a random order of it, cut
  into windows anew. Companions change with the order.

A view may also vary the width of the windows, the markers or the skeleton. Draws
depend on (seed, epoch, slate, window) alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np

from evenhand.errors import UsageError, require_count
from evenhand.present.surface import check_surface
from evenhand.present.windows import RULES, Windows, cut
from evenhand.seeds import generator
from evenhand.types import Slate, Surface

Mix = Literal["within", "across"]
VARIES = ("order", "companions", "marker", "skeleton", "width", "dropout")


@dataclass(frozen=True, slots=True)
class View:
    """One way to show a group: windows of canonical indices, under a surface."""

    windows: Windows
    surface: Surface

    @property
    def order(self) -> tuple[int, ...]:
        """Canonical indices as they stand, window after window."""
        return tuple(i for window in self.windows for i in window)


@dataclass(frozen=True, slots=True)
class Group:
    """The candidates whose scores are compared between views.

    Attributes:
        slate: where they are from.
        members: canonical indices, rising.
        views: N views, each showing every member once.
    """

    slate: Slate
    members: tuple[int, ...]
    views: tuple[View, ...]

    @property
    def windows(self) -> int:
        """Windows of the first view: what a step counts."""
        return len(self.views[0].windows)


@dataclass(frozen=True, slots=True)
class Views:
    """How views are drawn.

    Attributes:
        mix: what of a slate is shown together. count: N.
        widths: B, drawn anew for each group; each view its own where it varies width.
        rule: how a presented list is cut.
        surface: of every view.
        markers, skeletons: choices of the views that vary them.
        varies: what views 2, 3, ... vary beside the order, N - 1 names of `VARIES`;
            () = order alone (and companions when across). A window that stays has the
            same width and companions: `within` varies neither.
        first: "shuffled", or "canonical": the first view stands in canonical order.
    """

    mix: Mix = "across"
    count: int = 2
    widths: tuple[int, ...] = (10,)
    rule: str = "contiguous"
    surface: Surface = field(default_factory=Surface)
    markers: tuple[str, ...] = ()
    skeletons: tuple[str, ...] = ()
    varies: tuple[str, ...] = ()
    first: Literal["shuffled", "canonical"] = "shuffled"

    def __post_init__(self) -> None:
        if self.mix not in get_args(Mix):
            raise UsageError(f"mix is one of {get_args(Mix)}, got {self.mix!r}")
        require_count("count", self.count)
        if not self.widths:
            raise UsageError("widths needs at least one window width")
        for width in self.widths:
            require_count("a width", width)
        if self.rule not in RULES:
            raise UsageError(f"unknown window rule {self.rule!r}; known are {sorted(RULES)}")
        if self.first not in ("shuffled", "canonical"):
            raise UsageError(f"first is 'shuffled' or 'canonical', got {self.first!r}")
        self._check_varies()
        for surface in (self.surface, *self._surfaces()):
            check_surface(surface)

    def _check_varies(self) -> None:
        unknown = sorted(set(self.varies) - set(VARIES))
        if unknown or (self.varies and len(self.varies) != self.count - 1):
            raise UsageError(
                f"varies names one of {VARIES} for each of the {self.count - 1} views after the first, "
                f"got {self.varies}"
            )
        fixed = sorted({"companions", "width"} & set(self.varies))
        if self.mix == "within" and fixed:
            raise UsageError(
                f"views within fixed windows cannot vary {' and '.join(fixed)}; use mix = 'across'"
            )
        for name, choices, own in (
            ("marker", self.markers, self.surface.markers),
            ("skeleton", self.skeletons, self.surface.skeleton),
        ):
            if name in self.varies and not set(choices) - ({own} - {"random"}):
                raise UsageError(
                    f"a view that varies {name} needs {name}s to choose from, others than {own!r} of "
                    f"every view; got {choices}"
                )

    def _surfaces(self) -> list[Surface]:
        marked = [replace(self.surface, markers=name) for name in self.markers]
        return marked + [replace(self.surface, skeleton=name) for name in self.skeletons]


def draw(slate: Slate, views: Views, *, seed: int, epoch: int) -> list[Group]:
    """Return the groups of one slate in one epoch.

    A slate without candidates gives none. Windows of one candidate are kept: they
    train the score, and have no order to be consistent over.
    """
    if not len(slate):
        return []
    if views.mix == "across":
        rng = generator(seed, slate.id, "views", epoch)
        return [_group(slate, tuple(range(len(slate))), views, rng)]
    rng = generator(seed, slate.id, "width", epoch)
    width = int(rng.choice(views.widths))
    groups = []
    for index, window in enumerate(cut(len(slate), width, views.rule)):
        own = generator(seed, slate.id, f"views {epoch}", index)
        groups.append(_group(slate, window, replace(views, widths=(len(window),)), own))
    return groups


def _group(slate: Slate, members: Sequence[int], views: Views, rng: np.random.Generator) -> Group:
    width = int(rng.choice(views.widths))
    shown: list[View] = []
    for place in range(views.count):
        varied = views.varies[place - 1] if place and views.varies else None
        shown.append(_view(members, views, width, varied, shown[0] if shown else None, rng))
    return Group(slate, tuple(sorted(members)), tuple(shown))


def _view(
    members: Sequence[int], views: Views, width: int, varied: str | None,
    first: View | None, rng: np.random.Generator,
) -> View:  # fmt: skip
    """Draw one view; one that varies a channel keeps everything else of the first view."""
    surface = views.surface
    if varied == "marker":
        surface = replace(surface, markers=str(rng.choice(views.markers)))
        surface = replace(surface, marker_seed=int(rng.integers(2**31)))
    elif varied == "skeleton":
        surface = replace(surface, skeleton=str(rng.choice(views.skeletons)))
    if first is not None and varied in ("marker", "skeleton", "dropout"):
        return View(first.windows, surface)
    if first is not None and varied == "order":
        return View(tuple(_permuted(window, rng) for window in first.windows), surface)
    if first is not None and varied == "companions":
        return View(_other_companions(first.windows, rng), surface)
    if first is not None and varied == "width":
        width = int(rng.choice(views.widths))
    order = tuple(members) if first is None and views.first == "canonical" else _permuted(members, rng)
    windows = cut(len(order), width, views.rule)
    return View(tuple(tuple(order[i] for i in window) for window in windows), surface)


def _permuted(members: Sequence[int], rng: np.random.Generator) -> tuple[int, ...]:
    return tuple(members[i] for i in rng.permutation(len(members)))


def _other_companions(windows: Windows, rng: np.random.Generator) -> Windows:
    """Keep every slot and move candidates between the windows that have it."""
    moved = [list(window) for window in windows]
    for slot in range(max(len(window) for window in windows)):
        having = [index for index, window in enumerate(windows) if slot < len(window)]
        for index, other in zip(having, rng.permutation(having), strict=True):
            moved[index][slot] = windows[other][slot]
    return tuple(tuple(window) for window in moved)
