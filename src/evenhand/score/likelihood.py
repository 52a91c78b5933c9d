"""Query likelihood: mean log P(query token | candidate), one candidate a prompt.

Order-free, needs no training, and the honest zero-shot default of a small model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from evenhand.errors import UsageError
from evenhand.models.forward import Forward
from evenhand.models.load import load
from evenhand.present.surface import one_line
from evenhand.score.base import full_text
from evenhand.score.local import context_of, split_options
from evenhand.score.readout import head_of, log_probability
from evenhand.score.tokens import TokenizerTokens, opening
from evenhand.seeds import content_hash
from evenhand.types import Scale, Scored, Shown, Slate, Surface

BEFORE_CANDIDATE = "Passage:"
BEFORE_QUERY = "\nSearch query:"


@dataclass(frozen=True, slots=True)
class LikelihoodOptions:
    """Settings of a query-likelihood scorer.

    Attributes:
        max_candidate_tokens: cut of each candidate.
        token_budget: padded tokens of one batch; changes speed, not scores.
    """

    max_candidate_tokens: int = 96
    token_budget: int = 8192

    def __post_init__(self) -> None:
        if self.max_candidate_tokens < 1 or self.token_budget < 1:
            raise UsageError("max_candidate_tokens and token_budget must be at least 1")


@dataclass(frozen=True, slots=True)
class _Prompt:
    ids: tuple[int, ...]
    targets: tuple[int, ...]
    truncated: int
    escaped: int

    @property
    def branches(self) -> tuple[int, ...]:
        return (0,) * len(self.ids)

    @property
    def positions(self) -> tuple[int, ...]:
        return tuple(range(len(self.ids)))

    @property
    def readouts(self) -> tuple[int, ...]:
        """The token before each token of the query."""
        first = len(self.ids) - len(self.targets)
        return tuple(range(first, len(self.ids)))


class LikelihoodScorer:
    """Scores a candidate by the mean log-probability of the query after it."""

    scale: Scale = "log_likelihood"
    order_free = True
    channels = frozenset({"order", "companions", "window", "membership"})
    max_window: int | None = None
    default_window: int | None = None

    def __init__(self, loaded: Any, options: LikelihoodOptions | None = None) -> None:
        """Wrap a loaded model (`models.load`)."""
        self.options = options or LikelihoodOptions()
        self.surface = Surface()
        self.name = f"ql:{loaded.name}"
        self._forward = Forward(loaded.model, token_budget=self.options.token_budget)
        self._head = head_of(self._forward.model)
        self._tokens = TokenizerTokens(loaded.tokenizer)
        self._context = context_of(self._forward.model)
        self._opening = opening(loaded.tokenizer) + BEFORE_CANDIDATE
        self.dtype = str(self._forward.model.dtype).removeprefix("torch.")
        forms = [self._opening, BEFORE_QUERY, self.options.max_candidate_tokens]
        self.revision = content_hash([loaded.revision, self.dtype, forms])[:16]

    def score(self, shown: Sequence[Shown]) -> list[Scored]:
        """Score every candidate alone; each Shown is scored anew, whatever came before.

        A slate with an empty query, or one that does not fit the context, is a
        failure of that slate alone and carries the reason.
        """
        built = [self._build(one.slate) for one in shown]
        prompts = [prompt for many in built if not isinstance(many, str) for prompt in many]
        names = [
            one.slate.id
            for one, many in zip(shown, built, strict=True)
            if not isinstance(many, str)
            for _ in many
        ]
        values = iter(self._read(prompts, names))
        results = []
        for one, many in zip(shown, built, strict=True):
            if isinstance(many, str):
                results.append(Scored.failed(len(one.slate), many))
                continue
            results.append(
                Scored(
                    scores=np.array([next(values) for _ in many], dtype=np.float64),
                    prompts=len(many),
                    tokens=sum(len(prompt.ids) for prompt in many),
                    truncated=np.array([prompt.truncated for prompt in many], dtype=np.int64),
                    escaped=np.array([prompt.escaped for prompt in many], dtype=np.int64),
                )
            )
        return results

    def _build(self, slate: Slate) -> list[_Prompt] | str:
        query, _ = one_line(slate.query)
        targets, _ = self._tokens.text(f" {query}" if query else "")
        if not targets:
            return f"slate {slate.id!r}: the query is empty; query likelihood needs at least one token"
        start, middle = self._tokens.literal(self._opening), self._tokens.literal(BEFORE_QUERY)
        room = self._context - len(start) - len(middle) - len(targets)
        if room < 1:
            return (
                f"slate {slate.id!r}: the query of {len(targets)} tokens does not fit a context of "
                f"{self._context}; it is never cut. Use a shorter query or a longer context."
            )
        prompts = []
        for candidate in slate.candidates:
            text, escaped = one_line(full_text(candidate))
            ids, spelled = self._tokens.text(f" {text}" if text else "")
            kept = ids[: min(room, self.options.max_candidate_tokens)]
            whole = (*start, *kept, *middle, *targets[:-1])
            prompts.append(_Prompt(whole, targets, len(ids) - len(kept), escaped + spelled))
        return prompts

    def _read(self, prompts: Sequence[_Prompt], names: Sequence[str]) -> list[float]:
        def readout(hidden: torch.Tensor, index: list[int]) -> torch.Tensor:
            targets = [token for i in index for token in prompts[i].targets]
            ids = torch.tensor(targets, device=hidden.device)
            return log_probability(hidden, self._head, ids)[:, None]

        return [float(value.mean()) for value in self._forward.read(prompts, names, readout)]


def open_likelihood(spec: str, **options: Any) -> LikelihoodScorer:
    """Load a model and wrap it.

    Args:
        spec: what `models.load` takes: "smollm2-135m", "hf:...", "gguf:...".
        options: fields of `LikelihoodOptions`, and device, dtype, revision, adapter.

    Raises:
        UsageError: an option is unknown; the surface's options have no meaning here.
    """
    own, loading, surface = split_options(options, LikelihoodOptions)
    if surface != Surface():
        raise UsageError("query likelihood has no surface to set; drop the surface options")
    return LikelihoodScorer(load(spec, **loading), LikelihoodOptions(**own))
