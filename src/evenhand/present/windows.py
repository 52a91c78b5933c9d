"""Windows: how a presented order is cut into the candidates of single prompts.

A rule maps (n, B) to windows of presented positions. With W = ceil(n / B):

- ``contiguous``: B positions after B positions; the last window takes what is
  left (7 at B=4: 4 and 3; 7 at B=3: 3, 3 and 1).
- ``interleaved``: window w takes positions w, w + W, w + 2W, ... (round-robin),
  so sizes differ by one at most (7 at B=4: 4 and 3; 7 at B=3: 3, 2 and 2).
"""

from __future__ import annotations

from collections.abc import Callable

from evenhand.errors import UsageError

Windows = tuple[tuple[int, ...], ...]


def contiguous(n: int, width: int) -> Windows:
    """Return windows of `width` neighbouring positions; the last may be shorter."""
    return tuple(tuple(range(start, min(start + width, n))) for start in range(0, n, width))


def interleaved(n: int, width: int) -> Windows:
    """Return ceil(n / width) windows dealt round-robin."""
    count = -(-n // width)
    return tuple(tuple(range(start, n, count)) for start in range(count))


RULES: dict[str, Callable[[int, int], Windows]] = {
    "contiguous": contiguous,
    "interleaved": interleaved,
}


def cut(n: int, width: int | None, rule: str = "contiguous") -> Windows:
    """Return windows of presented positions.

    Args:
        n: number of candidates.
        width: most candidates of a window (B); None puts all into one.
        rule: a key of `RULES`.

    Returns:
        Tuples of positions, every position 0..n-1 once; empty when n is 0.

    Raises:
        UsageError: the width is under 1 or the rule unknown.
    """
    if rule not in RULES:
        raise UsageError(f"unknown window rule {rule!r}; known are {sorted(RULES)}")
    if width is not None and width < 1:
        raise UsageError(f"a window needs a width of at least 1, got {width}")
    if n == 0:
        return ()
    return RULES[rule](n, n if width is None else width)
