"""The model in training: grade probabilities at the slots, with gradients.

The body may run in half precision; the readout is float32 from hidden states and
the rows of the grades alone, as in scoring. On a GPU prompts are one packed stream
of one of a few lengths; elsewhere they are padded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from evenhand.errors import ScorerError, UsageError
from evenhand.models.attention import layout, pad, use_seam
from evenhand.models.batching import stream_length
from evenhand.models.packing import pack
from evenhand.score.base import WindowPrompt
from evenhand.score.readout import head_of
from evenhand.train.prompts import Prompts

# As if every prompt had so many tokens: a stream's length gives the shape of its layout.
_SHORTEST = 64


class Grader(nn.Module):
    """Wraps a causal language model; its forward gives grade probabilities.

    Args:
        model: a transformers model, or a PEFT model around one.
        length: most tokens of a packed stream, but for a group that is longer; streams
            have a quarter of it, or two, three or four. half: number type of the body, or None for
            that of the weights.
    """

    def __init__(self, model: Any, *, length: int = 65536, half: torch.dtype | None = None) -> None:
        super().__init__()
        self.model = model
        self.body_dtype = half
        self.length = length
        self._longest = 0
        self._ids: dict[tuple[int, ...], Tensor] = {}
        inner = self.inner
        if inner.config._attn_implementation != "evenhand":
            use_seam(inner)

    @property
    def inner(self) -> Any:
        """The transformers model, adapters in place."""
        return self.model.get_base_model() if hasattr(self.model, "get_base_model") else self.model

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        found: torch.device = next(self.model.parameters()).device
        return found

    def forward(self, prompts: Sequence[WindowPrompt]) -> Tensor:
        """Return (S, G) float32 probabilities, the readouts of all prompts one after the other.

        Raises:
            UsageError: prompts with other grade tokens.
        """
        held = Prompts.of(prompts)
        kinds = np.unique(held.grades, axis=0)
        if len(kinds) != 1:
            raise UsageError(
                f"prompts of one step have {len(kinds)} sets of grade tokens; one is needed"
            )
        plain = held.branches is None
        packed = self.body_dtype is not None and self.device.type == "cuda" and plain
        hidden = self._packed(held) if packed else self._padded(held)
        return _probabilities(hidden, self.inner, self._grade_ids(tuple(kinds[0].tolist())))

    def _grade_ids(self, grades: tuple[int, ...]) -> Tensor:
        """Return the ids of grades where the weights are."""
        known = self._ids.get(grades)
        if known is None or known.device != self.device:
            # Kept: a copy from the host makes it wait for all that the device has to do. Made as
            # one that gradients can go through, whoever asks first.
            with torch.inference_mode(False):
                known = self._ids[grades] = torch.tensor(grades, device=self.device)
        return known

    def _body(self, ids: Tensor, seen: Any) -> Tensor:
        with torch.autocast(
            self.device.type, dtype=self.body_dtype, enabled=self.body_dtype is not None
        ):
            states: Tensor = self.inner.base_model(
                input_ids=ids, position_ids=seen.position, evenhand_layout=seen, use_cache=False
            ).last_hidden_state
        return states

    def _packed(self, prompts: Sequence[WindowPrompt]) -> Tensor:
        held = Prompts.of(prompts)
        rows = held.ids.rows()
        length = stream_length(len(held.ids.values), self.length)
        # One more: what fills the stream up may be a segment shorter than any prompt.
        ids, seen = pack(
            rows, length, self.device, segments=length // _SHORTEST + 1, places=held.readouts.rows()
        )
        # A bound, not a size: kept, so that it does not go up and down and compile both anew.
        self._longest = max(self._longest, seen.longest)
        # Without the places, whose number changes: a compiler may look at all that it is given.
        fixed = replace(seen, longest=self._longest, places=None)
        return self._body(ids, fixed)[0, seen.places]

    def _padded(self, prompts: Sequence[WindowPrompt]) -> Tensor:
        held = Prompts.of(prompts)
        length = int(held.ids.sizes.max())
        ids = pad(held.ids.rows(), length, 0).to(self.device)
        branches, positions = zip(*held.seen(), strict=True)
        seen = layout(branches, positions, length, device=self.device)
        rows = torch.from_numpy(np.repeat(np.arange(len(held)), held.readouts.sizes))
        return self._body(ids, seen)[rows, torch.from_numpy(held.readouts.values).long()]


def _probabilities(hidden: Tensor, model: Any, grades: Sequence[int] | Tensor) -> Tensor:
    """Return (S, G): float32 hidden states times the grade rows of the head."""
    head = head_of(model)
    chosen = grades if isinstance(grades, Tensor) else list(grades)
    with torch.autocast(hidden.device.type, enabled=False):
        rows = head.weight[chosen].float()
        bias = None if head.bias is None else head.bias[chosen]
        logits = head.finish(hidden.float() @ rows.T, bias)
        probabilities = torch.softmax(logits, dim=-1)
    # On a GPU to look at them is to wait for them; a step does so once, for all it has read.
    if hidden.device.type != "cuda":
        refuse_unless(bool(torch.isfinite(probabilities).all()))
    return probabilities


def refuse_unless(finite: bool) -> None:
    """Refuse grades that are not finite.

    Raises:
        ScorerError: they are not.
    """
    if not finite:
        raise ScorerError("the model in training gave NaN or infinite grades; lower the learning rate")
