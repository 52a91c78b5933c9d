"""The local scorer: any transformers causal language model, read at its slots.

One forward pass per window; hidden states at the slots times the grade rows of
the output head, in float32. No sampling, no decoding.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import torch

from evenhand.errors import UsageError, require_count
from evenhand.models.forward import Forward
from evenhand.models.load import Loaded, load
from evenhand.present.surface import check_surface
from evenhand.score.base import GRADES, PromptBuilder, Reading, WindowPrompt, gather, score_prompts
from evenhand.score.readout import checked_head, expected_score, grade_probabilities, label_mass
from evenhand.score.tokens import TokenizerTokens, chat_of, single_token_signs
from evenhand.seeds import content_hash
from evenhand.types import Scale, Scored, Shown, Surface

LOAD_OPTIONS = frozenset({"device", "dtype", "revision", "adapter"})
FALLBACK_CONTEXT = 4096


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """Settings of a local scorer that change scores, and its batch size.

    Attributes:
        max_candidate_tokens: cut of each candidate; None = only what the context forces.
        context: most tokens of a prompt; None = what the model was made for.
        chat_template: None = the tokenizer's own, "plain" = no template.
        label_mass: also compute the grades' probability in the full vocabulary.
        token_budget: padded tokens of one batch; changes speed, not scores.
        width: default window.
    """

    max_candidate_tokens: int | None = 512
    context: int | None = None
    chat_template: str | None = None
    label_mass: bool = True
    token_budget: int = 8192
    width: int = 20

    def __post_init__(self) -> None:
        for name in ("token_budget", "width"):
            require_count(name, getattr(self, name))
        for name in ("max_candidate_tokens", "context"):
            if getattr(self, name) is not None:
                require_count(name, getattr(self, name))
        if not isinstance(self.label_mass, bool):
            raise UsageError(f"label_mass must be True or False, got {self.label_mass!r}")


class LocalScorer:
    """Grades candidates in windows with a transformers causal language model.

    Attributes:
        scale: "unit": the expected grade over the highest, in [0, 1].
        dtype: number type of the weights; the readout is float32 always.
    """

    scale: Scale = "unit"
    order_free = False
    channels = frozenset(
        {"order", "companions", "window", "marker", "skeleton", "rubric", "membership"}
    )
    max_window: int | None = None

    def __init__(
        self, loaded: Loaded, options: LocalOptions | None = None, surface: Surface | None = None
    ) -> None:
        """Wrap a loaded model (`models.load`).

        Raises:
            UsageError: the surface names something unknown.
            ScorerError: the architecture does not carry the attention seam, or its
                logits are not those of its output head.
        """
        self.options = options or LocalOptions()
        self.surface = surface or Surface()
        check_surface(self.surface)
        self.name: str = loaded.name
        self.default_window: int | None = self.options.width
        self._forward = Forward(loaded.model, token_budget=self.options.token_budget)
        self._head = checked_head(self._forward)
        tokens = TokenizerTokens(loaded.tokenizer)
        self._builder = PromptBuilder(
            tokens,
            chat_of(loaded.tokenizer, self.options.chat_template),
            self.options.context or context_of(self._forward.model),
            self.options.max_candidate_tokens,
            single_token_signs(tokens),
        )
        self.dtype = str(self._forward.model.dtype).removeprefix("torch.")
        self.revision = self._revision(loaded)

    def _revision(self, loaded: Loaded) -> str:
        settings = [
            self.options.max_candidate_tokens,
            self._builder.context,
            self.options.chat_template,
        ]
        # Not the texts: they are the surface's, which a presentation brings and a study records.
        return content_hash([loaded.revision, self.dtype, list(GRADES), settings])[:16]

    def prompts(self, shown: Shown) -> list[WindowPrompt]:
        """Return the window prompts of one Shown, as they are read.

        Raises:
            InputError: query and answer form are longer than the context.
            ScorerError: the template drops a text, or a grade is not one token.
        """
        surface = shown.presentation.surface
        return [self._builder.build(shown.slate, w, surface) for w in shown.presentation.windows]

    def score(self, shown: Sequence[Shown]) -> list[Scored]:
        """Score many slates and presentations; windows of all are batched by length.

        Raises:
            ScorerError: the model gave NaN, one window exceeds the memory, or the
                model cannot show the visibility that is asked.
        """
        return score_prompts(shown, self.prompts, self._read, gather)

    def _read(self, prompts: Sequence[WindowPrompt], names: Sequence[str]) -> list[Reading]:
        def readout(hidden: torch.Tensor, index: list[int]) -> torch.Tensor:
            grades = [prompts[i].grades for i in index for _ in prompts[i].readouts]
            ids = torch.tensor(grades, device=hidden.device)
            probabilities = grade_probabilities(hidden, self._head, ids)
            columns = [probabilities, expected_score(probabilities)[:, None]]
            if self.options.label_mass:
                columns.append(label_mass(hidden, self._head, ids)[:, None])
            return torch.cat(columns, dim=1)

        size = len(GRADES)
        return [
            Reading(
                value[:, :size], value[:, size], value[:, size + 1] if self.options.label_mass else None
            )
            for value in self._forward.read(prompts, names, readout)
        ]


def context_of(model: Any) -> int:
    """Return the most tokens a prompt may have, as the model's configuration says."""
    config = model.config.get_text_config()
    longest = int(getattr(config, "max_position_embeddings", None) or FALLBACK_CONTEXT)
    # Chunked attention is plain causal attention as long as a prompt stays in one chunk.
    return min(longest, int(getattr(config, "attention_chunk_size", None) or longest))


def split_options(
    options: Mapping[str, Any], kind: type[Any]
) -> tuple[dict[str, Any], dict[str, Any], Surface]:
    """Sort keyword options into those of `kind`, of `models.load`, and a surface.

    Raises:
        UsageError: an option is unknown; the message lists the known ones.
    """
    own = {field.name for field in fields(kind)}
    surface = {field.name for field in fields(Surface)}
    unknown = sorted(set(options) - own - surface - LOAD_OPTIONS)
    if unknown:
        known = sorted(own | surface | LOAD_OPTIONS)
        raise UsageError(f"unknown scorer options {unknown}; known are {known}")

    def take(names: Collection[str]) -> dict[str, Any]:
        return {name: value for name, value in options.items() if name in names}

    return take(own), take(LOAD_OPTIONS), Surface(**take(surface))


def open_local(spec: str, **options: Any) -> LocalScorer:
    """Load a model and wrap it.

    Args:
        spec: what `models.load` takes: "smollm2-135m", "hf:...", "gguf:...".
        options: fields of `LocalOptions` and of `Surface`, and device, dtype,
            revision, adapter.

    Raises:
        UsageError: an option is unknown.
    """
    given, loading, surface = split_options(options, LocalOptions)
    # Settings are checked before the weights, which take minutes, are fetched.
    own = LocalOptions(**given)
    check_surface(surface)
    return LocalScorer(load(spec, **loading), own, surface)
