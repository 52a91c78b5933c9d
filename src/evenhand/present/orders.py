"""Orders of n candidates: tuples of canonical indices, by presented position."""

from __future__ import annotations

import numpy as np

from evenhand.errors import UsageError

Order = tuple[int, ...]


def _require_index(value: int, n: int, what: str) -> None:
    if not 0 <= value < n:
        raise UsageError(f"{what} must be in 0..{n - 1}, got {value}")


def canonical(n: int) -> Order:
    """Return the first-stage order."""
    return tuple(range(n))


def shuffled(n: int, rng: np.random.Generator) -> Order:
    """Return a uniformly drawn order."""
    return tuple(int(i) for i in rng.permutation(n))


def reversed_order(n: int) -> Order:
    """Return the first-stage order from last to first."""
    return tuple(range(n - 1, -1, -1))


def rotated(n: int, by: int) -> Order:
    """Return the order that starts with candidate `by` and wraps around."""
    return tuple((i + by) % n for i in range(n))


def swapped(n: int, first: int, second: int) -> Order:
    """Return the first-stage order with two candidates exchanged.

    Raises:
        UsageError: an index is outside 0..n-1.
    """
    _require_index(first, n, "candidate to swap")
    _require_index(second, n, "candidate to swap")
    order = list(range(n))
    order[first], order[second] = second, first
    return tuple(order)


def placed(n: int, candidate: int, position: int) -> Order:
    """Return the first-stage order with one candidate moved to a position.

    The others keep their order.

    Raises:
        UsageError: an index is outside 0..n-1.
    """
    _require_index(candidate, n, "candidate to place")
    _require_index(position, n, "position")
    others = [i for i in range(n) if i != candidate]
    return (*others[:position], candidate, *others[position:])
