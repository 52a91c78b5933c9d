"""A local scorer for many looks at the same slates.

It remembers prompts, which are the same for every arm, and on a GPU reads them as
compiled streams of one length, as training does. What that gives is compared with the
plain local scorer before it is used.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from tasks import snapshot

from evenhand.models.batching import batches
from evenhand.models.load import Loaded
from evenhand.score.local import LocalOptions, LocalScorer
from evenhand.train.grader import Grader
from evenhand.train.weights import compile_blocks
from evenhand.types import Shown, Surface

LENGTH = 65536
# Mean difference of scores between two ways to read in bfloat16.
SAME = 0.01


class Reader(LocalScorer):
    """A local scorer whose weights can be replaced, for one surface and cut.

    Attributes:
        fast: whether prompts are read as compiled streams. remember: whether prompts
            that are built are kept for the next look.
    """

    def __init__(self, loaded: Loaded, surface: Surface, cut: int, width: int) -> None:
        own = snapshot(loaded, loaded.model)
        options = LocalOptions(max_candidate_tokens=cut, label_mass=False, token_budget=131072,
                               width=width)  # fmt: skip
        super().__init__(own, options, surface)
        self._model, self.fast, self.remember = own.model, False, True
        self._memory: dict = {}
        half = torch.bfloat16 if own.device.type == "cuda" else None
        self._streams = Grader(own.model, length=LENGTH, half=half)

    def take(self, model: torch.nn.Module) -> Reader:
        """Copy the weights of a model in training."""
        with torch.no_grad():
            for own, new in zip(self._model.parameters(), model.parameters(), strict=True):
                own.copy_(new)
        return self

    def compiled(self, shown: Sequence[Shown]) -> Reader:
        """Read as compiled streams, if that can be done and gives the same scores."""
        plain, began = self.score(shown), time.perf_counter()
        compile_blocks(self._model)
        self.fast = True
        try:
            found = self.score(shown)
        # Whatever it is, the plain way is there.
        except Exception as error:
            print(f"read plainly: {type(error).__name__}: {error}", flush=True)
            self.fast = False
            return self
        gaps = np.concatenate([
            np.abs(one.scores - other.scores) for one, other in zip(plain, found, strict=True)
        ])  # fmt: skip
        self.fast = bool(gaps.mean() < SAME)
        taken = time.perf_counter() - began
        print(f"compiled streams: scores differ by {gaps.mean():.5f}, at most {gaps.max():.4f}; "
              f"{'used' if self.fast else 'not used'} ({taken:.0f} s)", flush=True)  # fmt: skip
        return self

    def prompts(self, shown: Shown) -> list:
        if not self.remember:
            return super().prompts(shown)
        key = (shown.slate.id, shown.presentation)
        if key not in self._memory:
            self._memory[key] = super().prompts(shown)
        return self._memory[key]

    def _values(self, prompts: Sequence[Any], names: Sequence[str]) -> list[np.ndarray]:
        if not self.fast:
            # Every batch has a length of its own: none is worth compiling for.
            with torch.compiler.set_stance("force_eager"):
                return super()._values(prompts, names)
        found: list[np.ndarray] = [np.empty((0, 0))] * len(prompts)
        lengths = [len(prompt.ids) for prompt in prompts]
        for chosen in batches(lengths, LENGTH):
            filled = topped(chosen, lengths)
            with torch.no_grad():
                read = self._streams([prompts[i] for i in filled]).double().cpu().numpy()
            scores = read @ np.arange(read.shape[1]) / (read.shape[1] - 1)
            joined = np.concatenate([read, scores[:, None]], axis=1)
            ends = np.cumsum([len(prompts[i].readouts) for i in filled])
            for index, value in zip(filled, np.split(joined, ends[:-1]), strict=True):
                found[index] = value
        return found


def topped(chosen: list[int], lengths: Sequence[int]) -> list[int]:
    """A batch with its own prompts again until one more might not fit: one length is compiled."""
    longest, filled = max(lengths[i] for i in chosen), list(chosen)
    total = sum(lengths[i] for i in chosen)
    while total + longest <= LENGTH:
        filled.append(chosen[len(filled) % len(chosen)])
        total += lengths[filled[-1]]
    return filled
