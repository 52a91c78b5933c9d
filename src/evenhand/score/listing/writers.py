"""Who writes the ranking: a chat endpoint, a local model, or a function of yours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from evenhand.errors import UsageError
from evenhand.models.generate import greedy
from evenhand.models.load import Loaded
from evenhand.present.surface import Messages
from evenhand.score.identity import revision_of
from evenhand.score.listing.rankprompt import RankPrompt
from evenhand.score.services.address import KEY_VARIABLE, endpoint_address, key_headers
from evenhand.score.services.answers import chat_text
from evenhand.score.services.budget import reported_tokens
from evenhand.score.services.http import Caller, HttpOptions
from evenhand.score.tokens import TokenizerTokens, chat_of
from evenhand.seeds import content_hash

FALLBACK_CONTEXT = 4096


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of one prompt.

    Attributes:
        text: the answer, or None. failure: why there is none, or None.
        tokens: tokens read and written; 0 when not known.
    """

    text: str | None
    failure: str | None = None
    tokens: int = 0


class Writer(Protocol):
    """Writes an answer to each prompt."""

    @property
    def name(self) -> str:
        """How people call it."""
        ...

    @property
    def revision(self) -> str:
        """Identifies what changes its answers."""
        ...

    @property
    def unseen(self) -> tuple[str, ...]:
        """What the revision does not cover."""
        ...

    def write(self, prompts: Sequence[RankPrompt], max_tokens: Sequence[int]) -> list[Reply]:
        """Answer many prompts, in the given order, each within its number of tokens."""
        ...


class ChatWriter:
    """An OpenAI-compatible chat endpoint, temperature 0.

    Attributes:
        model: as the endpoint calls it.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        key_variable: str | None = None,
        revision: str | None = None,
        http: HttpOptions | None = None,
    ) -> None:
        """Name model and service; nothing is sent.

        Args:
            model: as the endpoint calls it.
            base_url: up to and without "/chat/completions"; None = OPENAI_BASE_URL.
            key_variable: environment variable that holds the key; None = OPENAI_API_KEY,
                if it is set.
            revision: your name for the weights behind the endpoint, which cannot be seen
                from here; change it with them.
            http: how the service is asked.

        Raises:
            UsageError: no model, no address, a revision that is no name, or a named key
                variable that is empty.
        """
        if revision is not None and (not isinstance(revision, str) or not revision):
            raise UsageError(f"revision must be a name, got {revision!r}")
        if not model.strip():
            raise UsageError("an endpoint needs a model: listwise:openai:MODEL")
        self.model = model
        self.name = f"openai:{model}"
        self._caller = Caller(endpoint_address(base_url), http, key_headers(key_variable, KEY_VARIABLE))
        made = content_hash([self._caller.base_url, model])[:16]
        self.revision = f"{revision} {made}" if revision else made
        self.unseen = () if revision else ("the weights behind the service",)

    def write(self, prompts: Sequence[RankPrompt], max_tokens: Sequence[int]) -> list[Reply]:
        """Send one request a prompt, side by side.

        Raises:
            ScorerError: the service refuses, or is not there.
        """
        bodies = [
            {
                "model": self.model,
                "messages": prompt.messages(),
                "temperature": 0,
                "max_tokens": most,
            }
            for prompt, most in zip(prompts, max_tokens, strict=True)
        ]
        answers = self._caller.post("/chat/completions", bodies)
        return [
            Reply(None, answer.failure or "no answer") if answer.body is None else _said(answer.body)
            for answer in answers
        ]

    def close(self) -> None:
        """Give the connections back; nothing can be written any more."""
        self._caller.close()


def _said(body: Any) -> Reply:
    tokens = reported_tokens(body) or 0
    text, failure = chat_text(body)
    return Reply(None, failure, tokens) if failure else Reply(text or "", None, tokens)


class LocalWriter:
    """A transformers causal language model, greedy, on its own attention."""

    unseen: tuple[str, ...] = ()

    def __init__(
        self,
        loaded: Loaded,
        *,
        chat_template: str | None = None,
        context: int | None = None,
        token_budget: int = 8192,
    ) -> None:
        """Wrap a loaded model (`models.load`).

        Args:
            loaded: model and tokenizer.
            chat_template: None = the tokenizer's own, "plain" = none.
            context: most tokens of prompt and answer; None = what the model was made for.
            token_budget: padded tokens of a batch; changes speed, not answers.

        Raises:
            UsageError: the name of the template is unknown.
        """
        self.name = str(loaded.name)
        self._model, self._tokenizer, self._budget = loaded.model, loaded.tokenizer, token_budget
        self._tokens = TokenizerTokens(loaded.tokenizer)
        self._chat = chat_of(loaded.tokenizer, chat_template)
        made_for = getattr(loaded.model.config.get_text_config(), "max_position_embeddings", None)
        self._context = context or int(made_for or FALLBACK_CONTEXT)
        settings = [loaded.revision, str(loaded.dtype), chat_template, self._context]
        self.revision = content_hash(settings)[:16]

    def write(self, prompts: Sequence[RankPrompt], max_tokens: Sequence[int]) -> list[Reply]:
        """Continue each prompt; one that does not fit the context is a failure of its own."""
        rows = [self._ids(prompt) for prompt in prompts]
        written: list[Reply] = [
            Reply(None, f"prompt and answer of {len(row) + most} tokens are over the context of "
                    f"{self._context}; choose a smaller size or max_candidate_words")
            if len(row) + most > self._context
            else Reply("")
            for row, most in zip(rows, max_tokens, strict=True)
        ]  # fmt: skip
        for most in sorted(set(max_tokens)):
            places = [
                place
                for place, one in enumerate(written)
                if max_tokens[place] == most and one.failure is None
            ]
            asked = [rows[place] for place in places]
            found = greedy(self._model, self._tokenizer, asked, most, token_budget=self._budget)
            for place, ids in zip(places, found, strict=True):
                text = str(self._tokenizer.decode(ids, skip_special_tokens=True))
                written[place] = Reply(text, None, len(rows[place]) + len(ids))
        return written

    def _ids(self, prompt: RankPrompt) -> tuple[int, ...]:
        """Return the ids of a prompt; foreign text stays text, whatever tokens it spells."""
        turns = [("system", prompt.system), ("user", prompt.user)]
        messages: Messages = [{"role": role, "content": text} for role, text in turns]
        try:
            rendered = self._chat(messages)
        except Exception:
            rendered = ""
        # Templates without a system role raise or drop it: the instruction opens the user's turn.
        if prompt.system not in rendered:
            joined = f"{prompt.system}\n\n{prompt.user}"
            rendered = self._chat([{"role": "user", "content": joined}])
        ids: list[int] = []
        for text, ours in prompt.pieces(rendered):
            ids += self._tokens.literal(text) if ours else self._tokens.text(text)[0]
        return tuple(ids)


class FunctionWriter:
    """A function of chat messages that returns the answer's text.

    An exception is the failure of that prompt. Tokens are not known and stay 0.
    """

    def __init__(
        self, f: Callable[[Messages], str], *, name: str | None = None, revision: str | None = None
    ) -> None:
        """Wrap a function; without a revision, one is made of its source (`identity.revision_of`)."""
        if not callable(f):
            raise UsageError(f"a writer is a function of chat messages, got {type(f).__name__}")
        self._f = f
        self.name = name or str(getattr(f, "__name__", type(f).__name__)).strip("<>")
        found = revision_of(f) if revision is None else (revision, ())
        self.revision, self.unseen = found

    def write(self, prompts: Sequence[RankPrompt], max_tokens: Sequence[int]) -> list[Reply]:
        """Call the function once a prompt; the number of tokens is not handed on."""
        return [self._one(prompt) for prompt in prompts]

    def _one(self, prompt: RankPrompt) -> Reply:
        try:
            text = self._f(prompt.messages())
        except Exception as error:
            return Reply(None, f"the function raised {type(error).__name__}: {error}")
        if not isinstance(text, str):
            return Reply(None, f"the function returned {type(text).__name__}, not a text")
        return Reply(text)
