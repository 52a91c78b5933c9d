"""What every request passes before it is read: drain, key, id, time, log, count."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evenhand.serve import logs
from evenhand.serve.metrics import Metrics
from evenhand.serve.refusals import RefusalError, error_body

# Answered to anybody: probes, and the page, which holds nothing.
_OPEN = frozenset({"/health", "/"})
# Answered while the server drains.
_DRAINING = frozenset({"/health", "/metrics"})
OTHER = "other"


@dataclass(slots=True)
class State:
    """What changes while a server runs.

    Attributes:
        draining: accepted requests are finished, fresh ones refused.
        active: requests that have come and are not answered.
    """

    draining: bool = False
    active: int = 0


class Entry:
    """Wraps the app: refuses while draining and without the key, then logs and counts."""

    def __init__(
        self,
        app: ASGIApp,
        state: State,
        metrics: Metrics,
        key: str | None,
        paths: Callable[[], set[str]],
    ) -> None:
        """Wrap an app; `paths` tells its routes, the only paths that are named in logs."""
        self.app, self.state, self.metrics, self.paths = app, state, metrics, paths
        self._key = None if key is None else _digest(key.encode("ascii"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.monotonic()
        known = scope["path"] if scope["path"] in self.paths() else OTHER
        scope.setdefault("state", {}).update(
            {"id": str(uuid.uuid4()), "facts": {}, "deadline_from": began}
        )
        answered: dict[str, int] = {}
        self.state.active += 1
        try:
            await self._pass(scope, receive, _noting(send, answered, scope["state"]["id"]))
        finally:
            self.state.active -= 1
            self._note(scope, known, answered.get("status", 499), time.monotonic() - began)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if self.state.draining and path not in _DRAINING:
            await refuse(send, RefusalError(503, "this server is shutting down; ask another", retry=1))
        elif path not in _OPEN and not self._has_key(scope):
            await refuse(
                send, RefusalError(401, "a key is needed: send it as 'Authorization: Bearer KEY'")
            )
        else:
            await self.app(scope, receive, send)

    def _has_key(self, scope: Scope) -> bool:
        if self._key is None:
            return True
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        scheme, _, key = (given[0] if len(given) == 1 else b"").partition(b" ")
        # Digests are compared, so that neither content nor length of the key shows in the time.
        return hmac.compare_digest(_digest(key.strip()), self._key) and scheme.lower() == b"bearer"

    def _note(self, scope: Scope, path: str, status: int, seconds: float) -> None:
        self.metrics.requests.labels(path, str(status)).inc()
        self.metrics.seconds.labels(path).observe(seconds)
        logs.say(
            "request",
            id=scope["state"]["id"],
            method=scope["method"] if scope["method"] in ("GET", "POST", "HEAD") else OTHER,
            path=path,
            status=status,
            seconds=round(seconds, 4),
            **scope["state"]["facts"],
        )


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def _noting(send: Send, answered: dict[str, int], name: str) -> Send:
    async def noting(message: Message) -> None:
        if message["type"] == "http.response.start":
            answered["status"] = message["status"]
            message["headers"] = [*message.get("headers", ()), (b"x-request-id", name.encode("ascii"))]
        await send(message)

    return noting


async def refuse(send: Send, refusal: RefusalError) -> None:
    """Send a refusal as an answer."""
    body = to_json(error_body(refusal.status, refusal.message, refusal.field))
    headers = {"content-type": "application/json", "content-length": str(len(body)), **refusal.headers}
    raw = [(name.lower().encode("ascii"), value.encode("ascii")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refusal.status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


def to_json(value: Any) -> bytes:
    """Return strict ASCII JSON: any text a request held can be said, and no NaN."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")
