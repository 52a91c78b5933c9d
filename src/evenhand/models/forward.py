"""Batched forward passes that return hidden states at chosen tokens only.

Prompts of many windows are sorted by length and put into batches under a token
budget, padded at the end or, on a GPU, as one stream. A batch that does not fit the
memory is halved; the prompts themselves are never changed. Results do not depend on
the batches beyond float error.

A GPU works while the next batches are put together: what a batch gave is copied as
soon as it is there, and waited for when a few more are under way.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from evenhand.errors import ScorerError
from evenhand.models.attention import SEAM, SHARED, Layout, layout, pad, use_seam
from evenhand.models.batching import batches, halved, stream_length
from evenhand.models.compiled import compile_blocks, plain_blocks
from evenhand.models.later import Later, finite
from evenhand.models.limits import longest_prompt
from evenhand.models.packing import Packed, can_pack, in_order, pack, stream

Readout = Callable[[torch.Tensor, list[int]], torch.Tensor]

_log = logging.getLogger(__name__)

# Tokens of each part of the probe: what all share, one branch, another branch.
_PART = 4
# Batches whose results are waited for later.
_AHEAD = 4
# As if every prompt had so many tokens: a stream's length gives the shape of its layout.
_SHORTEST = 64


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
        token_budget: tokens of one batch, with padding. side: "right" or "left", where that goes.
        whole: attend with one mask where there are branches: slow, the same values.
        compiled: whether streams without branches get one of four lengths and go through
            compiled blocks: minutes at first, then faster.
    """

    def __init__(
        self, model: Any, *, token_budget: int = 8192, side: str = "right", compiled: bool = False
    ) -> None:
        """Switch the model to the attention seam and check what the seam carries.

        Where nothing is read as streams, `compiled` is left with a notice.

        Raises:
            ScorerError: the architecture gives other logits through the seam.
        """
        self.model = model.get_base_model() if hasattr(model, "get_base_model") else model
        self.device = next(self.model.parameters()).device
        self.token_budget = token_budget
        self.side = side
        self.whole = self.compiled = False
        vocabulary = self.model.get_output_embeddings().weight.shape[0]
        self._probe = torch.linspace(0, vocabulary - 1, 3 * _PART, device=self.device).long()
        self._exact = self.model.dtype == torch.float32
        if self.model.config._attn_implementation != SEAM:
            self._switch()
        self.longest = longest_prompt(self.model, self._probe)
        self.branches = self._keeps_branches_apart()
        self._packs = can_pack(self.model, self.model.dtype) and self._streams()
        self._longest = 0
        if compiled and not self._packs:
            _log.warning("nothing is compiled: prompts are read as streams on a GPU alone")
        elif compiled:
            compile_blocks(self.model)
            self.compiled = True

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
        with torch.inference_mode(), self._as_written():
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

    def _as_written(self) -> AbstractContextManager[Any]:
        """Keep shapes that come once from being compiled."""
        return torch.compiler.set_stance("force_eager") if self.compiled else nullcontext()

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
        lengths = [len(prompt.ids) for prompt in prompts]
        padded = not self._packs or self.whole
        waiting = batches(lengths, self.token_budget, padded=padded)[::-1]
        under_way: deque[tuple[list[int], Later]] = deque()
        while waiting or under_way:
            if not waiting or len(under_way) >= _AHEAD:
                chosen, values = under_way.popleft()
                for index, value in zip(chosen, self._split(values, prompts, chosen), strict=True):
                    results[index] = finite(value, names[index])
                continue
            chosen, found = waiting.pop(), None
            try:
                found = self._values([prompts[i] for i in chosen], chosen, readout)
            except torch.OutOfMemoryError as error:
                waiting += halved(chosen, lengths, names, error)
            if found is not None:
                under_way.append((chosen, found))
            # Out here: the error holds the frames, and with them the tensors, of the failed batch.
            elif self.device.type == "cuda":
                torch.cuda.empty_cache()
        return results

    def _split(
        self, values: Later, prompts: Sequence[Readable], chosen: Sequence[int]
    ) -> list[NDArray[np.float64]]:
        ends = np.cumsum([len(prompts[i].readouts) for i in chosen])
        return np.split(values.get(), ends[:-1])

    def _values(self, prompts: Sequence[Readable], index: list[int], readout: Readout) -> Later:
        if self._packs and not self.whole and all(in_order(prompt.branches) for prompt in prompts):
            return self._packed(prompts, index, readout)
        length = max(len(prompt.ids) for prompt in prompts)
        ids = pad([p.ids for p in prompts], length, 0, side=self.side).to(self.device)
        seen = layout([p.branches for p in prompts], [p.positions for p in prompts], length,
                      device=self.device, side=self.side, whole=self.whole)  # fmt: skip
        shift = [0 if self.side == "right" else length - len(p.ids) for p in prompts]
        rows = [row for row, p in enumerate(prompts) for _ in p.readouts]
        places = [place + shift[row] for row, p in enumerate(prompts) for place in p.readouts]
        with torch.inference_mode(), self._as_written():
            return Later(readout(self._states(ids, seen)[rows, places], index))

    def _packed(self, prompts: Sequence[Readable], index: list[int], readout: Readout) -> Later:
        """Read prompts as one stream without padding."""
        found = self._compiled(prompts) if self.compiled else None
        if found is None:
            ids, seen = stream(
                [p.ids for p in prompts], [p.branches for p in prompts],
                [p.positions for p in prompts], self.device, places=[p.readouts for p in prompts],
            )  # fmt: skip
            with self._as_written():
                found = self._states(ids, seen)[0, seen.places]
        with torch.inference_mode():
            return Later(readout(found, index))

    def _compiled(self, prompts: Sequence[Readable]) -> torch.Tensor | None:
        """Return states at the readouts of a stream of a fixed length; None if it is not for that."""
        rows = [prompt.ids for prompt in prompts]
        length = stream_length(sum(map(len, rows)), self.token_budget)
        segments = length // _SHORTEST + 1
        fits = len(rows) + length // max(map(len, rows)) < segments
        if not fits or any(prompt.branches[-1] for prompt in prompts):
            return None
        places = [prompt.readouts for prompt in prompts]
        ids, seen = pack(rows, length, self.device, segments=segments, places=places)
        # A bound, not a size: kept, so that it does not go up and down and compile both anew.
        self._longest = max(self._longest, seen.longest)
        # Without the places, whose number changes: a compiler may look at all that it is given.
        fixed = replace(seen, longest=self._longest, places=None)
        try:
            states = self._states(ids, fixed)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            _log.warning("blocks are run as written: they could not be compiled (%s)", error)
            plain_blocks(self.model)
            self.compiled = False
            return None
        with torch.inference_mode():
            return states[0, seen.places]

    def no_branches(self, slate: str | None = None) -> ScorerError:
        """Return the error of a prompt with branches, for a model that cannot read it."""
        who = "" if slate is None else f"slate {slate!r}: "
        return ScorerError(
            f"{who}{type(self.model).__name__} carries a state from token to token, so neither its "
            "answer lines nor its candidates can be blind to each other; use visibility='sequential'"
        )

    def _require_no_branches(self, prompts: Sequence[Readable], names: Sequence[str]) -> None:
        for prompt, name in zip(prompts, names, strict=True):
            if np.asarray(prompt.branches).max(initial=SHARED) > SHARED:
                raise self.no_branches(name)
