"""The prompts of a micro-batch as a few arrays, which cost little to hand to another process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from evenhand.score.prompt import Row, WindowPrompt, plain_rows

Whole = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """Rows of whole numbers of different lengths.

    Attributes:
        values: all rows, one after the other. sizes: (rows,) length of each.
    """

    values: Whole
    sizes: Whole

    @staticmethod
    def of(rows: Sequence[Sequence[int]]) -> Ragged:
        """Return rows, joined."""
        arrays = [np.asarray(row, dtype=np.int32) for row in rows]
        values = np.concatenate(arrays) if arrays else np.empty(0, dtype=np.int32)
        return Ragged(values, np.array([len(one) for one in arrays], dtype=np.int32))

    def rows(self) -> list[Row]:
        """Return the rows apart, as views."""
        ends = np.cumsum(self.sizes).tolist()
        return [Row(self.values[a:b]) for a, b in zip([0, *ends], ends, strict=False)]


@dataclass(frozen=True, slots=True, eq=False)
class Prompts(Sequence[WindowPrompt]):
    """Window prompts as arrays; one of them is made again where it is asked for.

    Attributes:
        ids, readouts, truncated, escaped: of each prompt, as `WindowPrompt` has them.
        branches, positions: of all tokens; None where no prompt has branches.
        grades: (prompts, G). query_escaped: (prompts,).
    """

    ids: Ragged
    readouts: Ragged
    truncated: Ragged
    escaped: Ragged
    grades: Whole
    query_escaped: Whole
    branches: Whole | None = None
    positions: Whole | None = None

    @staticmethod
    def of(prompts: Sequence[WindowPrompt]) -> Prompts:
        """Return prompts as arrays; those that are already stay as they are."""
        if isinstance(prompts, Prompts):
            return prompts
        branches = Ragged.of([prompt.branches for prompt in prompts]).values
        apart = bool(branches.any())
        return Prompts(
            Ragged.of([prompt.ids for prompt in prompts]),
            Ragged.of([prompt.readouts for prompt in prompts]),
            Ragged.of([prompt.truncated for prompt in prompts]),
            Ragged.of([prompt.escaped for prompt in prompts]),
            np.array([prompt.grades for prompt in prompts], dtype=np.int32),
            np.array([prompt.query_escaped for prompt in prompts], dtype=np.int32),
            branches if apart else None,
            Ragged.of([prompt.positions for prompt in prompts]).values if apart else None,
        )

    def __len__(self) -> int:
        return len(self.ids.sizes)

    @overload
    def __getitem__(self, place: int) -> WindowPrompt: ...
    @overload
    def __getitem__(self, place: slice) -> list[WindowPrompt]: ...
    def __getitem__(self, place: int | slice) -> Any:
        made = self._made()
        return made[place]

    def _made(self) -> list[WindowPrompt]:
        rows = (self.ids, self.readouts, self.truncated, self.escaped)
        return [
            WindowPrompt(
                ids, branches, positions, tuple(readouts), tuple(grades.tolist()),
                tuple(truncated), tuple(escaped), int(query),
            )
            for ids, readouts, truncated, escaped, grades, query, (branches, positions) in zip(
                *(one.rows() for one in rows), self.grades, self.query_escaped, self.seen(), strict=True
            )
        ]  # fmt: skip

    def __iter__(self) -> Any:
        return iter(self._made())

    def seen(self) -> list[tuple[Row, Row]]:
        """Return branches and positions of each prompt."""
        sizes = self.ids.sizes
        if self.branches is None or self.positions is None:
            return [plain_rows(int(size)) for size in sizes]
        marks, places = (Ragged(values, sizes).rows() for values in (self.branches, self.positions))
        return list(zip(marks, places, strict=True))
