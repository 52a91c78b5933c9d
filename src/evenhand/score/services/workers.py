"""Threads that never keep a program alive: an interrupted run ends at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

_Job = tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]


class Workers:
    """Runs calls side by side in at most `most` threads, started as they are needed.

    Unlike those of `concurrent.futures`, they are not waited for when the program
    ends: one that hangs in a request would else hold it up until its timeout.
    """

    def __init__(self, most: int, name: str) -> None:
        self._most, self._name = most, name
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._lock, self._started, self._closed = threading.Lock(), 0, False

    def submit(self, call: Callable[..., Any], *given: Any) -> Future[Any]:
        """Return the future of a call, made as soon as a thread is free.

        Raises:
            RuntimeError: they are closed.
        """
        future: Future[Any] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError("closed: nothing more can be asked")
            self._jobs.put((future, call, given))
            if self._started < self._most:
                self._started += 1
                name = f"{self._name}-{self._started}"
                threading.Thread(target=_work, args=(self._jobs,), name=name, daemon=True).start()
        return future

    def close(self) -> None:
        """Take no more calls; threads end after what was submitted before. Waits for nothing."""
        with self._lock:
            self._closed = True
            self._jobs.put(None)


def _work(jobs: SimpleQueue[_Job | None]) -> None:
    """Do jobs until told to end; holds on to nothing while it waits for the next."""
    while (job := jobs.get()) is not None:
        future, call, given = job
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(call(*given))
            except BaseException as error:
                future.set_exception(error)
        del job, future, call, given
    jobs.put(None)  # for the next thread
