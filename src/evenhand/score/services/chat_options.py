"""Settings of an endpoint scorer, and what it has spent."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evenhand.errors import UsageError, require_count
from evenhand.score.services.address import require_fields
from evenhand.score.services.answers import usage_of
from evenhand.score.services.asked import MODES, Mode
from evenhand.score.services.readings import Answered, WindowReading

_SUMS = ("prompts", "prompt_tokens", "completion_tokens", "unreported")
APIS = ("chat", "completions")
# What makes a request what it is; the rest of a body may be set from outside.
_OURS = frozenset(
    {"model", "messages", "prompt", "logprobs", "top_logprobs", "prompt_logprobs", "stream", "n"}
)


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """How grades are got out of an endpoint.

    Attributes:
        mode: "prompt", "next" or "written".
        api: "chat" or "completions"; None = completions for mode "prompt" and wherever a
            tokenizer is given, else chat.
        top_logprobs: most likely tokens asked for at a place; servers allow about 20.
        max_missing: share of the scores of one call that may be missing in answers that
            came (grades out of reach, or not in the form); above it is an error.
        max_new_tokens: most tokens of a written answer; None = 16 a slot and 64 more.
        width: default window.
        revision: your name for the weights behind the endpoint, which cannot be seen from
            here; change it with them.
        extra: further entries of every request body, such as cache_prompt or
            chat_template_kwargs; None takes one of ours (max_tokens, temperature) out.

    Raises:
        UsageError: a setting is unknown or out of range.
    """

    mode: Mode = "next"
    api: str | None = None
    top_logprobs: int = 20
    max_missing: float = 0.5
    max_new_tokens: int | None = None
    width: int = 20
    revision: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise UsageError(f"unknown mode {self.mode!r}; known are {list(MODES)}")
        if self.api is not None and self.api not in APIS:
            raise UsageError(f"unknown api {self.api!r}; known are {list(APIS)}")
        if self.mode == "prompt" and self.api == "chat":
            raise UsageError("mode 'prompt' needs api 'completions': token ids go to the engine")
        for name in ("top_logprobs", "width"):
            require_count(name, getattr(self, name))
        if self.max_new_tokens is not None:
            require_count("max_new_tokens", self.max_new_tokens)
        share = self.max_missing
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1:
            raise UsageError(f"max_missing is a share from 0 to 1, got {self.max_missing!r}")
        if self.revision is not None and (not isinstance(self.revision, str) or not self.revision):
            raise UsageError(f"revision must be a name, got {self.revision!r}")
        require_fields(self.extra, _OURS)


class Spent:
    """What an opened scorer has cost, all calls and the probe together.

    Attributes:
        prompts: requests that were answered. unreported: of these, without token counts.
        prompt_tokens, completion_tokens: as the server counts them.
        refused: lines of written answers that were refused, by reason.
    """

    def __init__(self) -> None:
        self.prompts = self.unreported = self.prompt_tokens = self.completion_tokens = 0
        self.refused: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        parts = [f"{name}={getattr(self, name):,}" for name in _SUMS]
        lines = sum(self.refused.values())
        return f"Spent({', '.join(parts)}, refused lines={lines:,})"

    def add(self, answers: Sequence[Answered], readings: Sequence[WindowReading] = ()) -> None:
        """Count answers, and what was refused in them."""
        with self._lock:
            for answer in answers:
                if answer.body is None:
                    continue
                used = usage_of(answer.body)
                self.prompts += 1
                self.unreported += used is None
                self.prompt_tokens += used[0] if used else 0
                self.completion_tokens += used[1] if used else 0
            for reading in readings:
                self.refused.update(reading.refused)
