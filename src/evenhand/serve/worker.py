"""The thread that scores: requests wait in a bounded line, several share a scorer call.

A request is a `Job`. Jobs that ask for the same remedies go into one call of the scorer;
each slate has windows of its own, so no window holds documents of two requests. Where a
shared call fails, each of its jobs is asked alone, so that none fails for another.
Nothing that a scorer raises ends the thread.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future, InvalidStateError
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
        done: gets one Told a row. gone: set when nobody waits for it.
    """

    teller: Teller
    shown: tuple[Shown, ...]
    threshold: float | None
    done: Future[list[Told]] = field(default_factory=Future)
    gone: threading.Event = field(default_factory=threading.Event)

    @property
    def scores(self) -> int:
        """Most documents that it has scored, each counted once an order."""
        return self.teller.orders * sum(len(one.slate) for one in self.shown)


class Worker:
    """One thread that takes jobs from a bounded line until it is closed."""

    def __init__(
        self,
        queue: int,
        batch: int,
        on_batch: Callable[[Sequence[Job]], None] | None = None,
        *,
        scores: int | None = None,
    ) -> None:
        """Start the thread.

        Args:
            queue: most jobs that wait. batch: most jobs of one scorer call.
            on_batch: called in the thread with the jobs that are about to be scored.
            scores: most `Job.scores` of jobs that share a call; None = any number.
        """
        self.queue, self.batch, self.scores = queue, batch, scores
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
        job.gone.set()
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
        with self._changed:
            begun = list(self._begun)
        for job in begun:
            _fail(job, ClosedError())
        return not self._thread.is_alive()

    def _work(self) -> None:
        while self._next():
            try:
                if self._begun and self._on_batch is not None:
                    self._on_batch(self._begun)
                self._score(self._begun)
            except BaseException as error:
                for job in self._begun:
                    _fail(job, error)
            # Not kept alive until the next one comes: texts are somebody's.
            with self._changed:
                self._begun = []

    def _next(self) -> bool:
        """Begin the jobs of the next call, those first in the line; False when closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._line or self._closed)
            taken: list[Job] = []
            while self._line and self._fits(taken, self._line[0]):
                taken.append(self._line.popleft())
            self._begun = [job for job in taken if job.done.set_running_or_notify_cancel()]
        return bool(taken)

    def _fits(self, taken: Sequence[Job], one: Job) -> bool:
        if not taken:
            return True
        if len(taken) == self.batch or one.teller is not taken[0].teller:
            return False
        return self.scores is None or sum(job.scores for job in (*taken, one)) <= self.scores

    def _wanted(self, job: Job) -> bool:
        return not (self._closed or job.gone.is_set() or job.done.done())

    def _score(self, begun: Sequence[Job]) -> None:
        wanted = [job for job in begun if self._wanted(job)]
        if not wanted:
            return
        try:
            answers = iter(_tell(wanted))
        except BaseException as error:
            if len(wanted) == 1:
                _fail(wanted[0], error)
                return
            for job in wanted:
                if self._wanted(job):
                    self._score([job])
            return
        for job in wanted:
            # A call may outlast the server, which has answered for it by then.
            with contextlib.suppress(InvalidStateError):
                job.done.set_result([next(answers) for _ in job.shown])


def _fail(job: Job, error: BaseException) -> None:
    """Hand an error to whoever waits, in a form that a future can hold and no loop stops at."""
    if not isinstance(error, Exception) or isinstance(error, (StopIteration, CancelledError)):
        broken = ScorerError(f"ended by {type(error).__name__}")
        broken.__cause__ = error
        error = broken
    with contextlib.suppress(InvalidStateError):
        job.done.set_exception(error)


def _tell(jobs: Sequence[Job]) -> list[Told]:
    shown = [one for job in jobs for one in job.shown]
    return jobs[0].teller.tell(shown, [job.threshold for job in jobs for _ in job.shown])
