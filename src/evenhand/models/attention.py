"""The attention seam: what may see what, for every architecture alike.

`use_seam` switches a transformers model to an attention function of ours. It
takes a `Layout` through the model's keyword arguments, builds the mask that the
layout (and a layer's sliding window) asks for, and hands on to torch's
scaled-dot-product attention: part by part where there are branches. Scoring,
training and packing share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface

from evenhand.errors import ScorerError, UsageError
from evenhand.models.blocks import Blocks, blocks
from evenhand.models.packing import Packed

SEAM = "evenhand"
PADDING = -1
SHARED = 0


@dataclass(frozen=True, eq=False)
class Layout:
    """Where every token of a batch stands and which tokens it may see.

    A token sees earlier tokens of its own prompt: those of the shared part and
    those of its own branch. Padding sees itself alone, so that no row of the
    mask is empty.

    Attributes:
        branch: (batch, length) int64; 0 shared, 1.. a branch, -1 padding.
        position: (batch, length) int64 position ids.
        causal: no branches, and padding only at the end: plain causal order
            says it all, and no mask is needed.
        blocks: how branches are attended to part by part; None takes one mask
            over all tokens, which says the same at a cost of the length squared.
    """

    branch: torch.Tensor
    position: torch.Tensor
    causal: bool
    blocks: Blocks | None = None
    _masks: dict[int | None, torch.Tensor] = field(default_factory=dict)

    def mask(self, sliding_window: int | None) -> torch.Tensor | None:
        """Return the (batch, 1, length, length) bool mask, or None if plain causal.

        Args:
            sliding_window: a token sees positions less than this far behind.
        """
        length = self.branch.shape[1]
        if sliding_window is not None and sliding_window >= length:
            sliding_window = None
        if self.causal and sliding_window is None:
            return None
        if sliding_window not in self._masks:
            self._masks[sliding_window] = self._build(sliding_window)
        return self._masks[sliding_window]

    def _build(self, sliding_window: int | None) -> torch.Tensor:
        asker, seen = self.branch[:, :, None], self.branch[:, None, :]
        index = torch.arange(self.branch.shape[1], device=self.branch.device)
        visible = (seen == SHARED) | ((seen == asker) & (seen != PADDING))
        visible &= index[None, :, None] >= index[None, None, :]
        visible &= asker != PADDING
        if sliding_window is not None:
            # Compared, not subtracted: no (batch, length, length) array of integers is held.
            oldest = self.position - sliding_window
            visible &= self.position[:, None, :] > oldest[:, :, None]
        visible |= torch.eye(len(index), dtype=torch.bool, device=index.device)
        return visible[:, None]


def layout(branches: Sequence[Sequence[int]], positions: Sequence[Sequence[int]], length: int,
           *, device: str | torch.device = "cpu", side: str = "right",
           whole: bool = False) -> Layout:  # fmt: skip
    """Return the layout of prompts padded to a common length.

    Args:
        branches: per prompt, the branch of each token.
        positions: per prompt, the position id of each token.
        length: padded length. side: "right" or "left", where padding goes.
        whole: one mask over all tokens, also where there are branches.
    """
    branch = pad(branches, length, PADDING, side=side)
    position = pad(positions, length, 0, side=side)
    branched = bool((branch > SHARED).any())
    padded_left = side == "left" and bool((branch == PADDING).any())
    parts = None if whole or not branched else blocks(branch, position, device)
    return Layout(branch.to(device), position.to(device), not branched and not padded_left, parts)


def pad(rows: Sequence[Sequence[int]], length: int, value: int, *, side: str = "right") -> torch.Tensor:
    """Return (rows, length) int64 with each row padded on one side.

    Raises:
        UsageError: the side is neither "right" nor "left".
    """
    if side not in ("right", "left"):
        raise UsageError(f"padding side must be 'right' or 'left', got {side!r}")
    padded = np.full((len(rows), length), value, dtype=np.int64)
    for index, row in enumerate(rows):
        if len(row) == 0:
            continue
        start = 0 if side == "right" else length - len(row)
        padded[index, start : start + len(row)] = np.asarray(row, dtype=np.int64)
    return torch.from_numpy(padded)


def _seam_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    evenhand_layout: Layout | Packed | None = None,
    sliding_window: int | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    if evenhand_layout is None:
        raise ScorerError(
            f"{type(module).__name__} did not pass the layout on to its attention; "
            "this architecture cannot be read by the local scorer"
        )
    for name in ("s_aux", "softcap", "position_bias"):
        if kwargs.get(name) is not None:
            raise ScorerError(
                f"{type(module).__name__} uses {name}, which the attention seam does not have"
            )
    if isinstance(evenhand_layout, Packed):
        scaling = kwargs.get("scaling")
        return evenhand_layout.attend(
            query, key, value, scaling=scaling, sliding_window=sliding_window
        ), None
    attend = partial(_attend, dropout=kwargs.get("dropout", 0.0), scaling=kwargs.get("scaling"))
    if evenhand_layout.blocks is not None:
        return evenhand_layout.blocks.attend(query, key, value, sliding_window, attend), None
    return attend(query, key, value, evenhand_layout.mask(sliding_window)), None


def _attend(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
    *,
    dropout: float,
    scaling: float | None,
) -> torch.Tensor:
    """Return (batch, length, heads, dim) attention; without a mask it is causal."""
    groups = query.shape[1] // key.shape[1]
    # The fused kernels take grouped heads in half precision and unmasked alone; elsewhere
    # grouped heads would fall back to a kernel that holds every score of the window.
    grouped = groups > 1 and mask is None and query.dtype != torch.float32
    if groups > 1 and not grouped:
        key, value = (each.repeat_interleave(groups, dim=1) for each in (key, value))
    output = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, dropout_p=dropout, is_causal=mask is None,
        scale=scaling, enable_gqa=grouped,
    )  # fmt: skip
    return output.transpose(1, 2).contiguous()


def _no_mask(*args: Any, **kwargs: Any) -> None:
    """Stand where transformers would build a mask; the layout does it."""
    return None


def use_seam(model: Any) -> None:
    """Switch a transformers model to the seam; its forward then needs a layout.

    Raises:
        ScorerError: the architecture does not take a named attention function.
    """
    AttentionInterface.register(SEAM, _seam_attention)
    AttentionMaskInterface.register(SEAM, _no_mask)
    try:
        model.set_attn_implementation(SEAM)
    except (ValueError, AttributeError) as error:
        raise ScorerError(
            f"{type(model).__name__} does not take an attention function: {error}"
        ) from error
