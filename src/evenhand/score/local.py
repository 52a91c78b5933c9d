"""The local scorer: any transformers causal language model, read at its slots.

One forward pass per window; hidden states at the slots times the grade rows of
the output head, in float32. No sampling, no decoding.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch

from evenhand.errors import UsageError, require_count
from evenhand.models.forward import Forward
from evenhand.models.load import Loaded, load
from evenhand.present.surface import check_surface
from evenhand.score.base import GRADES, PromptBuilder, Reading, WindowPrompt, gather, score_prompts
from evenhand.score.isolated import pieces
from evenhand.score.readout import checked_head, expected_score, grade_probabilities, label_mass
from evenhand.score.shipped import Shipped, shipped_with
from evenhand.score.tokens import TokenizerTokens, chat_of, single_token_signs
from evenhand.seeds import content_hash
from evenhand.types import FloatArray, Scale, Scored, Shown, Surface, Visibility

LOAD_OPTIONS = frozenset({"device", "dtype", "revision", "adapter"})
FALLBACK_CONTEXT = 4096


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """Settings of a local scorer that change scores, and its batch size.

    Attributes:
        max_candidate_tokens: cut of each candidate; None = only what the context forces.
        context: most tokens of a prompt; None = what the model was made for, as far as
            the attention seam carries it (`models.limits`).
        chat_template: None = the tokenizer's own, "plain" = no template.
        label_mass: also compute the grades' probability in the full vocabulary.
        token_budget: padded tokens of one batch; changes speed, not scores.
        width: default window.
        compiled: on a GPU, read through compiled blocks (`models.forward`): for many windows.
    """

    max_candidate_tokens: int | None = 512
    context: int | None = None
    chat_template: str | None = None
    label_mass: bool = True
    token_budget: int = 8192
    width: int = 20
    compiled: bool = False

    def __post_init__(self) -> None:
        for name in ("token_budget", "width"):
            require_count(name, getattr(self, name))
        for name in ("max_candidate_tokens", "context"):
            if getattr(self, name) is not None:
                require_count(name, getattr(self, name))
        for name in ("label_mass", "compiled"):
            if not isinstance(getattr(self, name), bool):
                raise UsageError(f"{name} must be True or False, got {getattr(self, name)!r}")


class LocalScorer:
    """Grades candidates in windows with a transformers causal language model.

    Attributes:
        scale: "unit": the expected grade over the highest, in [0, 1].
        visibilities: what the model can show: all, or "sequential" alone where a state
            runs along the prompt past attention.
        dtype: number type of the weights; the readout is float32 always.
        trained: the form that it was trained on, where its `scorer.json` says so.
    """

    trained: Shipped | None = None

    scale: Scale = "unit"
    visibilities: frozenset[Visibility] = frozenset({"sequential", "parallel", "isolated"})
    channels = frozenset(
        {"order", "companions", "window", "marker", "skeleton", "rubric", "membership"}
    )
    max_window: int | None = None

    def __init__(
        self, loaded: Loaded, options: LocalOptions | None = None, surface: Surface | None = None
    ) -> None:
        """Wrap a loaded model (`models.load`).

        Raises:
            UsageError: the surface names something unknown, or the context is more than
                the seam carries.
            ScorerError: the architecture does not carry the attention seam, its logits
                are not those of its output head, or it cannot show the visibility.
        """
        self.options = options or LocalOptions()
        self.surface = surface or Surface()
        check_surface(self.surface)
        self.name: str = loaded.name
        self.default_window: int | None = self.options.width
        self._forward = Forward(
            loaded.model, token_budget=self.options.token_budget, compiled=self.options.compiled
        )
        if not self._forward.branches:
            self.visibilities = frozenset({"sequential"})
        if self.surface.visibility not in self.visibilities:
            raise self._forward.no_branches()
        self._head = checked_head(self._forward)
        self._ids: dict[tuple[int, ...], torch.Tensor] = {}
        tokens = TokenizerTokens(loaded.tokenizer)
        self._builder = PromptBuilder(
            tokens,
            chat_of(loaded.tokenizer, self.options.chat_template),
            self._context(),
            self.options.max_candidate_tokens,
            single_token_signs(tokens),
        )
        self.dtype = str(self._forward.model.dtype).removeprefix("torch.")
        self.revision = self._revision(loaded)

    @property
    def order_free(self) -> bool:
        """Whether the scorer's own surface isolates candidates; it then shows no other."""
        return self.surface.visibility == "isolated"

    def _context(self) -> int:
        """Return the most tokens a candidate's prompt may have, as asked and as the seam carries."""
        longest = self._forward.longest
        asked = self.options.context or context_of(self._forward.model)
        if longest is not None and (self.options.context or 0) > longest:
            raise UsageError(
                f"context={asked}, but beyond {longest} tokens {self.name} reads a prompt in a way "
                f"that is not carried here; use a context of at most {longest}"
            )
        return min(asked, longest or asked)

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

        A window of isolated candidates that is longer than the token budget is read
        in pieces, and what they share in each; its tokens count as often as read.

        Raises:
            UsageError: the scorer is order-free by its own surface, and a presentation
                does not isolate candidates.
            ScorerError: the model gave NaN, one window exceeds the memory, or the
                model cannot show the visibility that is asked.
        """
        if self.order_free:
            self._require_isolated(shown)
        return score_prompts(shown, self.prompts, self._read, gather)

    def _require_isolated(self, shown: Sequence[Shown]) -> None:
        """Refuse what would belie the declaration, by which studies reuse rows."""
        for one in shown:
            visibility = one.presentation.surface.visibility
            if visibility != "isolated":
                raise UsageError(
                    f"slate {one.slate.id!r} is to be shown with visibility {visibility!r}, but "
                    f"{self.name} was opened with visibility 'isolated', which makes it order-free; "
                    f"open it with visibility={visibility!r}, or show it the surface it has"
                )

    def _read(self, prompts: Sequence[WindowPrompt], names: Sequence[str]) -> list[Reading]:
        cut = [pieces(prompt, self.options.token_budget) for prompt in prompts]
        values = self._values(
            [piece for own in cut for piece in own],
            [name for name, own in zip(names, cut, strict=True) for _ in own],
        )
        taken = iter(values)
        return [
            _reading(np.concatenate([next(taken) for _ in own]), prompt, own)
            for prompt, own in zip(prompts, cut, strict=True)
        ]

    def _values(self, prompts: Sequence[WindowPrompt], names: Sequence[str]) -> list[FloatArray]:
        """Return (B, G + 1 or G + 2) of each prompt: grades, score, label mass if wanted."""

        def readout(hidden: torch.Tensor, index: list[int]) -> torch.Tensor:
            ids = self._grade_ids([prompts[i] for i in index]).expand(len(hidden), -1)
            probabilities = grade_probabilities(hidden, self._head, ids)
            columns = [probabilities, expected_score(probabilities)[:, None]]
            if self.options.label_mass:
                columns.append(label_mass(hidden, self._head, ids)[:, None])
            return torch.cat(columns, dim=1)

        return self._forward.read(prompts, names, readout)

    def _grade_ids(self, prompts: Sequence[WindowPrompt]) -> torch.Tensor:
        """Return (1 or s, G) ids of the grades, on the device; one row where all have the same."""
        kinds = {prompt.grades for prompt in prompts}
        if len(kinds) > 1:
            rows = [prompt.grades for prompt in prompts for _ in prompt.readouts]
            return torch.tensor(rows, device=self._forward.device)
        [kind] = kinds
        if kind not in self._ids:
            # Kept: a copy from the host makes it wait for all that the device has to do.
            self._ids[kind] = torch.tensor([kind], device=self._forward.device)
        return self._ids[kind]


def _reading(values: FloatArray, prompt: WindowPrompt, read: Sequence[WindowPrompt]) -> Reading:
    size = len(GRADES)
    mass = values[:, size + 1] if values.shape[1] > size + 1 else None
    reread = sum(len(piece.ids) for piece in read) - len(prompt.ids)
    return Reading(values[:, :size], values[:, size], mass, reread)


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
    """Load a model and wrap it; a trained one is shown the form of its training.

    Args:
        spec: what `models.load` takes: "smollm2-135m", "hf:...", "gguf:...".
        options: fields of `LocalOptions` and of `Surface`, and device, dtype,
            revision, adapter. They go before what `scorer.json` in the folder of
            the model or adapter says.

    Raises:
        UsageError: an option is unknown.
        InputError: `scorer.json` is damaged, or of other words than this version has.
        ScorerError: the grades are other tokens than they were in training.
    """
    given, loading, surface = split_options(options, LocalOptions)
    # Settings are checked before anything, which may take minutes, is fetched.
    own = LocalOptions(**given)
    check_surface(surface)
    named = {name: loading[name] for name in ("revision", "adapter") if name in loading}
    shipped = shipped_with(spec, **named)
    if shipped is not None:
        given, surface = shipped.under(given, options)
        # Training moves the grades against each other alone: their share of all words says nothing.
        own = LocalOptions(**{"label_mass": False, **given})
        check_surface(surface)
    scorer = LocalScorer(load(spec, **loading), own, surface)
    if shipped is not None:
        shipped.check(scorer._builder)
        scorer.trained = shipped
    return scorer
