"""Query likelihood: mean log P(query token | candidate), one candidate a prompt.

Order-free, needs no training, and the honest zero-shot default of a small model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from evenhand.errors import InputError, UsageError, require_count
from evenhand.models.forward import Forward
from evenhand.models.load import Loaded, load
from evenhand.present.surface import one_line
from evenhand.score.base import score_prompts
from evenhand.score.local import context_of, split_options
from evenhand.score.readout import checked_head, log_probability
from evenhand.score.tokens import TokenizerTokens, opening
from evenhand.seeds import content_hash
from evenhand.types import BoolArray, FloatArray, Scale, Scored, Shown, Surface

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
        for name in ("max_candidate_tokens", "token_budget"):
            require_count(name, getattr(self, name))


@dataclass(frozen=True, slots=True)
class _Prompt:
    ids: tuple[int, ...]
    targets: tuple[int, ...]
    truncated: int
    escaped: int
    query_escaped: int

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

    def __init__(self, loaded: Loaded, options: LikelihoodOptions | None = None) -> None:
        """Wrap a loaded model (`models.load`).

        Raises:
            ScorerError: the architecture does not carry the attention seam, or its
                logits are not those of its output head.
        """
        self.options = options or LikelihoodOptions()
        self.surface = Surface()
        self.name = f"ql:{loaded.name}"
        self._forward = Forward(loaded.model, token_budget=self.options.token_budget)
        self._head = checked_head(self._forward)
        self._tokens = TokenizerTokens(loaded.tokenizer)
        context = context_of(self._forward.model)
        self._context = min(context, self._forward.longest or context)
        self._opening = opening(loaded.tokenizer) + BEFORE_CANDIDATE
        self.dtype = str(self._forward.model.dtype).removeprefix("torch.")
        forms = [self._opening, BEFORE_QUERY, self.options.max_candidate_tokens]
        self.revision = content_hash([loaded.revision, self.dtype, forms])[:16]

    def score(self, shown: Sequence[Shown]) -> list[Scored]:
        """Score every candidate alone; each Shown is scored anew, whatever came before.

        A slate with an empty query, or one that does not fit the context, is a
        failure of that slate alone and carries the reason.
        """
        return score_prompts(shown, self._build, self._read, _gather)

    def _build(self, shown: Shown) -> list[_Prompt]:
        slate = shown.slate
        query, places = one_line(slate.query)
        targets, signs = self._tokens.text(f" {query}" if query else "")
        if not targets:
            raise InputError(
                f"slate {slate.id!r}: the query is empty; query likelihood needs at least one token"
            )
        start, middle = self._tokens.literal(self._opening), self._tokens.literal(BEFORE_QUERY)
        room = self._context - len(start) - len(middle) - len(targets)
        if room < 1:
            raise InputError(
                f"slate {slate.id!r}: the query of {len(targets)} tokens does not fit a context of "
                f"{self._context}; it is never cut. Use a shorter query or a longer context."
            )
        prompts = []
        for index in sorted(shown.presentation.order):
            candidate = slate.candidates[index]
            text, escaped = one_line(candidate.full_text)
            ids, spelled = self._tokens.text(f" {text}" if text else "")
            kept = ids[: min(room, self.options.max_candidate_tokens)]
            whole = (*start, *kept, *middle, *targets[:-1])
            cut = len(ids) - len(kept)
            prompts.append(_Prompt(whole, targets, cut, escaped + spelled, places + signs))
        return prompts

    def _read(self, prompts: Sequence[_Prompt], names: Sequence[str]) -> list[float]:
        def readout(hidden: torch.Tensor, index: list[int]) -> torch.Tensor:
            targets = [token for i in index for token in prompts[i].targets]
            ids = torch.tensor(targets, device=hidden.device)
            return log_probability(hidden, self._head, ids)[:, None]

        return [float(value.mean()) for value in self._forward.read(prompts, names, readout)]


def _gather(shown: Shown, prompts: Sequence[_Prompt], scores: Sequence[float]) -> Scored:
    seen = shown.presentation.included()
    return Scored(
        scores=_spread(scores, seen, np.nan),
        prompts=len(prompts),
        tokens=sum(len(prompt.ids) for prompt in prompts),
        truncated=_spread([prompt.truncated for prompt in prompts], seen, 0).astype(np.int64),
        escaped=_spread([prompt.escaped for prompt in prompts], seen, 0).astype(np.int64),
        query_escaped=max((prompt.query_escaped for prompt in prompts), default=0),
    )


def _spread(values: Sequence[float], seen: BoolArray, filler: float) -> FloatArray:
    """Return (n,) values of the shown candidates, and the filler elsewhere."""
    result = np.full(len(seen), filler, dtype=np.float64)
    result[seen] = values
    return result


def open_likelihood(spec: str, **options: Any) -> LikelihoodScorer:
    """Load a model and wrap it.

    Args:
        spec: what `models.load` takes: "smollm2-135m", "hf:...", "gguf:...".
        options: fields of `LikelihoodOptions`, and device, dtype, revision, adapter.

    Raises:
        UsageError: an option is unknown; the surface's options have no meaning here.
    """
    given, loading, surface = split_options(options, LikelihoodOptions)
    own = LikelihoodOptions(**given)
    if surface != Surface():
        raise UsageError("query likelihood has no surface to set; drop the surface options")
    return LikelihoodScorer(load(spec, **loading), own)
