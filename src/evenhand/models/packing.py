"""Many prompts in one stream without padding, for models on a GPU.

The stream is a row of segments of queries: a whole prompt, or, where a prompt has
branches, its shared part and each branch. Attention is causal from the end of a
segment's keys: its own tokens, and for a branch the shared part before them. So a
token sees the whole shared part and what stands before it in its branch, by
torch's variable-length flash attention, which exists on CUDA in half precision
alone. Everywhere else `blocks` attends with masks over filled-up rows.

A training stream has a fixed length, so that one shape is compiled. What fills it
up is a segment of its own: a token in no segment would have no row to attend to,
and its NaN would spread.
"""

from __future__ import annotations

import inspect
import itertools
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from evenhand.errors import ScorerError, UsageError

_SHORTEST = 256
# Flash attention takes no older GPU.
_CAPABILITY = (8, 0)

NO_VARLEN = "no variable-length attention with sliding windows"

_log = logging.getLogger(__name__)

Varlen = Callable[..., torch.Tensor]


def varlen() -> Varlen | None:
    """Return torch's variable-length attention, or None where this torch has none with windows."""
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:
        return None
    known = "window_size" in inspect.signature(varlen_attn).parameters
    found: Varlen = varlen_attn  # type: ignore[assignment]
    return found if known else None


_varlen = varlen()


@dataclass(frozen=True, eq=False)
class Keys:
    """The keys that the segments of a stream meet, where they are more than their own tokens.

    Attributes:
        index: (all keys,) token of the stream at each key, segment by segment.
        starts: (segments + 1,) int32, rising. longest: keys of the longest segment.
    """

    index: torch.Tensor
    starts: torch.Tensor
    longest: int


@dataclass(frozen=True, eq=False)
class Packed:
    """Where the segments of a stream stand.

    Attributes:
        starts: (segments + 1,) int32, rising; the last is the length of the stream.
        longest: tokens of the longest segment allowed.
        position: (1, length) int64 position ids.
        keys: what the segments meet; None = each its own tokens.
    """

    starts: torch.Tensor
    longest: int
    position: torch.Tensor
    keys: Keys | None = None

    def attend(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        *,
        scaling: float | None,
        sliding_window: int | None,
    ) -> torch.Tensor:
        """Return (1, length, heads, dim) attention of (1, heads, length, dim) tensors.

        Raises:
            ScorerError: this torch has no variable-length attention; see `can_pack`.
        """
        # Rotary position ids may leave queries and keys in float32.
        kind = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else value.dtype
        q, k, v = (each[0].transpose(0, 1).to(kind) for each in (query, key, value))
        starts, longest = self.starts, self.longest
        if self.keys is not None:
            k, v = (each.index_select(0, self.keys.index) for each in (k, v))
            starts, longest = self.keys.starts, self.keys.longest
        groups = q.shape[1] // k.shape[1]
        if groups > 1:
            # Repeated, not grouped: the operator's own grouping is newer than the torch we accept.
            k, v = (each.repeat_interleave(groups, dim=1) for each in (k, v))
        left = -1 if sliding_window is None else sliding_window - 1
        if _varlen is None:
            raise ScorerError(f"torch {torch.__version__} has {NO_VARLEN}; update torch")
        output = _varlen(
            q, k, v, self.starts, starts, self.longest, longest, scale=scaling, window_size=(left, 0)
        )
        return output[None]


def pack(
    prompts: Sequence[Sequence[int]],
    length: int,
    device: str | torch.device,
    *,
    segments: int | None = None,
) -> tuple[torch.Tensor, Packed]:
    """Return the (1, length) ids of a stream of fixed length and its layout.

    Args:
        prompts: token ids of each prompt, none empty, without branches.
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


def stream(
    ids: Sequence[Sequence[int]],
    branches: Sequence[Sequence[int]],
    positions: Sequence[Sequence[int]],
    device: str | torch.device,
) -> tuple[torch.Tensor, Packed]:
    """Return the (1, length) ids of a stream as long as its prompts, and its layout.

    Args:
        ids, branches, positions: per prompt, of each token; none empty, branches `in_order`.
        device: where the result is wanted.
    """
    sizes: list[int] = []
    keys: list[torch.Tensor] = []
    start, branched = 0, False
    for row in branches:
        shared = torch.empty(0, dtype=torch.int64)
        for mark, run in itertools.groupby(row):
            size = len(list(run))
            own = torch.arange(start, start + size)
            keys.append(torch.cat([shared, own]))
            sizes.append(size)
            branched = branched or mark > 0
            shared = own if mark == 0 else shared
            start += size
    tokens = torch.tensor([list(itertools.chain.from_iterable(ids))], device=device)
    position = torch.tensor([list(itertools.chain.from_iterable(positions))], device=device)
    counts = list(map(len, keys))
    met = Keys(torch.cat(keys).to(device), _starts(counts, device), max(counts)) if branched else None
    return tokens, Packed(_starts(sizes, device), max(sizes), position, met)


def in_order(branches: Sequence[int]) -> bool:
    """Return whether a shared part comes first and then one branch after the other."""
    return not any(branches) or all(a <= b for a, b in itertools.pairwise(branches))


def can_pack(model: torch.nn.Module, dtype: torch.dtype) -> bool:
    """Return whether a model's prompts may be read as one stream.

    They may on a CUDA GPU with flash attention, in half precision, by a torch that
    has variable-length attention with sliding windows. Elsewhere masks take its place.
    """
    where = next(model.parameters()).device
    if where.type != "cuda" or dtype not in (torch.bfloat16, torch.float16):
        return False
    if _varlen is None:
        _log.warning(
            "torch %s has %s: prompts are padded, which is slower", torch.__version__, NO_VARLEN
        )
        return False
    return torch.cuda.get_device_capability(where) >= _CAPABILITY


def _starts(lengths: Sequence[int], device: str | torch.device) -> torch.Tensor:
    return torch.tensor([0, *itertools.accumulate(lengths)], dtype=torch.int32, device=device)
