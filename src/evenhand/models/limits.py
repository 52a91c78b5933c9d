"""How long a prompt may be before a model reads it in a way that the seam does not carry.

Some models do more to a long prompt than their layers tell the attention seam. Up to a
length they read it as any causal model does; longer prompts are not shown to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from evenhand.models.attention import SHARED, Layout, layout

# Rotary frequencies that change with the longest prompt of a batch, for all prompts in it.
_CHANGING = ("dynamic", "longrope")


@dataclass(frozen=True, eq=False)
class _Heard(Layout):
    """A layout that notes which sliding windows the layers ask for."""

    windows: set[int | None] = field(default_factory=set)

    def mask(self, sliding_window: int | None) -> torch.Tensor | None:
        self.windows.add(sliding_window)
        return super().mask(sliding_window)


def longest_prompt(model: Any, ids: torch.Tensor) -> int | None:
    """Return the most tokens that a prompt may have, or None where nothing limits it.

    A prompt with branches has as many as its shared part and its longest branch.

    Args:
        model: a transformers model that was switched to the seam.
        ids: (s,) some token ids to read.
    """
    bounds = [*_unheard_windows(model, ids), *_rotary_bounds(model.config.get_text_config())]
    return min(bounds, default=None)


def _unheard_windows(model: Any, ids: torch.Tensor) -> list[int]:
    """Return the sliding window, if layers leave it to a mask of the model's own.

    The seam takes the place of those masks, and these layers do not tell it of the
    window. Up to its length, plain causal attention is the same.
    """
    config = model.config.get_text_config()
    window = getattr(config, "sliding_window", None)
    kinds = getattr(config, "layer_types", None) or ["sliding_attention"]
    if not window or "sliding_attention" not in kinds:
        return []
    seen = layout([[SHARED] * len(ids)], [list(range(len(ids)))], len(ids), device=ids.device)
    heard = _Heard(seen.branch, seen.position, seen.causal)
    with torch.inference_mode():
        model.base_model(
            input_ids=ids[None], position_ids=seen.position, evenhand_layout=heard, use_cache=False
        )
    return [] if window in heard.windows else [int(window)]


def _rotary_bounds(config: Any) -> list[int]:
    """Return the lengths above which rotary frequencies follow the longest prompt of a batch."""
    settings = getattr(config, "rope_parameters", None) or {}
    # One set for all layers, or one for each kind of layer.
    nested = [value for value in settings.values() if isinstance(value, Mapping)]
    return [
        int(one.get("original_max_position_embeddings") or config.max_position_embeddings)
        for one in nested or [settings]
        if one.get("rope_type") in _CHANGING
    ]
