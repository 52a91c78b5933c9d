"""A stream, a few items at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in lists of `size`, the last one as long as is left; nothing of nothing."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
