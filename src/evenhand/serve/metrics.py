"""What Prometheus is told: requests, times, batches, the line, cost, what is missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

from evenhand.serve.spread import Told

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_COUNTS = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """The numbers of one server, in a registry of their own."""

    def __init__(self, waiting: Callable[[], int]) -> None:
        """Register all of them; `waiting` tells the length of the line."""
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.requests = Counter(
            "evenhand_requests",
            "Requests by path and status.",
            ("path", "status"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "evenhand_request_seconds", "Seconds from arrival to answer.", ("path",),
            buckets=_SECONDS, registry=self.registry,
        )  # fmt: skip
        self.batch = Histogram(
            "evenhand_batch_requests",
            "Requests of one scorer call.",
            buckets=_COUNTS,
            registry=self.registry,
        )
        self.line = Gauge(
            "evenhand_queue_requests", "Requests that wait for the scorer.", registry=self.registry
        )
        self.line.set_function(waiting)
        self.dropped = Counter(
            "evenhand_dropped_requests",
            "Requests given up: disconnect, timeout.",
            ("reason",),
            registry=self.registry,
        )
        self.documents = Counter("evenhand_documents", "Documents scored.", registry=self.registry)
        self.missing = Counter(
            "evenhand_missing_scores", "Documents without a score.", registry=self.registry
        )
        self.prompts = Counter("evenhand_prompts", "Prompts the scorer read.", registry=self.registry)
        self.tokens = Counter("evenhand_tokens", "Tokens the scorer read.", registry=self.registry)

    def scored(self, told: Sequence[Told]) -> None:
        """Count what a request cost and what it lacks."""
        for one in told:
            self.documents.inc(len(one.scored.scores))
            self.missing.inc(int(np.isnan(one.scored.scores).sum()))
            self.prompts.inc(one.scored.prompts)
            self.tokens.inc(one.scored.tokens)

    def text(self) -> bytes:
        """Return all numbers in the text format of Prometheus."""
        return generate_latest(self.registry)
