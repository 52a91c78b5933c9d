"""Coroutines where the caller is synchronous."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def is_async(f: object) -> bool:
    """Return whether f is a coroutine function, or an object with such a `__call__`."""
    if inspect.isclass(f):  # calling it makes an object
        return False
    called = getattr(f, "__call__", None)  # noqa: B004 - an object whose __call__ is async
    return inspect.iscoroutinefunction(f) or inspect.iscoroutinefunction(called)


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, also from inside a running event loop (in a thread then)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(asyncio.run, work).result()
