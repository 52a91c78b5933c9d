"""Batched forward passes that return hidden states at chosen tokens only.

Prompts of many windows are sorted by length and put into batches under a token
budget, padded at the end. A batch that does not fit the memory is halved; the
prompts themselves are never changed. Results do not depend on the batches
beyond float error.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from evenhand.errors import ScorerError
from evenhand.models.attention import SEAM, SHARED, Layout, layout, pad, use_seam
from evenhand.models.batching import batches
from evenhand.models.limits import longest_prompt
from evenhand.models.packing import Packed, can_pack, in_order, stream

Readout = Callable[[torch.Tensor, list[int]], torch.Tensor]

_log = logging.getLogger(__name__)

# Tokens of each part of the probe: what all share, one branch, another branch.
_PART = 4


class Readable(Protocol):
    """A prompt in ids, with branches, position ids and the tokens to read at."""

    @property
    def ids(self) -> Sequence[int]:
        """Token ids."""
        ...

    @property
    def branches(self) -> Sequence[int]:
        """Branch of each token."""
        ...

    @property
    def positions(self) -> Sequence[int]:
        """Position id of each token."""
        ...

    @property
    def readouts(self) -> Sequence[int]:
        """Indices in `ids` at which hidden states are wanted."""
        ...


class Forward:
    """Reads hidden states from a transformers causal language model.

    Attributes:
        branches: whether the model can read prompts with branches.
        longest: most tokens of a prompt, where the model does more to longer ones than the
            seam carries (`limits.longest_prompt`); None = no limit.
        token_budget: padded tokens of one batch. side: "right" or "left", where padding goes.
        whole: attend with one mask where there are branches: slow, the same values.
    """

    def __init__(self, model: Any, *, token_budget: int = 8192, side: str = "right") -> None:
        """Switch the model to the attention seam and check what the seam carries.

        Raises:
            ScorerError: the architecture gives other logits through the seam.
        """
        self.model = model.get_base_model() if hasattr(model, "get_base_model") else model
        self.device = next(self.model.parameters()).device
        self.token_budget = token_budget
        self.side = side
        self.whole = False
        vocabulary = self.model.get_output_embeddings().weight.shape[0]
        self._probe = torch.linspace(0, vocabulary - 1, 3 * _PART, device=self.device).long()
        self._exact = self.model.dtype == torch.float32
        if self.model.config._attn_implementation != SEAM:
            self._switch()
        self.longest = longest_prompt(self.model, self._probe)
        self.branches = self._keeps_branches_apart()
        self._packs = can_pack(self.model, self.model.dtype) and self._streams()

    def _switch(self) -> None:
        with torch.inference_mode():
            before = self.model(input_ids=self._probe[None], use_cache=False).logits[0].float()
            use_seam(self.model)
        after = self.probe()[1]
        gap = (torch.softmax(before, -1) - torch.softmax(after, -1)).abs().max().item()
        if not gap < (1e-4 if self._exact else 0.05):
            raise ScorerError(
                f"{type(self.model).__name__} gives other probabilities through the attention seam "
                f"(largest difference {gap:.2g}); this architecture cannot be read by the local scorer"
            )

    def probe(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return hidden states (s, d) and the model's own logits (s, V), float32, of a few tokens."""
        length = len(self._probe)
        seen = layout([[SHARED] * length], [list(range(length))], length, device=self.device)
        with torch.inference_mode():
            logits = self._run(self.model, self._probe[None], seen).logits[0]
        return self._states(self._probe[None], seen)[0], logits.float()

    def _keeps_branches_apart(self) -> bool:
        """Return whether a branch reads as it would without the branch before it.

        Layers that carry a state along the prompt (recurrent ones, convolutions)
        see every earlier token, whatever attention is allowed to see.
        """
        first, second = [SHARED] * _PART + [1] * _PART, [2] * _PART
        early, late = list(range(2 * _PART)), list(range(_PART, 2 * _PART))
        both = layout([first + second], [early + late], 3 * _PART, device=self.device)
        alone = layout([[SHARED] * (2 * _PART)], [early], 2 * _PART, device=self.device)
        ids = torch.cat([self._probe[:_PART], self._probe[2 * _PART :]])
        found = self._states(self._probe[None], both)[0, -_PART:].float()
        wanted = self._states(ids[None], alone)[0, -_PART:].float()
        gap = float((found - wanted).norm() / wanted.norm())
        return gap < (1e-3 if self._exact else 0.1)

    def _streams(self) -> bool:
        """Return whether a stream reads as masks do; its kernel does not take every model."""
        size = _PART if self.branches else 3 * _PART
        marks = [index // size for index in range(3 * _PART)]
        places = [index if index < size else size + index % size for index in range(3 * _PART)]
        ids, packed = stream([self._probe.tolist()], [marks], [places], self.device)
        masked = layout([marks], [places], len(marks), device=self.device)
        try:
            found = self._states(ids, packed).float()
        except RuntimeError as error:
            _log.warning("prompts are padded, which is slower: no stream without padding (%s)", error)
            return False
        wanted = self._states(ids, masked).float()
        gap = float((found - wanted).norm() / wanted.norm())
        if not gap < 0.1:
            _log.warning("prompts are padded: a stream reads otherwise (by %.2g)", gap)
        return gap < 0.1

    def _run(self, module: Any, ids: torch.Tensor, seen: Layout | Packed) -> Any:
        return module(input_ids=ids, position_ids=seen.position, evenhand_layout=seen, use_cache=False)

    def _states(self, ids: torch.Tensor, seen: Layout | Packed) -> torch.Tensor:
        with torch.inference_mode():
            states: torch.Tensor = self._run(self.model.base_model, ids, seen).last_hidden_state
        return states

    def read(
        self, prompts: Sequence[Readable], names: Sequence[str], readout: Readout
    ) -> list[NDArray[np.float64]]:
        """Return the readout of every prompt, in the given order.

        Args:
            names: slate id of each prompt, for messages.
            readout: maps hidden states (s, d), all readouts of a batch one after
                the other, and the prompts' indices to values (s, k).

        Raises:
            ScorerError: a value is NaN or infinite, one prompt alone does not fit
                the memory, or the model cannot keep branches apart; the message
                names the slate.
        """
        if not self.branches:
            self._require_no_branches(prompts, names)
        results: list[NDArray[np.float64]] = [np.empty((0, 0))] * len(prompts)
        waiting = batches([len(prompt.ids) for prompt in prompts], self.token_budget)[::-1]
        while waiting:
            chosen = waiting.pop()
            values = None
            try:
                values = self._values([prompts[i] for i in chosen], chosen, readout)
            except torch.OutOfMemoryError as error:
                waiting += _halved(chosen, prompts, names, error)
            if values is None:
                # Out here: the error holds the frames, and with them the tensors, of the failed batch.
                if self.device.type == "cuda":
                    torch.cuda.empty_cache()
                continue
            ends = np.cumsum([len(prompts[i].readouts) for i in chosen])
            for index, value in zip(chosen, np.split(values, ends[:-1]), strict=True):
                if not np.isfinite(value).all():
                    raise ScorerError(
                        f"slate {names[index]!r}: the model gave NaN or infinite values; "
                        "check its weights, or use dtype='float32'"
                    )
                results[index] = value
        return results

    def _values(
        self, prompts: Sequence[Readable], index: list[int], readout: Readout
    ) -> NDArray[np.float64]:
        if self._packs and not self.whole and all(in_order(prompt.branches) for prompt in prompts):
            return self._packed(prompts, index, readout)
        length = max(len(prompt.ids) for prompt in prompts)
        ids = pad([p.ids for p in prompts], length, 0, side=self.side).to(self.device)
        seen = layout([p.branches for p in prompts], [p.positions for p in prompts], length,
                      device=self.device, side=self.side, whole=self.whole)  # fmt: skip
        shift = [0 if self.side == "right" else length - len(p.ids) for p in prompts]
        rows = [row for row, p in enumerate(prompts) for _ in p.readouts]
        places = [place + shift[row] for row, p in enumerate(prompts) for place in p.readouts]
        with torch.inference_mode():
            values = readout(self._states(ids, seen)[rows, places], index)
        return values.double().cpu().numpy()

    def _packed(
        self, prompts: Sequence[Readable], index: list[int], readout: Readout
    ) -> NDArray[np.float64]:
        """Read prompts as one stream without padding."""
        rows = [prompt.ids for prompt in prompts]
        ids, seen = stream(
            rows, [p.branches for p in prompts], [p.positions for p in prompts], self.device
        )
        starts = [0, *itertools.accumulate(map(len, rows))]
        places = [start + at for start, p in zip(starts, prompts, strict=False) for at in p.readouts]
        with torch.inference_mode():
            values = readout(self._states(ids, seen)[0, places], index)
        return values.double().cpu().numpy()

    def no_branches(self, slate: str | None = None) -> ScorerError:
        """Return the error of a prompt with branches, for a model that cannot read it."""
        who = "" if slate is None else f"slate {slate!r}: "
        return ScorerError(
            f"{who}{type(self.model).__name__} carries a state from token to token, so neither its "
            "answer lines nor its candidates can be blind to each other; use visibility='sequential'"
        )

    def _require_no_branches(self, prompts: Sequence[Readable], names: Sequence[str]) -> None:
        for prompt, name in zip(prompts, names, strict=True):
            if any(branch > SHARED for branch in prompt.branches):
                raise self.no_branches(name)


def _halved(
    chosen: list[int], prompts: Sequence[Readable], names: Sequence[str], error: BaseException
) -> list[list[int]]:
    """Return the two halves of a batch that did not fit, the first to be read last."""
    if len(chosen) == 1:
        raise ScorerError(
            f"slate {names[chosen[0]]!r}: one prompt of {len(prompts[chosen[0]].ids)} tokens does not "
            "fit the memory; use a smaller width, shorter candidates or another device"
        ) from error
    half = len(chosen) // 2
    return [chosen[half:], chosen[:half]]
