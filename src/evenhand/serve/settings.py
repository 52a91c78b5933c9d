"""What a server is told before its model is loaded."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from evenhand.errors import UsageError, require_count
from evenhand.measure.checks import finite
from evenhand.present.windows import RULES
from evenhand.remedy import parse_all
from evenhand.remedy.adaptive import Adaptive

LONGEST_WAIT = 86_400.0


@dataclass(frozen=True, slots=True)
class Limits:
    """What a server takes, and for how long; everything above is refused by its own status.

    Attributes:
        queue: most requests that wait for the scorer; bodies of four times as many are read.
        batch: most requests of one scorer call.
        timeout: seconds from a request's arrival to its answer.
        reading: seconds that its body has to come.
        drain: seconds that accepted requests have to finish after SIGTERM.
        body: most bytes of a request.
        documents: most documents of a request.
        characters: most characters of the query, and of each document.
        orders: most inner orders that a request's own remedy may cost, and most orders
            of `/evenhand/orders`.
        scores: most documents of a request times the orders that it asks for, and most
            of the requests that share a scorer call.

    Raises:
        UsageError: a limit is no whole number of at least 1, or no time.
    """

    queue: int = 64
    batch: int = 8
    timeout: float = 60.0
    drain: float = 30.0
    body: int = 4 * 2**20
    documents: int = 1000
    characters: int = 100_000
    orders: int = 20
    reading: float = 10.0
    scores: int = 5000

    def __post_init__(self) -> None:
        for name in ("queue", "batch", "body", "documents", "characters", "orders", "scores"):
            require_count(name, getattr(self, name))
        for name in ("timeout", "drain", "reading"):
            _require_seconds(name, getattr(self, name))


@dataclass(frozen=True, slots=True)
class Serving:
    """How a scorer is served.

    Attributes:
        remedies: texts as `evenhand.remedy.parse` takes them, innermost first; what a
            request gets that names none.
        threshold: documents at or above it are kept; None = the remedy's own, if any.
        width: B; None = the scorer's own. rule: how windows are cut.
        names: further names under which clients may ask for the model.
        key: what clients must send as a bearer token; None = anybody is answered.
        uncertain_at: flip probability from which a result is called uncertain.
        log_texts: also log query and documents.
        limits: see `Limits`.

    Raises:
        UsageError: a value is out of its range or a remedy unknown.
    """

    remedies: tuple[str, ...] = ()
    threshold: float | None = None
    width: int | None = None
    rule: str = "contiguous"
    names: tuple[str, ...] = ()
    key: str | None = field(default=None, repr=False)
    uncertain_at: float = 0.1
    log_texts: bool = False
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        settled = settled_threshold(self.remedies)
        if self.width is not None:
            require_count("width", self.width)
        if self.threshold is not None:
            object.__setattr__(self, "threshold", finite("threshold", self.threshold))
            require_same_cut(self.remedies, self.threshold)
        elif settled is not None:
            object.__setattr__(self, "threshold", settled)
        if self.rule not in RULES:
            raise UsageError(f"unknown window rule {self.rule!r}; known are {sorted(RULES)}")
        if not 0 < self.uncertain_at < 1:
            raise UsageError(f"uncertain_at must lie between 0 and 1, got {self.uncertain_at!r}")
        if self.key is not None:
            _require_key("the key", self.key)
        if any(not name for name in self.names):
            raise UsageError("a name of the model is empty")


def key_from(variable: str | None) -> str | None:
    """Return the key that an environment variable holds; None when none is named.

    Raises:
        UsageError: the variable is not set, empty, or holds what no header can carry.
    """
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise UsageError(f"the environment variable {variable!r} holds no key; set it, or name no key")
    _require_key(f"the key in {variable!r}", key)
    return key


def _require_key(what: str, key: str) -> None:
    if not key:
        raise UsageError(f"{what} is empty; leave it out to answer anybody")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError(f"{what} must be printable ASCII without spaces")


def settled_threshold(remedies: Sequence[str], otherwise: float | None = None) -> float | None:
    """Return the threshold that an adaptive remedy spends its orders on; None = it picks the best.

    Args:
        remedies: texts of remedies. otherwise: what is returned where none is adaptive.

    Raises:
        UsageError: a remedy is unknown or named twice.
    """
    rules = [one.rule for one in parse_all(list(remedies)) if isinstance(one, Adaptive)]
    return rules[-1].threshold if rules else otherwise


def require_same_cut(remedies: Sequence[str], threshold: float) -> None:
    """Refuse a threshold beside an adaptive remedy that settles another decision.

    Raises:
        UsageError: names both.
    """
    for one in parse_all(list(remedies)):
        if isinstance(one, Adaptive) and one.rule.threshold != threshold:
            raise UsageError(
                f"threshold {threshold:g} is not the decision that {one.name} spends its orders on; "
                f"leave the threshold out, or name the remedy adaptive:threshold={threshold:g}"
            )


def _require_seconds(name: str, value: object) -> None:
    fits = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not fits or not 0 < value <= LONGEST_WAIT:  # type: ignore[operator]
        raise UsageError(f"{name} must be above 0 and at most {LONGEST_WAIT:g} seconds, got {value!r}")
