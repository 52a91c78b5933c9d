"""Many prompts in one stream without padding, for models on a GPU.

Prompts stand one after the other; attention is causal inside each and blind
between them, by torch's variable-length flash attention. What fills the stream up
to its fixed length is a segment of its own: a token in no segment would have no
row to attend to, and its NaN would spread.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from evenhand.errors import ScorerError, UsageError

_SHORTEST = 256


@dataclass(frozen=True, eq=False)
class Packed:
    """Where the prompts of a stream stand.

    Attributes:
        starts: (segments + 1,) int32, rising; the last is the length of the stream.
        longest: tokens of the longest segment allowed.
        position: (1, length) int64 position ids, from 0 in every segment.
    """

    starts: torch.Tensor
    longest: int
    position: torch.Tensor

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

        kind = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else value.dtype
        q, k, v = (each[0].transpose(0, 1).to(kind) for each in (query, key, value))
        groups = q.shape[1] // k.shape[1]
        if groups > 1:
            # Repeated, not grouped: the operator's own grouping is newer than the torch we accept.
            k, v = (each.repeat_interleave(groups, dim=1) for each in (k, v))
        left = -1 if sliding_window is None else sliding_window - 1
        output = varlen_attn(
            q, k, v, self.starts, self.starts, self.longest, self.longest,
            scale=scaling, window_size=(left, 0),
        )  # fmt: skip
        stream: torch.Tensor = torch.stack([output])  # type: ignore[list-item]
        return stream


def pack(
    prompts: Sequence[Sequence[int]],
    length: int,
    device: str | torch.device,
    *,
    segments: int | None = None,
) -> tuple[torch.Tensor, Packed]:
    """Return the (1, length) ids of a stream and its layout.

    Args:
        prompts: token ids of each prompt, none empty.
        length: of the stream; what the prompts leave is filled up.
        segments: of the layout, filled up with empty ones, so that its shape is the
            same for every stream; None = as many as there are.

    Raises:
        UsageError: the prompts do not fit, or one is empty.
    """
    lengths = [len(prompt) for prompt in prompts]
    left = length - sum(lengths)
    if left < 0 or not lengths or not all(lengths):
        raise UsageError(
            f"{len(prompts)} prompts of {sum(lengths)} tokens do not fit a stream of {length} tokens, "
            "or one is empty"
        )
    # A power of two, so that few values are compiled; the filler is cut to it as well.
    longest = max(_SHORTEST, 1 << (max(lengths) - 1).bit_length())
    lengths += [longest] * (left // longest) + ([left % longest] if left % longest else [])
    if segments is not None and len(lengths) > segments:
        raise UsageError(f"{len(lengths)} segments do not fit a layout of {segments}")
    starts = [0, *itertools.accumulate(lengths)]
    starts += [length] * ((segments or len(lengths)) + 1 - len(starts))
    ids = [*itertools.chain.from_iterable(prompts), *itertools.repeat(0, left)]
    position = torch.cat([torch.arange(count) for count in lengths])
    return torch.tensor([ids], dtype=torch.int64, device=device), Packed(
        torch.tensor(starts, dtype=torch.int32, device=device), longest, position[None].to(device)
    )


def can_pack(model: torch.nn.Module, dtype: torch.dtype) -> bool:
    """Return whether a model's prompts can be read as one stream: on CUDA, in half precision."""
    where = next(model.parameters()).device
    return where.type == "cuda" and dtype in (torch.bfloat16, torch.float16)


def require_causal(branches: Sequence[Sequence[int]]) -> None:
    """Refuse prompts with branches: a stream is causal inside each prompt.

    Raises:
        ScorerError: a prompt has branches.
    """
    if any(branch for row in branches for branch in row):
        raise ScorerError("prompts with branches cannot be packed; they are read through the mask")
