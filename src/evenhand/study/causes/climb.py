"""Hill climbing over orders: swaps of two positions, restarts, never an order twice."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from evenhand.present.orders import Order, reversed_order, shuffled

# Value and guide of each order; NaN where the order gave no evidence.
Evaluate = Callable[[Sequence[Order]], list[tuple[float, float]]]

# Swaps tried around one order before it counts as a local worst, per candidate.
_PATIENCE = 6
_TRIES = 50


class Climb:
    """A search for the order of highest value.

    It starts from the order that puts the worst candidate first, goes on from the
    reversed one and then from random ones. From each it tries swaps of two
    positions in random order, some at once, and moves to the best of them when it
    is worse for the scorer than where it stands; with no such swap it starts anew.
    """

    def __init__(
        self,
        evaluate: Evaluate,
        first: Order,
        start: tuple[Order, tuple[float, float]],
        rng: np.random.Generator,
        *,
        enough: float,
        batch: int = 8,
    ) -> None:
        """Prepare a search.

        Args:
            evaluate: scores some orders.
            first: where to begin.
            start: an order whose value is known, the canonical one.
            rng: of restarts and swaps.
            enough: a value that ends the search.
            batch: swaps scored at once.
        """
        self._evaluate, self._rng, self._batch, self._enough = evaluate, rng, batch, enough
        self._n = len(first)
        self._starts: Iterator[Order] = itertools.chain(
            [first, reversed_order(self._n)], self._random()
        )
        order, value = start
        self._seen: set[Order] = {order}
        self.best, self.best_order = _key(value), order
        self.tried = self.failed = 0

    def run(self, orders: int) -> None:
        """Try at most so many orders."""
        limit = self.tried + orders
        while self.tried < limit and self.best[0] < self._enough:
            begin = next(
                (o for o in itertools.islice(self._starts, _TRIES) if o not in self._seen), None
            )
            if begin is None:
                return
            self._ascend(begin, self._try([begin])[0], limit)

    def _ascend(self, order: Order, value: tuple[float, float], limit: int) -> None:
        swaps = self._swaps(order)
        while self.tried < limit and self.best[0] < self._enough:
            near = list(itertools.islice(swaps, min(self._batch, limit - self.tried)))
            if not near:
                return
            values = self._try(near)
            top = max(range(len(near)), key=values.__getitem__)
            if values[top] > value:
                order, value = near[top], values[top]
                swaps = self._swaps(order)

    def _try(self, orders: list[Order]) -> list[tuple[float, float]]:
        self.tried += len(orders)
        self._seen.update(orders)
        values = [_key(value) for value in self._evaluate(orders)]
        self.failed += sum(value[0] == -np.inf for value in values)
        for order, value in zip(orders, values, strict=True):
            if value > self.best:
                self.best, self.best_order = value, order
        return values

    def _swaps(self, order: Order) -> Iterator[Order]:
        """Yield unseen orders one swap away, at most `_PATIENCE` a candidate."""
        pairs = list(itertools.combinations(range(self._n), 2))
        for place in self._rng.permutation(len(pairs))[: _PATIENCE * self._n]:
            first, second = pairs[place]
            other = list(order)
            other[first], other[second] = other[second], other[first]
            if tuple(other) not in self._seen:
                yield tuple(other)

    def _random(self) -> Iterator[Order]:
        while True:
            yield shuffled(self._n, self._rng)


def _key(value: tuple[float, float]) -> tuple[float, float]:
    """Return a value that no evidence never beats."""
    return (-np.inf, -np.inf) if np.isnan(value[0]) else value
