"""What a prompt is made of: token ids, answer lines and windows ready to be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import InputError, ScorerError
from evenhand.present.surface import Segment

GRADES = ("0", "1", "2", "3")
# Rows up to 4096 tokens share one array.
_SHARED_BITS = 12


class Tokens(Protocol):
    """Text to ids, in the ways a prompt needs."""

    name: str

    def literal(self, text: str) -> tuple[int, ...]:
        """Return ids of trusted text; the template's special tokens count as such."""
        ...

    def text(self, text: str) -> tuple[tuple[int, ...], int]:
        """Return ids of foreign text, none of them special, and the places escaped."""
        ...

    def texts(self, texts: Sequence[str]) -> list[tuple[tuple[int, ...], int]]:
        """Return the same of many texts; they may be tokenised at once."""
        ...


class Row(Sequence[int]):
    """Whole numbers as a tuple has them, held as an array: a value a token of a prompt.

    Made, joined and handed to another process by blocks of memory, which takes a
    hundredth of the time of a tuple. Equal to a tuple or list of the same numbers, and
    hashed as that tuple is.

    Args:
        values: (length,) int32, not copied and not to be written to.
    """

    __slots__ = ("array",)

    def __init__(self, values: NDArray[np.int32]) -> None:
        self.array = values

    def __len__(self) -> int:
        return len(self.array)

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[int, ...]: ...
    def __getitem__(self, place: int | slice) -> int | tuple[int, ...]:
        found = self.array[place].tolist()
        return tuple(found) if isinstance(place, slice) else int(found)

    def __iter__(self) -> Iterator[int]:
        return iter(self.array.tolist())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Row):
            return np.array_equal(self.array, other.array)
        if isinstance(other, (tuple, list)):
            return len(self) == len(other) and self.array.tolist() == list(other)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def count(self, value: int) -> int:
        """Return how often a number stands in it."""
        return int(np.count_nonzero(self.array == value))

    def __repr__(self) -> str:
        return f"Row({self.array.tolist()})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.array, dtype=dtype, copy=copy)


def joined(parts: Sequence[NDArray[np.int32]]) -> Row:
    """Return arrays one after the other as a row."""
    return Row(np.concatenate(parts))


def row_of(values: Sequence[int]) -> NDArray[np.int32]:
    """Return whole numbers as an array."""
    return np.array(values, dtype=np.int32)


def plain_rows(length: int) -> tuple[Row, Row]:
    """Return branches and positions of a prompt without branches: zeros, and 0, 1, 2, ...

    Both are views of arrays that many prompts share.
    """
    zeros, rising = _shared_rows(1 << max(_SHARED_BITS, (length - 1).bit_length()))
    return Row(zeros[:length]), Row(rising[:length])


@lru_cache(maxsize=32)
def _shared_rows(length: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    arrays = np.zeros(length, dtype=np.int32), np.arange(length, dtype=np.int32)
    for one in arrays:
        one.flags.writeable = False
    return arrays


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """An answer line in ids: those up to the readout, the dummy grade, the rest.

    Attributes:
        head: ids before the grade; the readout stands on the last of them.
        grades: id of each grade, lowest first. tail: ids after the grade.
    """

    head: tuple[int, ...]
    grades: tuple[int, ...]
    tail: tuple[int, ...]


def answer_line(tokens: Tokens, line: str, grades: Sequence[str] = GRADES) -> AnswerLine:
    """Resolve the grades of an answer line in their context.

    Args:
        line: text with {grade} where the grade stands.

    Raises:
        ScorerError: a grade is not one token of its own in this line.
    """
    variants = [tokens.literal(line.replace("{grade}", grade)) for grade in grades]
    first = variants[0]
    if any(len(ids) != len(first) for ids in variants):
        lengths = {grade: len(ids) for grade, ids in zip(grades, variants, strict=True)}
        raise ScorerError(
            f"grades take different numbers of tokens in {tokens.name} (ids of the line {line!r}: "
            f"{lengths}); the readout needs one token per grade. Choose other grades or skeleton."
        )
    differing = [place for place, ids in enumerate(zip(*variants, strict=True)) if len(set(ids)) > 1]
    if len(differing) != 1 or len({ids[differing[0]] for ids in variants}) != len(grades):
        raise ScorerError(
            f"the grades {list(grades)} are not one distinct token each in {tokens.name} "
            f"(line {line!r}); the readout needs that. Choose other grades or another skeleton."
        )
    place = differing[0]
    if place == 0:
        raise ScorerError(
            f"the line {line!r} starts with the grade; the readout needs a token before it"
        )
    return AnswerLine(first[:place], tuple(ids[place] for ids in variants), first[place + 1 :])


@dataclass(frozen=True, slots=True)
class WindowPrompt:
    """One window, ready to be read; what its branches share stands before all of them.

    Attributes:
        ids: token ids, a tuple or a `Row`. branches, positions: per token (see models.attention).
        readouts: index in ids of the readout of each slot.
        grades: ids of the grades, lowest first.
        truncated, escaped: tokens cut and places escaped, by slot.
        query_escaped: places escaped in the query, counted once however often it stands.
    """

    ids: Sequence[int]
    branches: Sequence[int]
    positions: Sequence[int]
    readouts: tuple[int, ...]
    grades: tuple[int, ...]
    truncated: tuple[int, ...]
    escaped: tuple[int, ...] = ()
    query_escaped: int = 0


def common_cap(lengths: Sequence[int], room: int) -> int:
    """Return the largest cap c >= 0 with sum(min(length, c)) <= room.

    Returns:
        The longest length when everything fits; -1 when room is negative.
    """
    if room < 0:
        return -1
    longest = max(lengths, default=0)
    if sum(lengths) <= room:
        return longest
    low, high = 0, longest
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(length, middle) for length in lengths) <= room:
            low = middle
        else:
            high = middle - 1
    return low


def too_long(slate: str, fixed: int, context: int, remedy: str) -> InputError:
    """Return the error of a slate whose query and form leave its candidates no room.

    Args:
        slate: its id. fixed: tokens of what is never cut. context: most tokens of a prompt.
        remedy: what would help beside a longer context.
    """
    return InputError(
        f"slate {slate!r}: query and answer form alone take {fixed} tokens of a context of "
        f"{context}; nothing of them is ever cut. Use {remedy} or a longer context."
    )


@dataclass(frozen=True, slots=True)
class Part:
    """A segment of a window's form in ids; those of texts are not known before there is a slate.

    Attributes:
        segment: what it was. ids: its token ids; none of a text or an answer line.
        line: the answer line, of a "slot" segment.
    """

    segment: Segment
    ids: tuple[int, ...] = ()
    line: AnswerLine | None = None
