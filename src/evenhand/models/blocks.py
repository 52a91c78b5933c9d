"""Attention part by part, for prompts whose branches see a shared part and themselves.

One mask over a prompt costs its length squared, though a branch sees little of it.
Here the shared part of each prompt is attended to on its own, and its branches are
packed into blocks about as long as the shared part: a block's queries meet the
keys of the shared part and of the block. The cost grows with the number of
branches, not with its square, and what a token sees is what the mask says.

The stream of `packing` says the same without padding, but its kernel runs on CUDA in
half precision alone and knows no branches out of order; this runs everywhere and can
be trained through.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from evenhand.types import IntArray

Attend = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor | None], torch.Tensor]


@dataclass(frozen=True, eq=False)
class Places:
    """Rows of tokens, each row filled up to a common length.

    Attributes:
        index: (rows, width) int64 tokens, counted through the batch.
        known: (rows, width) bool, False where a row is filled up.
    """

    index: torch.Tensor
    known: torch.Tensor

    def of(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return (rows, heads, width, dim) of tokens (all, heads, dim)."""
        taken = tokens.index_select(0, self.index.flatten())
        return taken.reshape(*self.index.shape, *tokens.shape[1:]).transpose(1, 2)

    def to(self, device: str | torch.device) -> Places:
        """Return the same places on a device."""
        return Places(self.index.to(device), self.known.to(device))


@dataclass(frozen=True, eq=False)
class Blocks:
    """Where the parts of a batch's prompts stand among its tokens, counted row by row.

    Attributes:
        shared: the shared part of each prompt. own: the tokens of each block.
        keys: the tokens that each block's queries meet: a shared part, then the block.
        back: (all,) where in the outputs, those of all shared parts and then of all
            blocks, the output of each token stands; padding takes any.
        branch, position: (all,) of each token, as in `attention.Layout`.
    """

    shared: Places
    own: Places
    keys: Places
    back: torch.Tensor
    branch: torch.Tensor
    position: torch.Tensor
    _masks: dict[int | None, tuple[torch.Tensor | None, torch.Tensor]] = field(default_factory=dict)

    def attend(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        sliding_window: int | None,
        attend: Attend,
    ) -> torch.Tensor:
        """Return (batch, length, heads, dim) attention of (batch, heads, length, dim) inputs.

        Args:
            sliding_window: a token sees positions less than this far behind.
            attend: queries, keys, values and a mask to (batch, length, heads, dim);
                causal without a mask.
        """
        queries, keys, values = (each.transpose(1, 2).flatten(0, 1) for each in (query, key, value))
        shared_mask, own_mask = self.masks(sliding_window)
        outputs = [
            attend(asker.of(queries), seen.of(keys), seen.of(values), mask).flatten(0, 1)
            for asker, seen, mask in (
                (self.shared, self.shared, shared_mask),
                (self.own, self.keys, own_mask),
            )
        ]
        output = torch.cat(outputs).index_select(0, self.back)
        return output.reshape(query.shape[0], query.shape[2], *output.shape[1:])

    def masks(self, sliding_window: int | None) -> tuple[torch.Tensor | None, torch.Tensor]:
        """Return the bool masks of the shared parts, None if plain causal, and of the blocks."""
        if sliding_window not in self._masks:
            plain = sliding_window is None or sliding_window >= self.shared.index.shape[1]
            self._masks[sliding_window] = (
                None if plain else self._mask(self.shared, self.shared, sliding_window),
                self._mask(self.own, self.keys, sliding_window),
            )
        return self._masks[sliding_window]

    def _mask(self, askers: Places, keys: Places, sliding_window: int | None) -> torch.Tensor:
        asker, seen = askers.index[:, :, None], keys.index[:, None, :]
        visible = (self.branch[seen] == 0) | (self.branch[seen] == self.branch[asker])
        visible &= (seen <= asker) & keys.known[:, None, :]
        if sliding_window is not None:
            visible &= self.position[seen] > self.position[asker] - sliding_window
        # What fills a row up is thrown away; it sees all, so that no row of the mask is empty.
        return (visible | ~askers.known[:, :, None])[:, None]


def blocks(branch: torch.Tensor, position: torch.Tensor, device: str | torch.device) -> Blocks | None:
    """Return the parts of a batch of prompts, or None where no prompt has branches.

    Args:
        branch, position: (batch, length) int64 on the CPU, as in `attention.Layout`.
        device: where the result is wanted.
    """
    shared_rows: list[IntArray] = []
    own_rows: list[IntArray] = []
    of: list[int] = []
    for row, marks in enumerate(branch.numpy()):
        parts = {mark: places + row * len(marks) for mark, places in _parts(marks)}
        shared_rows.append(parts.get(0, np.empty(0, dtype=np.int64)))
        found = _packed([part for mark, part in parts.items() if mark > 0], len(shared_rows[-1]))
        own_rows += found
        of += [row] * len(found)
    if not own_rows:
        return None
    shared, own = _filled(shared_rows), _filled(own_rows)
    keys = Places(
        torch.cat([shared.index[of], own.index], dim=1), torch.cat([shared.known[of], own.known], dim=1)
    )
    places = torch.cat([shared.index.flatten(), own.index.flatten()])
    known = torch.cat([shared.known.flatten(), own.known.flatten()])
    back = torch.zeros(branch.numel(), dtype=torch.int64)
    back[places[known]] = torch.arange(len(places))[known]
    return Blocks(
        shared.to(device), own.to(device), keys.to(device), back.to(device),
        branch.flatten().to(device), position.flatten().to(device),
    )  # fmt: skip


def _parts(marks: IntArray) -> list[tuple[int, IntArray]]:
    """Return each branch of a row, 0 and padding among them, and where its tokens stand."""
    order = np.argsort(marks, kind="stable")
    ends = np.flatnonzero(np.diff(marks[order])) + 1
    return [(int(marks[part[0]]), part) for part in np.split(order, ends) if len(part)]


def _packed(branches: Sequence[IntArray], shared: int) -> list[IntArray]:
    """Return blocks of whole branches, none longer than the shared part or the longest branch.

    Longer blocks would meet more foreign keys, shorter ones copy the shared part oftener.
    """
    most = max([shared, *map(len, branches)])
    found: list[list[IntArray]] = []
    room = 0
    for branch in branches:
        if len(branch) > room:
            found.append([])
            room = most
        found[-1].append(branch)
        room -= len(branch)
    return [np.concatenate(parts) for parts in found]


def _filled(rows: Sequence[IntArray]) -> Places:
    """Return the rows as places, at least one wide and filled up with the first token."""
    width = max(1, *map(len, rows))
    index = np.zeros((len(rows), width), dtype=np.int64)
    known = np.zeros((len(rows), width), dtype=np.bool_)
    for place, row in enumerate(rows):
        index[place, : len(row)] = row
        known[place, : len(row)] = True
    return Places(torch.from_numpy(index), torch.from_numpy(known))
