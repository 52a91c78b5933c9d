"""Requests to a scoring service: many bodies in, one answer each, in the given order.

Requests run side by side, a bounded number at a time for each `Caller`, whichever
threads ask. Too many requests (429), server faults (5xx), timeouts and broken
connections are tried again after a doubling pause, or the pause that the server
names. What no further try can mend (no key, no right, no such place, nothing
listening there) stops all of them. A key is read from an environment variable by
name and stands in no name, hash, record, repr or message.
"""

from __future__ import annotations

import json
import math
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, wait
from dataclasses import dataclass
from typing import Any

import httpx

from evenhand.errors import ScorerError, UsageError, require_count
from evenhand.score.services.address import checked_address
from evenhand.score.services.budget import Budget, BudgetError, reported_tokens
from evenhand.score.services.line import (
    LONGEST_PAUSE,
    Got,
    Lines,
    UnreadableError,
    named_pause,
    untrusted,
)
from evenhand.score.services.patience import Patience
from evenhand.score.services.workers import Workers

__all__ = ["Answer", "BudgetError", "Caller", "HttpOptions"]

# Waiting for longer is waiting for ever; threads cannot be told to.
LONGEST_TIME = 10**6
_LONGEST_EXCERPT = 200
# Bytes of a refusal that are looked at.
_READ = 4096
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
        status: of the answer to the last try; None when there was none.
    """

    body: Any | None
    failure: str | None = None
    tries: int = 1
    status: int | None = None


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
        self._tokens_of, self._patience = tokens_of, Patience()
        self._headers = dict(headers or {})
        self._lines = Lines(self._headers)
        self._workers = Workers(self.options.concurrency, "evenhand-http")
        self.close = weakref.finalize(self, _release, self._workers, self._lines)

    def __repr__(self) -> str:
        return f"Caller({self.base_url!r}, {self.options!r})"

    def post(self, path: str, bodies: Sequence[Mapping[str, Any]]) -> list[Answer]:
        """Send each body to base_url + path; one Answer each, in the given order.

        Raises:
            ScorerError: the service refuses the key, does not know the address or
                model, cannot be reached at all, or has answered none of the first requests.
            BudgetError: the budget does not reach for these bodies (nothing is sent
                when it is known before).
        """
        url = self.base_url + path
        self.budget.claim(len(bodies))
        stop = threading.Event()
        futures = [self._workers.submit(self._one, url, body, stop) for body in bodies]
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
        try:
            answer = self._tried(url, body, stop)
            final = answer.status is not None and not _again(answer.status)
            if final or answer.body is not None:
                self._patience.answered()
            elif answer.tries > self.options.retries:
                self._patience.exhausted(url, answer.failure or "")
            return answer
        except BaseException:
            # Here, so that not one more is sent until the one who waits is told.
            stop.set()
            raise

    def _tried(self, url: str, body: Mapping[str, Any], stop: threading.Event) -> Answer:
        failure, unreached, tries = "stopped: another request was refused", 0, 0
        status: int | None = None
        content = json.dumps(body, allow_nan=False).encode()
        while tries <= self.options.retries and not stop.is_set():
            self.budget.check()
            pause = min(self.options.pause * 2.0**tries, LONGEST_PAUSE)
            tries += 1
            try:
                with self._lines.one() as line:
                    got = line.post(url, content, self.options.timeout)
            except UnreadableError as error:
                return Answer(None, str(error), tries)
            except httpx.RequestError as error:
                failure, status = self._no_answer(error), None
                unreached += isinstance(error, httpx.ConnectError)
            else:
                status = got.status
                if 200 <= got.status < 300:
                    return self._counted(Answer(*_parsed(got), tries, status))
                failure = self._refusal(url, got)
                if not _again(got.status):
                    return Answer(None, failure, tries, status)
                pause = named_pause(got.headers, pause)
            if tries <= self.options.retries:
                self._patience.again(status)
                stop.wait(pause)
        if unreached == tries > self.options.retries:
            raise ScorerError(
                f"nothing answers at {self.base_url} ({failure}, {tries} tries); start the service or "
                "check the address. Finished parts of a run are kept: repeat the command to go on."
            )
        return Answer(None, f"{failure}, {tries} tries", tries, status)

    def _no_answer(self, error: httpx.RequestError) -> str:
        """Return why a request came to nothing; raise when all others will."""
        fault = untrusted(error)
        if fault is not None:
            raise ScorerError(
                f"the certificate of {self.base_url} is not trusted ({fault}). Name the file of those "
                "that you trust in the environment variable SSL_CERT_FILE, or check the address"
            )
        told = isinstance(error, (httpx.ConnectError, httpx.ProxyError))
        return f"no answer: {type(error).__name__}" + (f", {self._cut(str(error))}" if told else "")

    def _refusal(self, url: str, got: Got) -> str:
        """Return what a status other than success means; raise when it means it for all."""
        text = self._cut(got.data[:_READ].decode("utf-8", "replace"))
        said = f": {text}" if text else ""
        if got.status in _HOPELESS:
            raise ScorerError(
                f"{url} answered {got.status}{said}; check the address, the model and the "
                "variable that holds the key"
            )
        if 300 <= got.status < 400:
            place = self._cut(got.headers.get("Location", "nowhere"))
            raise ScorerError(f"{url} answered {got.status}, moved to {place}; use that address")
        return f"the service answered {got.status}{said}"

    def _cut(self, text: str) -> str:
        """Return a foreign text as one short line, without the key and signs that print badly."""
        text = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
        for secret in self._headers.values():
            for part in (secret, secret.rpartition(" ")[2]):
                text = text.replace(part, "***") if part else text
        return text[:_LONGEST_EXCERPT]

    def _counted(self, answer: Answer) -> Answer:
        if self.options.budget_tokens is not None and answer.body is not None:
            self.budget.spend(self._tokens_of(answer.body))
        return answer


def _again(status: int) -> bool:
    """Return whether a further try may be answered otherwise."""
    return status in _AGAIN or status >= 500


def _require_seconds(name: str, value: object, lowest: float) -> None:
    # Compared, not converted: an integer may be too large for a float.
    fits = isinstance(value, (int, float)) and not isinstance(value, bool) and value < LONGEST_TIME
    if not fits or not value >= lowest:  # type: ignore[operator]
        bound = "above" if lowest else "at least"
        raise UsageError(f"{name} must be {bound} 0 and under {LONGEST_TIME} seconds, got {value!r}")


def _parsed(got: Got) -> tuple[Any | None, str | None]:
    try:
        body = json.loads(got.data)
    except (ValueError, RecursionError):
        kind = got.headers.get("Content-Type", "unknown type").partition(";")[0]
        return None, f"the answer is no JSON but {kind:.40}"
    return (body, None) if body is not None else (None, "the answer is null")


def _release(workers: Workers, lines: Lines) -> None:
    workers.close()
    lines.close()
