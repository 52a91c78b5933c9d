"""One connection to a service, used by one thread at a time: a request out, bytes back.

What comes back is bounded in time and in size, whatever the service does.
"""

from __future__ import annotations

import contextlib
import functools
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import httpx

from evenhand.errors import UsageError

T = TypeVar("T")
LONGEST_ANSWER = 256 * 2**20
LONGEST_PAUSE = 60.0
# What is asked for. Others, and several on top of each other, may unpack without bound.
_CODINGS = ("gzip", "deflate")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


class UnreadableError(Exception):
    """An answer came that is not read: too large, or packed as was not asked for."""


@dataclass(frozen=True, slots=True)
class Got:
    """An answer as it came: status, headers (looked up without case), unpacked content."""

    status: int
    headers: Mapping[str, str]
    data: bytes


class Line:
    """A client that keeps its connection open between requests."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        """Make ready; nothing is sent.

        Args:
            headers: sent with every request.

        Raises:
            UsageError: the environment names a proxy or certificates that cannot be used.
        """
        sent = {**headers, "Content-Type": "application/json", "Accept-Encoding": ", ".join(_CODINGS)}
        trusted = _usable("certificates", _CERTIFICATES, _certificates)
        self._client = _usable("proxies", _PROXIES, lambda: httpx.Client(verify=trusted, headers=sent))
        self._stream: Any = None
        self.close = self._client.close

    def post(self, url: str, content: bytes, timeout: float) -> Got:
        """Send content and return the answer.

        Args:
            timeout: seconds it may take, from the first byte sent to the last received.

        Raises:
            httpx.RequestError: there is no answer, or not in time.
            UnreadableError: it is longer than `LONGEST_ANSWER`, or packed as was not asked for.
        """
        deadline = time.monotonic() + timeout
        # The client's own timeout is of each wait: a service that drips would never meet it.
        watch = threading.Timer(timeout, self._cut)
        watch.daemon = True
        watch.start()
        try:
            got = self._exchange(url, content, timeout)
        except httpx.RequestError as error:
            if time.monotonic() < deadline or isinstance(error, httpx.ConnectError):
                raise
            raise httpx.ReadTimeout("the answer took too long") from None
        finally:
            watch.cancel()
        # Where an answer does not say its length, one that was cut looks like a whole one.
        if time.monotonic() >= deadline:
            raise httpx.ReadTimeout("the answer took too long")
        return got

    def _exchange(self, url: str, content: bytes, timeout: float) -> Got:
        seen = {"trace": self._trace}
        with self._client.stream(
            "POST", url, content=content, timeout=timeout, extensions=seen
        ) as response:
            coding = response.headers.get("Content-Encoding", "identity").strip().lower()
            if coding not in ("", "identity", *_CODINGS):
                raise UnreadableError(
                    f"the answer is packed as {coding!r:.40}, which was not asked for"
                )
            data = bytearray()
            for piece in response.iter_bytes():
                data += piece
                if len(data) > LONGEST_ANSWER:
                    raise UnreadableError(f"the answer is longer than {LONGEST_ANSWER >> 20} MiB")
        return Got(response.status_code, response.headers, bytes(data))

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Keep the connection that is opened, plain or with TLS laid over it."""
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._stream = info["return_value"]

    def _cut(self) -> None:
        """Break the connection, so that whoever waits for it is told."""
        opened = self._stream and self._stream.get_extra_info("socket")
        if opened:
            with contextlib.suppress(OSError):
                # Of the plain socket: that of TLS would first say goodbye.
                socket.socket.shutdown(opened, socket.SHUT_RDWR)


class Lines:
    """The lines of one service: whoever asks takes one, and gives it back."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        """Make the first, so that an unfit environment is told before anything is asked.

        Raises:
            UsageError: see `Line`.
        """
        self._headers = dict(headers)
        self._free, self._lock, self._closed = [Line(self._headers)], threading.Lock(), False

    @contextlib.contextmanager
    def one(self) -> Iterator[Line]:
        """Lend the line that was used last, else a new one."""
        with self._lock:
            line = self._free.pop() if self._free else None
        line = line or Line(self._headers)
        try:
            yield line
        finally:
            with self._lock:
                if not self._closed:
                    self._free.append(line)
            if self._closed:
                line.close()

    def close(self) -> None:
        """Close them; those lent are closed when they come back."""
        with self._lock:
            self._closed, found, self._free = True, self._free, []
        for line in found:
            line.close()


def named_pause(headers: Mapping[str, str], otherwise: float) -> float:
    """Return the seconds of Retry-After (a number or a date), at most `LONGEST_PAUSE`.

    Args:
        headers: of the answer.
        otherwise: seconds where it names none, or none that lies ahead.
    """
    named = headers.get("Retry-After", "").strip()
    try:
        seconds = float(named)
    except ValueError:
        try:
            date = parsedate_to_datetime(named)
        except (ValueError, OverflowError):
            return otherwise
        known = date if date.tzinfo else date.replace(tzinfo=UTC)
        seconds = (known - datetime.now(UTC)).total_seconds()
    return min(seconds, LONGEST_PAUSE) if seconds > 0 else otherwise


def untrusted(error: BaseException) -> str | None:
    """Return what is wrong with the certificate of a service, None where that is not the cause."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return cause.verify_message
        cause = cause.__cause__ or cause.__context__
    return None


@functools.cache
def _certificates() -> ssl.SSLContext:
    """Return the certificates to trust: read once, as that takes longer than many a request."""
    return httpx.create_ssl_context()


def _usable(what: str, variables: Sequence[str], make: Callable[[], T]) -> T:
    """Return what `make` makes of the environment; a UsageError names the variables that are set."""
    try:
        return make()
    except (ImportError, OSError, ValueError, httpx.InvalidURL) as error:
        found = [name for name in variables if os.environ.get(name) or os.environ.get(name.lower())]
        raise UsageError(
            f"the {what} that the environment names cannot be used ({type(error).__name__}); "
            f"look at {', '.join(found or variables)}"
        ) from None
