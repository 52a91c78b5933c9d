"""A reader behind an OpenAI-compatible endpoint: chat completions over HTTP.

Requests go through `evenhand.score.services.http`: side by side, tried again where that can
help, answers put back by the place of their request. An answer that stays away, is
empty in form, or names no label is missing, with its reason. A key is read from an
environment variable and stands in no name, hash, record or message.

A verdict is the label whose first token is the most likely one, where the endpoint
tells the log-probabilities of the next token; where it does not, or refuses to be asked
for them, the label that the answer's text names.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evenhand.decide.answers import first_line
from evenhand.decide.prompts import PROMPTS, Task, check_task, user_turn
from evenhand.decide.reading import Evidence, Reading
from evenhand.decide.verdicts import LABELS, as_label, find_label, likeliest_label
from evenhand.errors import UsageError, require_count
from evenhand.measure.checks import choice
from evenhand.score.services.address import KEY_VARIABLE, endpoint_address, key_headers
from evenhand.score.services.answers import chat_text, next_token
from evenhand.score.services.http import Answer, Caller, HttpOptions
from evenhand.seeds import content_hash

MAX_TOKENS = 64
_PATH = "/chat/completions"
# Servers allow about 20.
_LIKELY = 20
# What a server answers that does not know a field of the request.
_REFUSED = (400, 422)


@dataclass(frozen=True, slots=True)
class EndpointOptions:
    """Settings of an endpoint reader.

    Attributes:
        base_url: up to and without "/chat/completions"; None = OPENAI_BASE_URL.
        key_variable: environment variable that holds the key; none is sent if unset.
        concurrency: requests under way at a time.
        retries: further tries after the first.
        pause: seconds before the first of them; it doubles.
        timeout: seconds a try may take.
        max_candidate_words: cut of each candidate, in words: tokens are not known here.
        verdict: "likelihood" (of the labels, else by text; see the module) or "text".
    """

    base_url: str | None = None
    key_variable: str = KEY_VARIABLE
    concurrency: int = 8
    retries: int = 4
    pause: float = 1.0
    timeout: float = 60.0
    max_candidate_words: int = 400
    verdict: Literal["likelihood", "text"] = "likelihood"

    def __post_init__(self) -> None:
        choice("verdict", self.verdict, ("likelihood", "text"))
        require_count("max_candidate_words", self.max_candidate_words)
        if not isinstance(self.key_variable, str):
            raise UsageError(
                f"key_variable is the name of an environment variable, got {self.key_variable!r}"
            )
        _ = self.http

    @property
    def http(self) -> HttpOptions:
        """How the endpoint is asked."""
        return HttpOptions(self.concurrency, self.retries, self.pause, self.timeout)


class EndpointReader:
    """Reads through chat completions, greedy (temperature 0), at most 64 tokens.

    Attributes:
        task, options: as given. model: as the endpoint calls it.
    """

    def __init__(self, model: str, task: Task, options: EndpointOptions | None = None) -> None:
        """Name the model and the task.

        Raises:
            UsageError: unknown task, no model, or no address.
        """
        check_task(task)
        if not model:
            raise UsageError("an endpoint reader needs a model: openai:MODEL")
        self.options = options or EndpointOptions()
        self.model, self.task = model, task
        self._base = endpoint_address(self.options.base_url)
        self.name = f"openai:{model}"

    @property
    def revision(self) -> str:
        """Hash of address, model, prompt and settings; the weights behind them are not known."""
        prompt = PROMPTS[self.task]
        words = [prompt.system, user_turn(self.task, "", ("",)), prompt.none, MAX_TOKENS]
        asked = [self._base + _PATH, self.model, self.options.max_candidate_words]
        asked += [self.options.verdict] if self.task == "verdict" else []
        return content_hash([*asked, self.task, *words])[:16]

    def read(self, evidence: Sequence[Evidence]) -> list[Reading]:
        """Read many, in the given order whatever the order of the answers.

        Raises:
            ScorerError: the endpoint refuses the key, does not know the address or
                model, or cannot be reached.
        """
        if not evidence:
            return []
        caller = Caller(self._base, self.options.http, key_headers(None, self.options.key_variable))
        asked = [self._asked(one) for one in evidence]
        try:
            answers = self._posted(caller, [body for body, _ in asked])
        finally:
            caller.close()
        return [self._reading(one, cut) for one, (_, cut) in zip(answers, asked, strict=True)]

    def _posted(self, caller: Caller, bodies: list[dict[str, Any]]) -> list[Answer]:
        """Return the answers; where log-probabilities are refused, those to the bare requests."""
        if self.task != "verdict" or self.options.verdict == "text":
            return caller.post(_PATH, bodies)
        more = {"logprobs": True, "top_logprobs": _LIKELY}
        found = caller.post(_PATH, [{**body, **more} for body in bodies])
        refused = [at for at, one in enumerate(found) if one.status in _REFUSED]
        again = caller.post(_PATH, [bodies[at] for at in refused]) if refused else []
        for at, answer in zip(refused, again, strict=True):
            found[at] = answer
        return found

    def _asked(self, evidence: Evidence) -> tuple[dict[str, Any], int]:
        """Return the request for one piece of evidence, and the words cut."""
        texts, cut = [], 0
        for text in evidence.texts:
            words = text.split()
            kept = words[: self.options.max_candidate_words]
            texts.append(" " + " ".join(kept))
            cut += len(words) - len(kept)
        user = user_turn(self.task, f" {evidence.query}", tuple(texts))
        body = {
            "model": self.model,
            "messages": [
                {"role": "system", "content": PROMPTS[self.task].system},
                {"role": "user", "content": user},
            ],
            "temperature": 0,
            "max_tokens": MAX_TOKENS,
        }
        return body, cut

    def _reading(self, answered: Answer, cut: int) -> Reading:
        answer, failure = None, answered.failure
        if failure is None:
            answer, failure = chat_text(answered.body)
            if answer is None:
                failure = failure or "the answer holds no text"
            else:
                answer = first_line(answer)
        if answer is not None and self.task == "verdict":
            likely = _likeliest(answered.body) if self.options.verdict == "likelihood" else None
            label = likely or as_label(answer) or find_label(answer)
            if label is None:
                answer, failure = None, f"no label of {sorted(LABELS)} in the answer"
            else:
                answer = label
        return Reading(answer, cut, failure)


def _likeliest(body: Any) -> str | None:
    likely = next_token(body) or []
    return likeliest_label((one.text or "", math.exp(one.logprob)) for one in likely)
