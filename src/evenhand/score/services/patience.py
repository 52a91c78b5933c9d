"""What is told while requests are tried again, and when trying again is given up for all."""

from __future__ import annotations

import logging
import threading
import time

from evenhand.errors import ScorerError

log = logging.getLogger(__name__)

# Seconds between two lines; requests without any answer after which none is expected.
EVERY = 10.0
HOPELESS_AFTER = 5


class Patience:
    """Counts further tries over all threads of a `Caller`.

    Attributes:
        tried_again: further tries so far.
    """

    def __init__(self) -> None:
        self.tried_again = 0
        self._last: float | None = None
        self._answered, self._exhausted = False, 0
        self._lock = threading.Lock()

    def again(self, status: int | None) -> None:
        """Count a further try; tell now and then how many there were, and why the last.

        Args:
            status: of the answer that was no use; None = there was no answer.
        """
        with self._lock:
            self.tried_again += 1
            now, count = time.monotonic(), self.tried_again
            if self._last is not None and now - self._last < EVERY:
                return
            self._last = now
        why = "no answer" if status is None else str(status)
        log.info("retrying: %s (%d %s)", why, count, "request" if count == 1 else "requests")

    def answered(self) -> None:
        """Note that the service can answer."""
        self._answered = True

    def exhausted(self, url: str, failure: str) -> None:
        """Count a request whose tries are used up.

        Raises:
            ScorerError: so were those of the first `HOPELESS_AFTER`, and none was answered.
        """
        with self._lock:
            self._exhausted += 1
            if self._answered or self._exhausted < HOPELESS_AFTER:
                return
        raise ScorerError(
            f"the first {HOPELESS_AFTER} requests to {url} used up their tries ({failure}), and none "
            "was answered. Wait, ask less at a time (concurrency), or allow more (retries, pause, "
            "timeout). Finished parts of a run are kept: repeat the command to go on."
        )
