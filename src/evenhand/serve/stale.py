"""Connections that hold a place: half a request, or an answer that is not taken."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class Stale:
    """Closes connections that stay in one stage for too long.

    A stage is waiting for a request, or being in one: until it is read, answered and the
    answer is taken. A client that sends one byte of a header at a time stays in the first.
    """

    def __init__(self, seconds: float) -> None:
        """Let a connection stay in one stage for so many seconds."""
        self.seconds = seconds
        self._known: dict[Any, tuple[Any, bool, float]] = {}

    def close(self, connections: Iterable[Any], now: float) -> int:
        """Close what has not moved on, and return how many were closed.

        Args:
            connections: uvicorn's protocols: `cycle` is the request they are in, or the last.
            now: of a clock that only rises.
        """
        before, self._known = self._known, {}
        closed = 0
        for one in list(connections):
            cycle = one.cycle
            done = cycle is None or cycle.response_complete
            since = now
            if one in before:
                had, was_done, came = before[one]
                since = came if had is cycle and was_done == done else now
            self._known[one] = (cycle, done, since)
            if now - since > self.seconds:
                one.transport.abort()
                closed += 1
        return closed
