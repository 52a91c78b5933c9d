"""Prompts with branches as one stream without padding, for models on a GPU.

Each shared part and each branch is a segment of queries. The keys of a branch are
those of its shared part and its own, put one after the other; attention is causal
from the end of both, so that a token sees the whole shared part and what stands
before it in its branch.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from evenhand.models.packing import Packed


@dataclass(frozen=True, eq=False)
class PackedBranches(Packed):
    """Where shared parts and branches stand in a stream, and which keys they meet.

    Attributes:
        keys: (all keys,) token of the stream at each key, segment by segment.
        key_starts: (segments + 1,) int32, rising. longest_keys: of one segment.
    """

    keys: torch.Tensor
    key_starts: torch.Tensor
    longest_keys: int

    def attend(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        *,
        scaling: float | None,
        sliding_window: int | None,
    ) -> torch.Tensor:
        """Return (1, length, heads, dim) attention of (1, heads, length, dim) tensors."""
        from torch.nn.attention.varlen import varlen_attn

        # Rotary position ids may leave queries and keys in float32.
        q, k, v = (each[0].transpose(0, 1).to(value.dtype) for each in (query, key, value))
        k, v = (each.index_select(0, self.keys) for each in (k, v))
        groups = q.shape[1] // k.shape[1]
        if groups > 1:
            k, v = (each.repeat_interleave(groups, dim=1) for each in (k, v))
        left = -1 if sliding_window is None else sliding_window - 1
        output = varlen_attn(
            q, k, v, self.starts, self.key_starts, self.longest, self.longest_keys,
            scale=scaling, window_size=(left, 0),
        )  # fmt: skip
        stream: torch.Tensor = torch.stack([output])  # type: ignore[list-item]
        return stream


def in_order(branches: Sequence[int]) -> bool:
    """Return whether a shared part comes first and then one branch after the other."""
    return all(before <= after for before, after in itertools.pairwise(branches))


def pack_branches(
    ids: Sequence[Sequence[int]],
    branches: Sequence[Sequence[int]],
    positions: Sequence[Sequence[int]],
    device: str | torch.device,
) -> tuple[torch.Tensor, PackedBranches]:
    """Return the (1, length) ids of a stream of prompts and its layout.

    Args:
        ids, branches, positions: per prompt, of each token; none empty, branches in order.
        device: where the result is wanted.
    """
    lengths: list[int] = []
    keys: list[torch.Tensor] = []
    start = 0
    for row in branches:
        shared = torch.empty(0, dtype=torch.int64)
        for mark, run in itertools.groupby(row):
            size = sum(1 for _ in run)
            own = torch.arange(start, start + size)
            keys.append(torch.cat([shared, own]))
            lengths.append(size)
            shared = own if mark == 0 else shared
            start += size
    key_lengths = list(map(len, keys))
    stream = torch.tensor([list(itertools.chain.from_iterable(ids))], device=device)
    position = torch.tensor([list(itertools.chain.from_iterable(positions))], device=device)
    return stream, PackedBranches(
        _starts(lengths, device), max(lengths), position,
        torch.cat(keys).to(device), _starts(key_lengths, device), max(key_lengths),
    )  # fmt: skip


def _starts(lengths: Sequence[int], device: str | torch.device) -> torch.Tensor:
    return torch.tensor([0, *itertools.accumulate(lengths)], dtype=torch.int32, device=device)
