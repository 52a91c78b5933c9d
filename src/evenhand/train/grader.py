"""The model in training: grade probabilities at the slots, with gradients.

The body may run in half precision; the readout is float32 from hidden states and
the rows of the grades alone, as in scoring. On a GPU prompts are one packed stream
of one of a few lengths; elsewhere they are padded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from evenhand.errors import ScorerError, UsageError
from evenhand.models.attention import layout, pad, use_seam
from evenhand.models.packing import pack
from evenhand.score.base import WindowPrompt
from evenhand.score.readout import head_of
from evenhand.train.batch import stream_length

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
        grades = {prompt.grades for prompt in prompts}
        if len(grades) != 1:
            raise UsageError(
                f"prompts of one step have {len(grades)} sets of grade tokens; one is needed"
            )
        packed = self.body_dtype is not None and self.device.type == "cuda" and not _branched(prompts)
        hidden = self._packed(prompts) if packed else self._padded(prompts)
        return _probabilities(hidden, self.inner, grades.pop())

    def _body(self, ids: Tensor, seen: Any) -> Tensor:
        with torch.autocast(
            self.device.type, dtype=self.body_dtype, enabled=self.body_dtype is not None
        ):
            states: Tensor = self.inner.base_model(
                input_ids=ids, position_ids=seen.position, evenhand_layout=seen, use_cache=False
            ).last_hidden_state
        return states

    def _packed(self, prompts: Sequence[WindowPrompt]) -> Tensor:
        rows = [prompt.ids for prompt in prompts]
        length = stream_length(sum(map(len, rows)), self.length)
        # One more: what fills the stream up may be a segment shorter than any prompt.
        ids, seen = pack(rows, length, self.device, segments=length // _SHORTEST + 1)
        # A bound, not a size: kept, so that it does not go up and down and compile both anew.
        self._longest = max(self._longest, seen.longest)
        seen = replace(seen, longest=self._longest)
        starts = torch.tensor([0, *map(len, rows)]).cumsum(0)[:-1].tolist()
        places = [start + at for start, p in zip(starts, prompts, strict=True) for at in p.readouts]
        return self._body(ids, seen)[0, places]

    def _padded(self, prompts: Sequence[WindowPrompt]) -> Tensor:
        length = max(len(prompt.ids) for prompt in prompts)
        ids = pad([p.ids for p in prompts], length, 0).to(self.device)
        seen = layout(
            [p.branches for p in prompts], [p.positions for p in prompts], length, device=self.device
        )
        rows = [row for row, p in enumerate(prompts) for _ in p.readouts]
        places = [place for p in prompts for place in p.readouts]
        return self._body(ids, seen)[rows, places]


def _branched(prompts: Sequence[WindowPrompt]) -> bool:
    return any(prompt.branches[-1] for prompt in prompts)


def _probabilities(hidden: Tensor, model: Any, grades: Sequence[int]) -> Tensor:
    """Return (S, G): float32 hidden states times the grade rows of the head."""
    head = head_of(model)
    with torch.autocast(hidden.device.type, enabled=False):
        rows = head.weight[list(grades)].float()
        bias = None if head.bias is None else head.bias[list(grades)]
        logits = head.finish(hidden.float() @ rows.T, bias)
        probabilities = torch.softmax(logits, dim=-1)
    if not torch.isfinite(probabilities).all():
        raise ScorerError("the model in training gave NaN or infinite grades; lower the learning rate")
    return probabilities
