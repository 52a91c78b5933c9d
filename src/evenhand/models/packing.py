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
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from evenhand.errors import ScorerError, UsageError
from evenhand.types import IntArray

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
# Grouped heads by the operator itself, which not every torch that is accepted has.
_GROUPS = _varlen is not None and "enable_gqa" in inspect.signature(_varlen).parameters


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
        places: (readouts,) int64 tokens of the stream to read at, as they were given.
    """

    starts: torch.Tensor
    longest: int
    position: torch.Tensor
    keys: Keys | None = None
    places: torch.Tensor | None = None

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
        # Going back through repeated heads is what training is measured and tested with.
        grouped = _GROUPS and groups > 1 and not torch.is_grad_enabled()
        if groups > 1 and not grouped:
            k, v = (each.repeat_interleave(groups, dim=1) for each in (k, v))
        left = -1 if sliding_window is None else sliding_window - 1
        if _varlen is None:
            raise ScorerError(f"torch {torch.__version__} has {NO_VARLEN}; update torch")
        more = {"enable_gqa": True} if grouped else {}
        output = _varlen(
            q, k, v, self.starts, starts, self.longest, longest, scale=scaling,
            window_size=(left, 0), **more,
        )  # fmt: skip
        return output[None]


def pack(
    prompts: Sequence[Sequence[int]],
    length: int,
    device: str | torch.device,
    *,
    segments: int | None = None,
    places: Sequence[Sequence[int]] = (),
) -> tuple[torch.Tensor, Packed]:
    """Return the (1, length) ids of a stream of fixed length and its layout.

    Args:
        prompts: token ids of each prompt, none empty, without branches.
        length: of the stream; what the prompts leave is filled up.
        segments: of the layout, filled up with empty ones, so that its shape is the
            same for every stream; None = as many as there are.
        places: tokens of each prompt to read at.

    Raises:
        UsageError: the prompts do not fit, or one is empty.
    """
    lengths = [len(prompt) for prompt in prompts]
    total = sum(lengths)
    left = length - total
    if left < 0 or not lengths or not all(lengths):
        raise UsageError(
            f"{len(prompts)} prompts of {total} tokens do not fit a stream of {length} tokens, "
            "or one is empty"
        )
    at = in_stream(places, lengths)
    # A power of two, so that few values are compiled; the filler is cut to it as well.
    longest = max(_SHORTEST, 1 << (max(lengths) - 1).bit_length())
    lengths += [longest] * (left // longest) + ([left % longest] if left % longest else [])
    if segments is not None and len(lengths) > segments:
        raise UsageError(f"{len(lengths)} segments do not fit a layout of {segments}")
    empty = [0] * ((segments or len(lengths)) - len(lengths))
    ids = np.concatenate([*map(_array, prompts), np.zeros(left, dtype=np.int32)])
    position = _runs(np.zeros(len(lengths), dtype=np.int64), np.array(lengths))
    starts, tokens, where, read = carried([_starts([*lengths, *empty]), ids, position, at], device)
    return tokens[None].long(), Packed(starts.clone(), longest, where[None].long(), None, read.long())


def stream(
    ids: Sequence[Sequence[int]],
    branches: Sequence[Sequence[int]],
    positions: Sequence[Sequence[int]],
    device: str | torch.device,
    *,
    places: Sequence[Sequence[int]] = (),
) -> tuple[torch.Tensor, Packed]:
    """Return the (1, length) ids of a stream as long as its prompts, and its layout.

    Args:
        ids, branches, positions: per prompt, of each token; none empty, branches `in_order`.
        device: where the result is wanted.
        places: tokens of each prompt to read at.
    """
    lengths = np.array([len(prompt) for prompt in ids])
    marks = np.concatenate([*map(_array, branches)])
    begins, first = _segments(marks, lengths)
    sizes = np.diff([*begins, len(marks)])
    # What a branch meets beside itself: the first segment of its prompt, if that is shared.
    shared = np.where((marks[begins[first]] == 0) & (first != np.arange(len(first))), sizes[first], 0)
    branched = bool((marks > 0).any())
    counts = shared + sizes
    index = np.empty(0, dtype=np.int64)
    if branched:
        runs = np.stack([begins[first], begins], axis=1).ravel()
        index = _runs(runs, np.stack([shared, sizes], axis=1).ravel())
    parts = [
        _starts(sizes), _starts(counts), index, np.concatenate([*map(_array, ids)]),
        np.concatenate([*map(_array, positions)]), in_stream(places, lengths),
    ]  # fmt: skip
    starts, ends, keys, tokens, where, read = carried(parts, device)
    met = Keys(keys.long(), ends.clone(), int(counts.max())) if branched else None
    layout = Packed(starts.clone(), int(sizes.max()), where[None].long(), met, read.long())
    return tokens[None].long(), layout


def carried(parts: Sequence[NDArray[Any]], device: str | torch.device) -> list[torch.Tensor]:
    """Return int32 tensors of arrays of whole numbers, on a device, in one copy.

    On a GPU nothing waits for it: the copy is in line before what reads it. They are parts
    of one tensor; what a compiled block is given must be copied out, or its guards would
    see a tensor of another size each time.
    """
    held = torch.from_numpy(np.concatenate([part.astype(np.int32, copy=False) for part in parts]))
    if torch.device(device).type == "cuda":
        held = held.pin_memory()
    there = held.to(device, non_blocking=True)
    return list(torch.split(there, [len(part) for part in parts]))


def in_stream(places: Sequence[Sequence[int]], lengths: Sequence[int] | IntArray) -> IntArray:
    """Return the tokens of a stream at which prompts of these lengths are read."""
    if not len(places):
        return np.empty(0, dtype=np.int64)
    starts = np.cumsum([0, *lengths])[:-1]
    own = np.concatenate([np.asarray(one, dtype=np.int64) for one in places])
    found: IntArray = own + np.repeat(starts, [len(one) for one in places])
    return found


def in_order(branches: Sequence[int]) -> bool:
    """Return whether a shared part comes first and then one branch after the other."""
    marks = _array(branches)
    return not marks.any() or bool((np.diff(marks) >= 0).all())


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


def _array(row: Sequence[int]) -> NDArray[np.int32]:
    return np.asarray(row, dtype=np.int32)


def _segments(marks: NDArray[np.int32], lengths: IntArray) -> tuple[IntArray, IntArray]:
    """Return where the segments of prompts start, and which is the first of each one's prompt."""
    prompts = np.cumsum([0, *lengths])[:-1]
    opens = np.zeros(len(marks), dtype=np.bool_)
    opens[1:] = marks[1:] != marks[:-1]
    opens[prompts] = True
    begins = np.flatnonzero(opens)
    first = np.searchsorted(begins, prompts)
    return begins, np.repeat(first, np.diff([*first, len(begins)]))


def _runs(starts: IntArray, lengths: IntArray) -> IntArray:
    """Return start, start + 1, ... of each run, one run after the other."""
    before = np.cumsum(lengths) - lengths
    found: IntArray = np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)
    return found


def _starts(lengths: Sequence[int] | IntArray) -> IntArray:
    return np.cumsum([0, *lengths])
