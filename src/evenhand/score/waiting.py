"""Coroutines where the caller is synchronous."""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")
# Calls of a coroutine function that are open at a time.
OPEN_CALLS = 8
_LOCK = threading.Lock()


def is_async(f: object) -> bool:
    """Return whether f is a coroutine function, or an object with such a `__call__`."""
    if inspect.isclass(f):  # calling it makes an object
        return False
    called = getattr(f, "__call__", None)  # noqa: B004 - an object whose __call__ is async
    return inspect.iscoroutinefunction(f) or inspect.iscoroutinefunction(called)


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in an event loop of evenhand's own.

    The loop lives in a thread as long as the program: what a coroutine opens, such as
    the connections of an async client, still works in the next one. A loop that runs
    in the caller's thread is left alone. Whoever is interrupted while waiting cancels
    the coroutine.
    """
    with _LOCK:
        loop, thread = _loop(os.getpid())
    if threading.current_thread() is thread:  # a coroutine that scores by itself
        with ThreadPoolExecutor(max_workers=1) as pool:
            return pool.submit(asyncio.run, work).result()
    future = asyncio.run_coroutine_threadsafe(work, loop)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


@functools.cache
def _loop(process: int) -> tuple[asyncio.AbstractEventLoop, threading.Thread]:
    """Return the running loop of a process and its thread: a fork has no copy of a thread."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="evenhand-async", daemon=True)
    thread.start()
    return loop, thread
