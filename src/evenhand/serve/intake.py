"""From a connection to a body, and from a job to its answer: limits, time, who went away."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

from starlette.requests import ClientDisconnect, Request

from evenhand.errors import EvenhandError, UsageError
from evenhand.serve.metrics import Metrics
from evenhand.serve.refusals import RefusalError
from evenhand.serve.settings import Limits
from evenhand.serve.spread import Told
from evenhand.serve.worker import ClosedError, FullError, Job, Worker

# Parameters that a refusal names.
_LISTED = 5
# A body that is half sent takes no place in the line: so many times its length are read at once,
# while together they hold no more bytes than a full line may.
_READERS = 4


class GoneError(Exception):
    """The client went away: nobody reads an answer."""


class Intake:
    """Reads bodies and waits for answers, within the limits.

    Attributes:
        limits: of the server. worker: who scores. metrics: where drops are counted.
    """

    def __init__(self, limits: Limits, worker: Worker, metrics: Metrics) -> None:
        """Take the limits of a server."""
        self.limits, self.worker, self.metrics = limits, worker, metrics
        self._reading = self._held = 0

    async def body(self, request: Request) -> bytes:
        """Return the body of a request.

        Raises:
            RefusalError: 408, 413, 415; 422 where the address holds parameters; 429 where too
                many are being read or wait.
            GoneError: the client went away.
        """
        _require_plain_json(request)
        said = request.headers.get("content-length", "")
        if said.isdecimal() and int(said[:20]) > self.limits.body:
            raise self._too_large()
        limits = self.limits
        room = self._reading < _READERS * limits.queue and self._held < limits.queue * limits.body
        if not room or self.worker.waiting >= limits.queue:
            raise queue_full()
        async with self._read(request):
            return await self._whole(request)

    @contextlib.asynccontextmanager
    async def _read(self, request: Request) -> AsyncIterator[None]:
        self._reading += 1
        try:
            async with asyncio.timeout(min(self.left(request), self.limits.reading)):
                yield
        except TimeoutError:
            raise RefusalError(
                408, "the body did not come in time; send it faster or in parts"
            ) from None
        except ClientDisconnect:
            raise GoneError from None
        finally:
            self._reading -= 1

    async def _whole(self, request: Request) -> bytes:
        data = bytearray()
        try:
            async for chunk in request.stream():
                data += chunk
                self._held += len(chunk)
                if len(data) > self.limits.body:
                    raise self._too_large()
        finally:
            self._held -= len(data)
        return bytes(data)

    def _too_large(self) -> RefusalError:
        return RefusalError(
            413, f"the body is over {self.limits.body} bytes; send fewer or shorter documents"
        )

    def left(self, request: Request) -> float:
        """Return the seconds that a request has left, at least 0."""
        came: float = request.scope["state"]["deadline_from"]
        return max(0.0, came + self.limits.timeout - time.monotonic())

    async def answer(self, request: Request, job: Job) -> list[Told]:
        """Wait until a job is scored, the time is up, or the client goes away.

        A job that nobody waits for leaves the line; one that is being scored goes on.

        Raises:
            RefusalError: 422, 429, 500, 502, 503, 504. GoneError: the client went away.
        """
        try:
            self.worker.submit(job)
        except FullError:
            raise queue_full() from None
        except ClosedError:
            raise RefusalError(503, "this server is shutting down; ask another", retry=1) from None
        scored = asyncio.wrap_future(job.done)
        gone = asyncio.ensure_future(_gone(request))
        try:
            await asyncio.wait(
                (scored, gone), timeout=self.left(request), return_when=asyncio.FIRST_COMPLETED
            )
            if scored.done():
                return _result(scored)
            reason = "disconnect" if gone.done() else "timeout"
            self.metrics.dropped.labels(reason).inc()
        finally:
            gone.cancel()
            scored.cancel()
            self.worker.drop(job)
        if gone.done() and not gone.cancelled():
            raise GoneError
        raise RefusalError(
            504, f"no answer within {self.limits.timeout:g} seconds; send fewer documents or try again"
        )


def _require_plain_json(request: Request) -> None:
    """Refuse what says that the body is not all there is to read, or not to be read as it comes."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RefusalError(415, "the body must be JSON; send it as 'Content-Type: application/json'")
    if request.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise RefusalError(
            415, "a compressed body is not read; send it as it is, without Content-Encoding"
        )
    if query := request.scope["query_string"]:
        names = [part.partition(b"=")[0].decode("latin-1") for part in query.split(b"&")[:_LISTED]]
        raise RefusalError(
            422, f"parameters in the address are not read: {', '.join(names)}; put them into the body"
        )


def queue_full() -> RefusalError:
    """Return the refusal of a request for which there is no room."""
    return RefusalError(429, "too many requests wait; try again in a moment", retry=1)


def _result(scored: asyncio.Future[list[Told]]) -> list[Told]:
    if scored.cancelled() or isinstance(scored.exception(), ClosedError):
        raise RefusalError(503, "this server is shutting down; ask another", retry=1)
    error = scored.exception()
    if isinstance(error, UsageError):
        raise RefusalError(422, str(error)) from error
    if isinstance(error, EvenhandError):
        # What a backend says may quote texts, and names machines of the server's own.
        raise RefusalError(502, "the scorer failed; the server's log says why") from error
    if error is not None:
        raise error
    return scored.result()


async def _gone(request: Request) -> None:
    """Return when the client has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        continue
