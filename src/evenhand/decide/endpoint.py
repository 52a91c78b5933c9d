"""A reader behind an OpenAI-compatible endpoint: chat completions over HTTP.

Requests run side by side, a bounded number at a time, and answers are put back by
the place of their request. Too many requests (429), server faults (5xx), timeouts
and broken connections are tried again after a doubling pause, or the pause the
server names. An answer that stays away, is empty in form, or names no label is
missing, with its reason. A key is read from an environment variable and stands in
no name, hash, record or message.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx

from evenhand.decide.answers import first_line
from evenhand.decide.prompts import PROMPTS, Task, check_task, user_turn
from evenhand.decide.reading import Evidence, Reading
from evenhand.decide.verdicts import LABELS, as_label, find_label
from evenhand.errors import ScorerError, UsageError
from evenhand.seeds import content_hash

MAX_TOKENS = 64
LONGEST_PAUSE = 60.0
# No answer can come whatever is asked: no key, no right, no such place or model.
_HOPELESS = (401, 403, 404)


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
    """

    base_url: str | None = None
    key_variable: str = "OPENAI_API_KEY"
    concurrency: int = 8
    retries: int = 4
    pause: float = 1.0
    timeout: float = 60.0
    max_candidate_words: int = 400

    def __post_init__(self) -> None:
        if self.concurrency < 1 or self.retries < 0 or self.max_candidate_words < 1:
            raise UsageError("concurrency and max_candidate_words must be at least 1, retries 0")
        if self.pause < 0 or self.timeout <= 0:
            raise UsageError("pause must not be negative, timeout must be above 0")


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
        base = self.options.base_url or os.environ.get("OPENAI_BASE_URL", "")
        if not base.startswith(("http://", "https://")):
            raise UsageError(
                f"an endpoint reader needs an address, got {base!r}; give base_url=http://host:port/v1 "
                "or set OPENAI_BASE_URL"
            )
        self.model, self.task = model, task
        self._url = base.rstrip("/") + "/chat/completions"
        self.name = f"openai:{model}"

    @property
    def revision(self) -> str:
        """Hash of address, model, prompt and settings; the weights behind them are not known."""
        prompt = PROMPTS[self.task]
        words = [prompt.system, user_turn(self.task, "", ("",)), prompt.none, MAX_TOKENS]
        asked = [self._url, self.model, self.options.max_candidate_words]
        return content_hash([*asked, self.task, *words])[:16]

    def read(self, evidence: Sequence[Evidence]) -> list[Reading]:
        """Read many, in the given order whatever the order of the answers.

        Raises:
            ScorerError: the endpoint refuses the key or does not know the address or model.
        """
        if not evidence:
            return []
        key = os.environ.get(self.options.key_variable)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        stop = threading.Event()
        with (
            httpx.Client(timeout=self.options.timeout, headers=headers) as client,
            ThreadPoolExecutor(self.options.concurrency) as pool,
        ):
            try:
                return list(pool.map(lambda one: self._one(client, one, stop), evidence))
            finally:
                stop.set()

    def _one(self, client: httpx.Client, evidence: Evidence, stop: threading.Event) -> Reading:
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
        answer, failure = self._ask(client, body, stop)
        if answer is not None and self.task == "verdict":
            label = as_label(answer) or find_label(answer)
            if label is None:
                answer, failure = None, f"no label of {sorted(LABELS)} in the answer"
            else:
                answer = label
        return Reading(answer, cut, failure)

    def _ask(
        self, client: httpx.Client, body: dict[str, Any], stop: threading.Event
    ) -> tuple[str | None, str | None]:
        """Return (answer, None) or (None, why there is none)."""
        failure = "stopped: another request was refused"
        for attempt in range(self.options.retries + 1):
            if stop.is_set():
                return None, failure
            wait = self.options.pause * 2.0**attempt
            try:
                response = client.post(self._url, json=body)
            except httpx.HTTPError as error:
                failure = f"no answer: {type(error).__name__}"
            else:
                if response.status_code in _HOPELESS:
                    stop.set()
                    raise ScorerError(
                        f"{self.name}: the endpoint answered {response.status_code}; check address, "
                        f"model and the key in {self.options.key_variable}"
                    )
                if response.status_code == 200:
                    return _content(response)
                failure = f"the endpoint answered {response.status_code}"
                if response.status_code != 429 and response.status_code < 500:
                    return None, failure
                wait = _named_pause(response, wait)
            if attempt < self.options.retries:
                stop.wait(min(wait, LONGEST_PAUSE))
        return None, f"{failure}, {self.options.retries + 1} tries"


def _named_pause(response: httpx.Response, otherwise: float) -> float:
    try:
        return max(0.0, float(response.headers["Retry-After"]))
    except (KeyError, ValueError):
        return otherwise


def _content(response: httpx.Response) -> tuple[str | None, str | None]:
    try:
        content = response.json()["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError):
        return None, "the answer is no chat completion"
    if not isinstance(content, str):
        return None, "the answer holds no text"
    return first_line(content), None
