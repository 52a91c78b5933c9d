"""A reader that is a local causal language model, on the model's own attention.

Answers are greedy, at most 64 tokens, up to the end of the line or of the turn.
Verdicts compare how likely the allowed labels are after the prompt: by default the
sum of the log-probabilities of a label's tokens, which is the log-probability that
the model goes on with that label; "mean" divides by their number. Probabilities
are in float32. Of equally likely labels the first in `verdicts.LABELS` is given.

Prompts are sorted by length and padded on the left in batches; an output does not
depend on its batch beyond float error.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import torch

from evenhand.decide.answers import first_line
from evenhand.decide.prompts import PROMPTS, Part, Task, check_task, render
from evenhand.decide.reading import Evidence, Reading
from evenhand.decide.verdicts import LABELS
from evenhand.errors import UsageError
from evenhand.measure.checks import choice, whole
from evenhand.models.attention import pad
from evenhand.models.batching import batches
from evenhand.models.generate import greedy, stop_ids
from evenhand.score.base import common_cap
from evenhand.score.local import context_of
from evenhand.score.tokens import TokenizerTokens, chat_of
from evenhand.seeds import content_hash


@dataclass(frozen=True, slots=True)
class ReaderOptions:
    """Settings of a local reader.

    Attributes:
        max_tokens: longest answer.
        max_candidate_tokens: cut of each candidate; the context may force a smaller one.
        context: most tokens of prompt and answer; None = what the model was made for.
        chat_template: None = the tokenizer's own, "plain" = none.
        verdict: how the likelihoods of labels are compared, "sum" or "mean".
        token_budget: padded tokens of a batch; changes speed, not outputs.
    """

    max_tokens: int = 64
    max_candidate_tokens: int = 512
    context: int | None = None
    chat_template: str | None = None
    verdict: Literal["sum", "mean"] = "sum"
    token_budget: int = 8192

    def __post_init__(self) -> None:
        for name in ("max_tokens", "max_candidate_tokens", "token_budget", "context"):
            value = getattr(self, name)
            if value is not None or name != "context":
                whole(name, value)
        choice("verdict", self.verdict, ("sum", "mean"))
        if self.chat_template is not None and not isinstance(self.chat_template, str):
            raise UsageError(
                f"chat_template must be a template, 'plain' or None, got {self.chat_template!r}"
            )


@dataclass(frozen=True, slots=True)
class _Prompt:
    ids: tuple[int, ...]
    cut: int


class LocalReader:
    """Reads with a transformers causal language model that is its own.

    Attributes:
        task, options: as given. name: the model's.
    """

    def __init__(self, loaded: Any, task: Task, options: ReaderOptions | None = None) -> None:
        """Wrap a freshly loaded model (`models.load`); one that scores uses another attention.

        Raises:
            UsageError: unknown task.
        """
        check_task(task)
        self.task, self.options = task, options or ReaderOptions()
        self.name = str(loaded.name)
        self._model, self._tokenizer = loaded.model, loaded.tokenizer
        self._tokens = TokenizerTokens(loaded.tokenizer)
        self._chat = chat_of(loaded.tokenizer, self.options.chat_template)
        self._context = self.options.context or context_of(loaded.model)
        self._cache = _cache_name(loaded.model)
        stops = sorted(stop_ids(loaded.model, loaded.tokenizer))
        self._pad = next((i for i in (loaded.tokenizer.pad_token_id, *stops) if i is not None), 0)
        # Labels continue the prefilled line, so a space comes first.
        self._labels = {label: self._tokens.literal(f" {words}") for label, words in LABELS.items()}
        self.revision = self._identity(str(loaded.revision))

    def _identity(self, weights: str) -> str:
        settings = {k: v for k, v in asdict(self.options).items() if k != "token_budget"}
        dtype = str(self._model.dtype).removeprefix("torch.")
        form = [part.text for part in render(self.task, "", (), self._chat)]
        return content_hash([weights, dtype, self.task, settings, asdict(PROMPTS[self.task]), form])[
            :16
        ]

    def read(self, evidence: Sequence[Evidence]) -> list[Reading]:
        """Read many, in the given order; one that does not fit is missing and says so."""
        results: list[Reading | None] = [None] * len(evidence)
        prompts: dict[int, _Prompt] = {}
        for place, one in enumerate(evidence):
            built = self._build(one)
            if isinstance(built, str):
                results[place] = Reading(None, 0, built)
            else:
                prompts[place] = built
        rows = [one.ids for one in prompts.values()]
        outputs = self._answers(rows) if self.task == "answer" else self._verdicts(rows)
        for (place, prompt), output in zip(prompts.items(), outputs, strict=True):
            results[place] = Reading(output, prompt.cut)
        return [one for one in results if one is not None]

    def label_scores(self, evidence: Evidence) -> dict[str, float]:
        """Return the log-likelihood of each allowed label, as the options compare them.

        Raises:
            UsageError: the prompt does not fit the context.
        """
        built = self._build(evidence)
        if isinstance(built, str):
            raise UsageError(built)
        return dict(zip(self._labels, self._likelihoods([built.ids])[0].tolist(), strict=True))

    def prompt_ids(self, evidence: Evidence) -> tuple[int, ...]:
        """Return the ids that the model is given.

        Raises:
            UsageError: the prompt does not fit the context.
        """
        built = self._build(evidence)
        if isinstance(built, str):
            raise UsageError(built)
        return built.ids

    def _build(self, evidence: Evidence) -> _Prompt | str:
        parts = render(self.task, evidence.query, evidence.texts, self._chat)
        coded = [(part, self._encode(part)) for part in parts]
        fixed = sum(len(ids) for part, ids in coded if part.kind != "text")
        after = self.options.max_tokens if self.task == "answer" else self._longest_label
        room = self._context - fixed - after
        lengths = [len(ids) for part, ids in coded if part.kind == "text"]
        if room < (1 if lengths else 0):
            return (
                f"instructions, query and answer need more than the context of {self._context} tokens"
            )
        cap = min(common_cap(lengths, room), self.options.max_candidate_tokens)
        kept = [ids[:cap] if part.kind == "text" else ids for part, ids in coded]
        cut = sum(max(0, length - cap) for length in lengths)
        return _Prompt(tuple(token for ids in kept for token in ids), cut)

    @property
    def _longest_label(self) -> int:
        return max(len(ids) for ids in self._labels.values())

    def _encode(self, part: Part) -> tuple[int, ...]:
        # Foreign text stays text: what it spells of the template is no control token.
        return (
            self._tokens.literal(part.text)
            if part.kind == "literal"
            else self._tokens.text(part.text)[0]
        )

    def _padded(self, rows: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        length = max(map(len, rows))
        ids = pad(rows, length, self._pad, side="left")
        mask = pad([[1] * len(row) for row in rows], length, 0, side="left")
        return ids.to(self._model.device), mask.to(self._model.device)

    def _answers(self, rows: Sequence[Sequence[int]]) -> list[str]:
        most, budget = self.options.max_tokens, self.options.token_budget
        found = greedy(self._model, self._tokenizer, rows, most, token_budget=budget, one_line=True)
        return [first_line(str(self._tokenizer.decode(ids, skip_special_tokens=True))) for ids in found]

    def _verdicts(self, rows: Sequence[Sequence[int]]) -> list[str]:
        labels, found = list(self._labels), [""] * len(rows)
        lengths = [len(row) + self._longest_label for row in rows]
        for batch in batches(lengths, self.options.token_budget):
            best = self._likelihoods([rows[place] for place in batch]).argmax(dim=1)
            for place, label in zip(batch, best.tolist(), strict=True):
                found[place] = labels[label]
        return found

    def _likelihoods(self, rows: Sequence[Sequence[int]]) -> torch.Tensor:
        """Return (rows, labels) float32; the prompt is read once, each label after it."""
        ids, mask = self._padded(rows)
        position = (mask.cumsum(1) - 1).clamp(min=0)
        with torch.inference_mode():
            read = self._model(
                input_ids=ids,
                attention_mask=mask,
                position_ids=position,
                use_cache=True,
                logits_to_keep=1,
            )
            found = [self._likelihood(read, mask, position, label) for label in self._labels.values()]
        return torch.stack(found, dim=1).cpu()

    def _likelihood(
        self, read: Any, mask: torch.Tensor, position: torch.Tensor, label: tuple[int, ...]
    ) -> torch.Tensor:
        rows, logits = len(mask), read.logits[:, -1:]
        if len(label) > 1:
            given = torch.tensor([label[:-1]] * rows, device=mask.device)
            steps = torch.arange(1, len(label), device=mask.device)
            after = self._model(
                input_ids=given,
                attention_mask=torch.cat([mask, torch.ones_like(given)], dim=1),
                position_ids=position[:, -1:] + steps,
                # A label must not see the labels tried before it.
                use_cache=True,
                **{self._cache: copy.deepcopy(read[self._cache])},
            )
            logits = torch.cat([logits, after.logits], dim=1)
        wanted = torch.tensor([label] * rows, device=mask.device)
        log = logits.float().log_softmax(dim=-1).gather(2, wanted[:, :, None])[:, :, 0]
        found: torch.Tensor = log.sum(dim=1) if self.options.verdict == "sum" else log.mean(dim=1)
        return found


def _cache_name(model: Any) -> str:
    """Return what this transformers calls what a model remembers of a prompt."""
    known = inspect.signature(type(model).forward).parameters
    return "cache" if "cache" in known else "past_key_values"
