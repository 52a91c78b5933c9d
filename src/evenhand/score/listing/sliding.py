"""Sliding windows: one ranking of a list that is longer than a prompt.

The last `size` candidates are ranked first; then the window moves `step` towards the
front, and so on, so that the best of each window are judged again beside those before
them. One pass, as in RankGPT. It finds the top of the list: a candidate can climb from
the end to the front, but falls by at most one window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from evenhand.errors import UsageError, require_count
from evenhand.score.listing.ranking import Ranking
from evenhand.types import FloatArray

Repair = Literal["end"] | None


def window_starts(n: int, size: int = 20, step: int = 10) -> tuple[int, ...]:
    """Return where each window begins, in the order they are asked: from the end to the front.

    Every place is covered and the last window begins at 0: the final move is shorter
    where the steps do not fit. One window when n <= size; none when there is nothing to rank (n < 2).

    Raises:
        UsageError: size is under 2, step under 1, or step over size, which leaves gaps.
    """
    check_windows(size, step)
    if n < 2:
        return ()
    return (*range(n - size, 0, -step), 0)


def check_windows(size: int, step: int) -> None:
    """Refuse windows that leave candidates out.

    Raises:
        UsageError: size is under 2, step is under 1, or step is over size.
    """
    require_count("size", size)
    require_count("step", step)
    if size == 1:
        raise UsageError("size must be at least 2: in windows of one nothing is ranked")
    if step > size:
        raise UsageError(
            f"step {step} is over the size {size}: candidates between windows are not seen"
        )


@dataclass(slots=True)
class Sliding:
    """One list on its way: ask for `window`, give its ranking to `take`, until `done`.

    The ranking of a window sets its candidates in the order of the answer. Those the
    answer does not name go behind them in the order they were shown in, all tied: they
    must stand somewhere for the next window, and a later window that shows them again
    may still name them. What counts is the last window that showed a candidate.

    Attributes:
        order: members as they stand now, best first; begins as presented.
        size, step: of the windows.
        unnamed: member -> the last window (by number) that showed and did not name it.
        rankings: those taken so far.
    """

    order: list[int]
    size: int = 20
    step: int = 10
    unnamed: dict[int, int] = field(default_factory=dict)
    rankings: list[Ranking] = field(default_factory=list)
    _starts: tuple[int, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        self.order = list(self.order)
        self._starts = window_starts(len(self.order), self.size, self.step)

    @property
    def done(self) -> bool:
        """Whether every window has its ranking."""
        return len(self.rankings) == len(self._starts)

    @property
    def window(self) -> tuple[int, ...]:
        """The members of the next window, in slot order; () when done."""
        if self.done:
            return ()
        start = self._starts[len(self.rankings)]
        return tuple(self.order[start : start + self.size])

    def take(self, ranking: Ranking) -> None:
        """Set the members of the next window in the order of its ranking.

        Raises:
            UsageError: there is no window left, or the ranking is of another width.
        """
        window = self.window
        if self.done or ranking.n != len(window):
            raise UsageError(f"a ranking of {ranking.n} for a window of {len(window)} candidates")
        start, number = self._starts[len(self.rankings)], len(self.rankings)
        placed = [window[slot] for slot in (*ranking.order, *ranking.missing)]
        self.order[start : start + len(window)] = placed
        for slot in ranking.order:
            self.unnamed.pop(window[slot], None)
        for slot in ranking.missing:
            self.unnamed[window[slot]] = number
        self.rankings.append(ranking)

    def scores(self, members: Sequence[int], repair: Repair = None) -> FloatArray:
        """Return a score for each of `members`: (n - place) / n, 1 for the first, 1/n for the last.

        Args:
            members: which, in the wanted order.
            repair: None: NaN for those that the last window to show them did not name.
                "end": these are tied at the end of that window: the mean over the
                places that they hold.
        """
        n = len(self.order)
        found = {member: (n - place) / n for place, member in enumerate(self.order)}
        for number in set(self.unnamed.values()):
            tied = [member for member, last in self.unnamed.items() if last == number]
            mean = sum(found[member] for member in tied) / len(tied) if repair else np.nan
            found.update(dict.fromkeys(tied, mean))
        return np.array([found[member] for member in members], dtype=np.float64)
