"""Cross-encoders and reward models: one text pair, one number, no companions.

Any sequence classification model of transformers. Candidates are read one by one, so
no order and no companion can reach a score; pairs of all slates are batched by length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from typing import Any, Literal

import numpy as np
import torch

from evenhand.errors import InputError, ScorerError, UsageError, require_count
from evenhand.models.attention import pad
from evenhand.models.batching import batches
from evenhand.models.classifier import load_classifier
from evenhand.models.load import Loaded
from evenhand.score.base import score_prompts
from evenhand.score.frame import chat_frame, pair_frame
from evenhand.score.tokens import TokenizerTokens
from evenhand.seeds import content_hash
from evenhand.types import FloatArray, IntArray, Scale, Scored, Shown, Slate, Surface

Kind = Literal["pair", "reward"]


@dataclass(frozen=True, slots=True)
class CrossOptions:
    """Settings of a cross-encoder or reward model.

    Attributes:
        kind: "pair": query and candidate as a text pair, in the tokenizer's own form.
            "reward": the query as the user's turn and the candidate as the answer, in
            the model's chat template.
        sigmoid: scores are the logistic function of the logit, in [0, 1]; else logits.
        label: of a model with several labels, the one whose probability is the score.
        max_candidate_tokens: cut of each candidate; None = only what the context forces.
        context: most tokens of a pair; None = what model and tokenizer were made for.
        token_budget: padded tokens of a batch; changes speed, not scores.

    Raises:
        UsageError: a value is not of its kind.
    """

    kind: Kind = "pair"
    sigmoid: bool = False
    label: int | None = None
    max_candidate_tokens: int | None = None
    context: int | None = None
    token_budget: int = 8192

    def __post_init__(self) -> None:
        if self.kind not in ("pair", "reward"):
            raise UsageError(f"unknown kind {self.kind!r}; known are 'pair' and 'reward'")
        if not isinstance(self.sigmoid, bool):
            raise UsageError(f"sigmoid must be True or False, got {self.sigmoid!r}")
        if self.label is not None and (isinstance(self.label, bool) or not isinstance(self.label, int)):
            raise UsageError(f"label is the number of an output, from 0; got {self.label!r}")
        if self.label is not None and self.sigmoid:
            raise UsageError("sigmoid is for the logit of a single label; with label drop it")
        require_count("token_budget", self.token_budget)
        for name in ("max_candidate_tokens", "context"):
            if getattr(self, name) is not None:
                require_count(name, getattr(self, name))


@dataclass(frozen=True, slots=True)
class _Pair:
    ids: tuple[int, ...]
    types: tuple[int, ...]
    truncated: int
    escaped: int
    query_escaped: int


class CrossScorer:
    """Scores each candidate with the query by a sequence classification model.

    What a text spells of the tokenizer's special tokens is read as text and counted.
    The query is never cut; a slate whose query leaves no room is a failure of its own.

    Cost: one prompt a candidate, and its tokens.

    Attributes:
        scale: "raw" (logits), or "unit" with `sigmoid` or `label`.
        dtype: number type of the weights; scores are computed from logits in float32.
    """

    order_free = True
    channels = frozenset({"order", "companions", "window", "membership"})
    max_window: int | None = None
    default_window: int | None = None
    surface = Surface()

    def __init__(self, loaded: Loaded, options: CrossOptions | None = None) -> None:
        """Wrap a loaded model (`models.classifier.load_classifier`).

        Raises:
            UsageError: the label is none of the model's.
            ScorerError: the model has several labels and none is chosen; its chat
                template drops a text.
        """
        self.options = options or CrossOptions()
        self._model, self._tokenizer = loaded.model, loaded.tokenizer
        _require_label(loaded, self.options.label)
        self.scale: Scale = "unit" if self.options.sigmoid or self.options.label is not None else "raw"
        self.name = f"cross:{loaded.name}"
        self.dtype = str(loaded.dtype)
        self._tokens = TokenizerTokens(loaded.tokenizer)
        self._context = self.options.context or context_of(loaded.model, loaded.tokenizer)
        made = chat_frame if self.options.kind == "reward" else pair_frame
        self._frame = made(loaded.tokenizer, self._tokens)
        self._pad = _pad_id(loaded.model, loaded.tokenizer)
        own = self.options
        settings = [own.kind, own.sigmoid, own.label, own.max_candidate_tokens, self._context]
        frame = astuple(self._frame)
        self.revision = content_hash([loaded.revision, self.dtype, settings, frame])[:16]

    def score(self, shown: Sequence[Shown]) -> list[Scored]:
        """Score every shown candidate on its own; pairs of all Shown are batched by length.

        Raises:
            ScorerError: the model gave a number that is not finite.
        """
        return score_prompts(shown, self._build, self._read, _gather)

    def _build(self, shown: Shown) -> list[_Pair]:
        slate = shown.slate
        query, query_escaped = self._tokens.text(slate.query)
        fixed = len(query) + self._frame.size
        room = self._context - fixed
        most = min(room, self.options.max_candidate_tokens or room)
        pairs = []
        for index in sorted(shown.presentation.order):
            text, escaped = self._tokens.text(slate.candidates[index].full_text)
            if room < min(1, len(text)):
                raise InputError(_no_room(slate, fixed, self._context))
            ids, types = self._frame.around(query, text[:most])
            cut = max(0, len(text) - most)
            pairs.append(_Pair(ids, types, cut, escaped, query_escaped))
        return pairs

    def _read(self, pairs: Sequence[_Pair], names: Sequence[str]) -> list[float]:
        found = [0.0] * len(pairs)
        lengths = [len(pair.ids) for pair in pairs]
        # Without a padding token only one pair at a time says where it ends.
        budget = self.options.token_budget if self._pad is not None else 1
        for batch in batches(lengths, budget):
            scores = self._forward([pairs[i] for i in batch])
            for place, score in zip(batch, scores.tolist(), strict=True):
                if not np.isfinite(score):
                    raise ScorerError(f"slate {names[place]!r}: {self.name} gave {score}; use float32")
                found[place] = score
        return found

    def _forward(self, pairs: Sequence[_Pair]) -> torch.Tensor:
        longest = max(len(pair.ids) for pair in pairs)
        device = self._model.device
        inputs = {
            "input_ids": pad([pair.ids for pair in pairs], longest, self._pad or 0),
            "attention_mask": pad([[1] * len(pair.ids) for pair in pairs], longest, 0),
        }
        if "token_type_ids" in self._tokenizer.model_input_names:
            inputs["token_type_ids"] = pad([pair.types for pair in pairs], longest, 0)
        with torch.inference_mode():
            logits = self._model(
                **{key: value.to(device) for key, value in inputs.items()}
            ).logits.float()
        found: torch.Tensor
        if self.options.label is not None:
            found = logits.softmax(dim=1)[:, self.options.label]
        else:
            found = (logits.sigmoid() if self.options.sigmoid else logits)[:, 0]
        return found.cpu()


def context_of(model: Any, tokenizer: Any) -> int:
    """Return the most tokens of a pair that model and tokenizer were made for."""
    longest = int(getattr(model.config, "max_position_embeddings", None) or 512)
    embeddings = getattr(model.base_model, "embeddings", None)
    # RoBERTa and its kin number their positions from the padding id on.
    offset = getattr(embeddings, "padding_idx", None)
    longest -= 0 if offset is None else int(offset) + 1
    # Tokenizers that know no limit name a huge one.
    return min(longest, int(min(tokenizer.model_max_length, 10**9)))


def _require_label(loaded: Loaded, label: int | None) -> None:
    labels = int(loaded.model.config.num_labels)
    if label is None and labels != 1:
        raise ScorerError(
            f"{loaded.name} has {labels} labels {list(loaded.model.config.id2label.values())}; a score "
            "needs one number. Choose one by label=0 and so on; its probability is the score."
        )
    if label is not None and not (labels > 1 and 0 <= label < labels):
        known = f"0 to {labels - 1}" if labels > 1 else "none: a single logit is the score"
        raise UsageError(f"{loaded.name}: label {label} is not one of the model's; known are {known}")


def _pad_id(model: Any, tokenizer: Any) -> int | None:
    """Return the padding id, and make the model use it to find where a text ends."""
    found = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else model.config.pad_token_id
    if model.config.pad_token_id is None:
        model.config.pad_token_id = found
    return None if found is None else int(found)


def _no_room(slate: Slate, fixed: int, context: int) -> str:
    return (
        f"slate {slate.id!r}: the query and what stands around it take {fixed} tokens of a context of "
        f"{context}; the query is never cut. Use a shorter query or a model with a longer context."
    )


def _gather(shown: Shown, pairs: Sequence[_Pair], scores: Sequence[float]) -> Scored:
    seen = shown.presentation.included()
    result: FloatArray = np.full(len(seen), np.nan)
    counts: IntArray = np.zeros((2, len(seen)), dtype=np.int64)
    result[seen] = scores
    counts[0, seen] = [pair.truncated for pair in pairs]
    counts[1, seen] = [pair.escaped for pair in pairs]
    return Scored(
        result,
        prompts=len(pairs),
        tokens=sum(len(pair.ids) for pair in pairs),
        truncated=counts[0],
        escaped=counts[1],
        query_escaped=max((pair.query_escaped for pair in pairs), default=0),
    )


_LOADING = ("device", "dtype", "revision")


def open_cross(model_id: str, **options: Any) -> CrossScorer:
    """Load a cross-encoder or reward model and wrap it.

    Args:
        model_id: hub id, "org/name@revision", or a folder.
        options: fields of `CrossOptions`, and device, dtype and revision.

    Raises:
        UsageError: an option is unknown or out of its range.
    """
    own = {each.name for each in fields(CrossOptions)}
    unknown = sorted(options.keys() - own - set(_LOADING))
    if unknown:
        known = sorted(own | set(_LOADING))
        raise UsageError(f"cross:{model_id}: unknown options {unknown}; known are {known}")
    asked = CrossOptions(**{name: options[name] for name in options.keys() & own})
    loading = {name: options[name] for name in _LOADING if name in options}
    return CrossScorer(load_classifier(model_id, **loading), asked)
