"""Which prompts an endpoint is sent: ids of a known tokenizer, chat messages, or plain text."""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields
from typing import Any

from evenhand.errors import UsageError, require_count
from evenhand.models.tokenizer import load_tokenizer
from evenhand.score.base import PromptBuilder
from evenhand.score.services.asked import Composer, IdComposer, Mode, TextComposer
from evenhand.score.tokens import TokenizerTokens, chat_of, single_token_signs
from evenhand.types import Surface

# A tokenizer without a limit of its own says so by a number like this or above.
_NO_LIMIT = 10**9
_FOR_TEXTS = ("prefill", "space", "system")


@dataclass(frozen=True, slots=True)
class ComposerOptions:
    """What decides the prompts beside the surface.

    Attributes:
        tokenizer: of the model that the server runs (`models.tokenizer`): prompts go
            out as token ids, over completions. None = texts, tokenised by the server.
        chat_template: None = the tokenizer's or the server's, "plain" = none.
        max_candidate_tokens: cut of each candidate; None = none but what the context
            forces. Counted in words where no tokenizer is given.
        context: most tokens of a prompt; None = what the tokenizer says. What is too
            long for the server is refused there.
        prefill, space, system: of prompts in texts; see `asked.TextComposer`.

    Raises:
        UsageError: a setting is unknown, or stands where it would do nothing.
    """

    tokenizer: str | None = None
    chat_template: str | None = None
    max_candidate_tokens: int | None = 512
    context: int | None = None
    prefill: str = "continue"
    space: str = "prefix"
    system: bool = True

    def __post_init__(self) -> None:
        if self.chat_template not in (None, "plain"):
            raise UsageError(
                f"unknown chat_template {self.chat_template!r}; known are None (own) and 'plain'"
            )
        for name in ("max_candidate_tokens", "context"):
            if getattr(self, name) is not None:
                require_count(name, getattr(self, name))
        if not isinstance(self.system, bool):
            raise UsageError(f"system must be True or False, got {self.system!r}")
        if self.tokenizer is None and self.context is not None:
            raise UsageError("context counts tokens, so it needs tokenizer=MODEL")
        defaults = {one.name: one.default for one in fields(self)}
        idle = [name for name in _FOR_TEXTS if getattr(self, name) != defaults[name]]
        if self.tokenizer is not None and idle:
            raise UsageError(f"{', '.join(idle)} is for prompts in texts; a tokenizer sends token ids")


def composer_settings(options: ComposerOptions) -> list[Any]:
    """Return the settings that move scores, as plain values; the tokenizer has an identity."""
    return list(astuple(options)[1:])


def composer_of(
    options: ComposerOptions, mode: Mode, api: str | None, surface: Surface
) -> tuple[Composer, str]:
    """Return what makes the prompts, and the identity of its tokenizer ("" for texts).

    Raises:
        UsageError: settings that do not go together.
        MissingExtraError: transformers is not installed.
        InputError, ScorerError: the tokenizer cannot be loaded.
    """
    if options.tokenizer is not None:
        if api == "chat":
            raise UsageError("a tokenizer sends token ids, which chat completions do not take")
        return _of_ids(options, options.tokenizer)
    if mode == "prompt":
        raise UsageError(
            "mode 'prompt' needs tokenizer=MODEL, the one of the model that the server runs: "
            "token ids, not text, go to the engine"
        )
    if surface.markers == "single":
        raise UsageError("markers 'single' are tokens, so they need tokenizer=MODEL")
    plain = options.chat_template == "plain"
    if (api == "completions") is not plain and api is not None:
        raise UsageError(
            "completions without a tokenizer take the plain form, for base models: give "
            "api='completions' and chat_template='plain' together, or tokenizer=MODEL for its template"
        )
    how = (options.prefill, options.space, options.system, options.max_candidate_tokens)
    return TextComposer(not plain, *how), ""


def _of_ids(options: ComposerOptions, spec: str) -> tuple[Composer, str]:
    tokenizer, identity = load_tokenizer(spec)
    tokens = TokenizerTokens(tokenizer)
    builder = PromptBuilder(
        tokens,
        chat_of(tokenizer, options.chat_template),
        options.context or min(int(tokenizer.model_max_length or _NO_LIMIT), _NO_LIMIT),
        options.max_candidate_tokens,
        single_token_signs(tokens),
    )
    return IdComposer(builder), identity
