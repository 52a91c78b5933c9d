"""The thread that scores: requests wait in a bounded line, several share a scorer call.

A request is a `Job`. Jobs that ask for the same remedies go into one call of the scorer;
each slate has windows of its own, so no window holds documents of two requests. Where a
shared call fails, each of its jobs is asked alone, so that none fails for another.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field

from evenhand.errors import ScorerError
from evenhand.serve.spread import Teller, Told
from evenhand.types import Shown


class FullError(Exception):
    """The line is full."""


class ClosedError(Exception):
    """The worker takes nothing any more."""


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """What one request asks the scorer.

    Attributes:
        teller: who is asked. shown: the rows. threshold: that decides.
        done: gets one Told a row. queued: when it was handed over.
    """

    teller: Teller
    shown: tuple[Shown, ...]
    threshold: float | None
    done: Future[list[Told]] = field(default_factory=Future)
    queued: float = field(default_factory=time.monotonic)


class Worker:
    """One thread that takes jobs from a bounded line until it is closed."""

    def __init__(
        self, queue: int, batch: int, on_batch: Callable[[Sequence[Job]], None] | None = None
    ) -> None:
        """Start the thread.

        Args:
            queue: most jobs that wait. batch: most jobs of one scorer call.
            on_batch: called in the thread with the jobs that are about to be scored.
        """
        self.queue, self.batch = queue, batch
        self._on_batch = on_batch
        self._line: deque[Job] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._begun: list[Job] = []
        self._thread = threading.Thread(target=self._work, name="evenhand scorer", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many jobs wait."""
        return len(self._line)

    @property
    def alive(self) -> bool:
        """Whether the thread still takes jobs."""
        return self._thread.is_alive() and not self._closed

    def submit(self, job: Job) -> None:
        """Put a job at the end of the line.

        Raises:
            FullError: the line is full. ClosedError: the worker was closed.
        """
        with self._changed:
            if not self.alive:
                raise ClosedError
            if len(self._line) >= self.queue:
                raise FullError
            self._line.append(job)
            self._changed.notify()

    def drop(self, job: Job) -> bool:
        """Take a job out of the line; one that is being scored goes on, its answer is nobody's.

        Returns:
            Whether it had not been begun.
        """
        with self._changed, contextlib.suppress(ValueError):
            self._line.remove(job)
        return job.done.cancel()

    def close(self, timeout: float = 5.0) -> bool:
        """Cancel what waits and end the thread after the call that is under way.

        Jobs of a call that is not over by then fail with ClosedError: nothing can stop a
        scorer, but nobody needs to wait for it.

        Returns:
            Whether the thread has ended within the timeout.
        """
        with self._changed:
            self._closed = True
            left, self._line = list(self._line), deque()
            self._changed.notify()
        for job in left:
            job.done.cancel()
        self._thread.join(timeout)
        for job in self._begun:
            with contextlib.suppress(InvalidStateError):
                job.done.set_exception(ClosedError())
        return not self._thread.is_alive()

    def _work(self) -> None:
        while jobs := self._next():
            self._begun = [job for job in jobs if job.done.set_running_or_notify_cancel()]
            try:
                if self._on_batch is not None:
                    self._on_batch(jobs)
                _score(self._begun)
            except InvalidStateError:
                # The call outlasted the server, which has answered for it.
                pass
            except BaseException as error:
                # Whatever a scorer raises, those that wait are told and the next are served.
                for job in self._begun:
                    with contextlib.suppress(InvalidStateError):
                        job.done.set_exception(ScorerError(f"ended by {type(error).__name__}"))
            # Not kept alive until the next one comes: texts are somebody's.
            self._begun = []
            del jobs

    def _next(self) -> list[Job]:
        """Return the jobs of the next call, those first in the line; none when closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._line or self._closed)
            taken: list[Job] = []
            while self._line and len(taken) < self.batch:
                if taken and self._line[0].teller is not taken[0].teller:
                    break
                taken.append(self._line.popleft())
        return taken


def _score(begun: Sequence[Job]) -> None:
    if not begun:
        return
    try:
        answers = iter(_tell(begun))
    except Exception as error:
        if len(begun) == 1:
            begun[0].done.set_exception(error)
            return
        for job in begun:
            _alone(job)
        return
    for job in begun:
        job.done.set_result([next(answers) for _ in job.shown])


def _alone(job: Job) -> None:
    try:
        job.done.set_result(_tell([job]))
    except Exception as error:
        job.done.set_exception(error)


def _tell(jobs: Sequence[Job]) -> list[Told]:
    shown = [one for job in jobs for one in job.shown]
    return jobs[0].teller.tell(shown, [job.threshold for job in jobs for _ in job.shown])
