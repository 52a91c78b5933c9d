"""Requests to a scoring service: many bodies in, one answer each, in the given order.

Requests run side by side, a bounded number at a time for each `Caller`, whichever
threads ask. Too many requests (429), server faults (5xx), timeouts and broken
connections are tried again after a doubling pause, or the pause that the server
names. What no further try can mend (no key, no right, no such place, nothing
listening there) stops all of them. A key is read from an environment variable by
name and stands in no name, hash, record, repr or message.
"""

from __future__ import annotations

import functools
import json
import math
import ssl
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from evenhand.errors import ScorerError, UsageError, require_count
from evenhand.score.address import checked_address, key_headers
from evenhand.score.budget import Budget, BudgetError, reported_tokens

__all__ = [
    "Answer",
    "BudgetError",
    "Caller",
    "HttpOptions",
    "checked_address",
    "key_headers",
    "reported_tokens",
]

LONGEST_PAUSE = 60.0
_LONGEST_EXCERPT = 200
# No answer can come whatever is asked: no key, no right, no such place or model.
_HOPELESS = (401, 403, 404)
_AGAIN = (408, 429)


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """How a service is asked; none of it may move a score.

    Attributes:
        concurrency: requests under way at a time.
        retries: further tries after the first.
        pause: seconds before the first of them; it doubles, up to a minute.
        timeout: seconds a try may take, from the request to the last byte.
        budget_prompts: most requests in all; None = no limit. See `budget.Budget`.
        budget_tokens: most tokens in all, as the service counts them.

    Raises:
        UsageError: a number is out of its range.
    """

    concurrency: int = 8
    retries: int = 4
    pause: float = 1.0
    timeout: float = 60.0
    budget_prompts: int | None = None
    budget_tokens: int | None = None

    def __post_init__(self) -> None:
        require_count("concurrency", self.concurrency)
        if isinstance(self.retries, bool) or not isinstance(self.retries, int) or self.retries < 0:
            raise UsageError(f"retries must be a whole number of at least 0, got {self.retries!r}")
        for name, lowest in (("pause", 0.0), ("timeout", math.ulp(0.0))):
            _require_seconds(name, getattr(self, name), lowest)
        for name in ("budget_prompts", "budget_tokens"):
            if getattr(self, name) is not None:
                require_count(name, getattr(self, name))


@dataclass(frozen=True, slots=True)
class Answer:
    """What one request came to.

    Attributes:
        body: the parsed JSON, or None. failure: why there is none, or None.
        tries: how often it was sent; 0 when it was stopped before.
    """

    body: Any | None
    failure: str | None = None
    tries: int = 1


class Caller:
    """Posts JSON to one service over connections that are kept open.

    One Caller may be used from many threads: the bound on concurrency and the
    budget hold for all of them together. `close()` gives its connections back; so
    does being forgotten.

    Attributes:
        base_url: what stands before every path. options: as given.
        budget: what has been spent of `budget_prompts` and `budget_tokens`.
    """

    def __init__(
        self,
        base_url: str,
        options: HttpOptions | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        tokens_of: Callable[[Any], int | None] = reported_tokens,
    ) -> None:
        """Name the service; nothing is sent.

        Args:
            base_url: http:// or https:// address without user, query and fragment.
            options: how it is asked.
            headers: sent with every request; see `key_headers`.
            tokens_of: tokens of a parsed answer, None when it tells none; only a
                token budget asks.

        Raises:
            UsageError: the address is none.
        """
        self.base_url = checked_address(base_url)
        self.options = options or HttpOptions()
        self.budget = Budget(self.options.budget_prompts, self.options.budget_tokens)
        self._tokens_of = tokens_of
        self._secrets = tuple((headers or {}).values())
        limit = self.options.concurrency
        self._client = httpx.Client(
            verify=_certificates(),
            timeout=self.options.timeout,
            headers={**(headers or {}), "Content-Type": "application/json"},
            limits=httpx.Limits(max_connections=limit, max_keepalive_connections=limit),
        )
        self._pool = ThreadPoolExecutor(limit, thread_name_prefix="evenhand-http")
        self.close = weakref.finalize(self, _release, self._pool, self._client)

    def __repr__(self) -> str:
        return f"Caller({self.base_url!r}, {self.options!r})"

    def post(self, path: str, bodies: Sequence[Mapping[str, Any]]) -> list[Answer]:
        """Send each body to base_url + path; one Answer each, in the given order.

        Raises:
            ScorerError: the service refuses the key, does not know the address or
                model, or cannot be reached at all.
            BudgetError: the budget does not reach for these bodies (nothing is sent
                when it is known before).
        """
        url = self.base_url + path
        self.budget.claim(len(bodies))
        stop = threading.Event()
        futures = [self._pool.submit(self._one, url, body, stop) for body in bodies]
        try:
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            for future in done:
                future.result()
            return [future.result() for future in futures]
        finally:
            stop.set()
            for future in futures:
                future.cancel()

    def _one(self, url: str, body: Mapping[str, Any], stop: threading.Event) -> Answer:
        failure, unreached, tries = "stopped: another request was refused", 0, 0
        content = json.dumps(body, allow_nan=False).encode()
        while tries <= self.options.retries and not stop.is_set():
            self.budget.check()
            pause = min(self.options.pause * 2.0**tries, LONGEST_PAUSE)
            tries += 1
            try:
                response, data = self._send(url, content)
            except httpx.RequestError as error:
                failure = f"no answer: {type(error).__name__}"
                unreached += isinstance(error, httpx.ConnectError)
            else:
                if response.status_code == 200:
                    return self._counted(Answer(*_parsed(response, data), tries))
                failure = self._refusal(response, data)
                if response.status_code not in _AGAIN and response.status_code < 500:
                    return Answer(None, failure, tries)
                pause = _named_pause(response, pause)
            if tries <= self.options.retries:
                stop.wait(pause)
        if tries and unreached == tries:
            raise ScorerError(
                f"nothing answers at {self.base_url} ({failure}, {tries} tries); start the service or "
                "check the address. Finished parts of a run are kept: repeat the command to go on."
            )
        return Answer(None, f"{failure}, {tries} tries", tries)

    def _send(self, url: str, content: bytes) -> tuple[httpx.Response, bytes]:
        deadline = time.monotonic() + self.options.timeout
        with self._client.stream("POST", url, content=content) as response:
            data = bytearray()
            # The client's timeout is of each read: a service that drips would never meet it.
            for piece in response.iter_bytes():
                data += piece
                if time.monotonic() > deadline:
                    raise httpx.ReadTimeout("the answer took too long")
        return response, bytes(data)

    def _refusal(self, response: httpx.Response, data: bytes) -> str:
        """Return what a status other than 200 means; raise when it means it for all."""
        status = response.status_code
        said = self._excerpt(data)
        if status in _HOPELESS:
            raise ScorerError(
                f"{response.url} answered {status}{said}; check the address, the model and the "
                "variable that holds the key"
            )
        if 300 <= status < 400:
            place = response.headers.get("Location", "nowhere")
            raise ScorerError(f"{response.url} answered {status}, moved to {place}; use that address")
        return f"the service answered {status}{said}"

    def _excerpt(self, data: bytes) -> str:
        text = " ".join(data.decode("utf-8", "replace").split())
        for secret in self._secrets:
            for part in (secret, secret.rpartition(" ")[2]):
                text = text.replace(part, "***") if part else text
        return f": {text[:_LONGEST_EXCERPT]}" if text else ""

    def _counted(self, answer: Answer) -> Answer:
        if self.options.budget_tokens is not None and answer.body is not None:
            self.budget.spend(self._tokens_of(answer.body))
        return answer


@functools.cache
def _certificates() -> ssl.SSLContext:
    """Return the certificates to trust: read once, as that takes longer than many a request."""
    return httpx.create_ssl_context()


def _require_seconds(name: str, value: object, lowest: float) -> None:
    fits = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if not fits or value < lowest:  # type: ignore[operator]
        raise UsageError(f"{name} must be {'above' if lowest else 'at least'} 0 seconds, got {value!r}")


def _parsed(response: httpx.Response, data: bytes) -> tuple[Any | None, str | None]:
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        kind = response.headers.get("Content-Type", "unknown type").partition(";")[0]
        return None, f"the answer is no JSON but {kind}"
    return (body, None) if body is not None else (None, "the answer is null")


def _named_pause(response: httpx.Response, otherwise: float) -> float:
    """Return the seconds of Retry-After (a number or a date), at most a minute."""
    named = response.headers.get("Retry-After", "").strip()
    try:
        seconds = float(named)
    except ValueError:
        try:
            date = parsedate_to_datetime(named)
        except ValueError:
            return otherwise
        known = date if date.tzinfo else date.replace(tzinfo=UTC)
        seconds = (known - datetime.now(UTC)).total_seconds()
    return otherwise if math.isnan(seconds) else min(max(0.0, seconds), LONGEST_PAUSE)


def _release(pool: ThreadPoolExecutor, client: httpx.Client) -> None:
    pool.shutdown(wait=False, cancel_futures=True)
    client.close()
