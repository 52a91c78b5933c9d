"""What a paid service may cost: a limit that stops a run where it can go on later."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from evenhand.errors import ScorerError


class BudgetError(ScorerError):
    """The budget of a scorer is spent; what is finished is kept (exit 7)."""

    exit_code = 7


class Budget:
    """Counts prompts and tokens of one opened scorer, from all threads.

    The count starts at 0 each time a scorer is opened.

    Prompts are claimed before they are sent, so that this limit is never passed. The
    tokens of an answer are known when it is there: the token limit stops the next
    request, and those under way may pass it.

    Attributes:
        most_prompts, most_tokens: the limits; None = none.
        prompts, tokens: claimed and spent so far.
    """

    def __init__(self, most_prompts: int | None = None, most_tokens: int | None = None) -> None:
        self.most_prompts, self.most_tokens = most_prompts, most_tokens
        self.prompts = self.tokens = 0
        self._lock = threading.Lock()

    def claim(self, prompts: int) -> None:
        """Take prompts that are about to be sent.

        Raises:
            BudgetError: they, or the tokens spent before, are over the limit; then
                nothing is taken.
        """
        with self._lock:
            self._require_tokens_left()
            if self.most_prompts is not None and self.prompts + prompts > self.most_prompts:
                further = (
                    f"raise budget_prompts to {prompts} at least, or make the parts smaller (part_size)"
                    if prompts > self.most_prompts
                    else "repeat the command to go on with as many again"
                )
                raise BudgetError(
                    f"the budget of {self.most_prompts} prompts does not reach: {self.prompts} are "
                    f"spent and the next step needs {prompts}. Finished parts of a run are "
                    f"kept: {further}."
                )
            self.prompts += prompts

    def check(self) -> None:
        """Refuse to go on once the tokens are spent.

        Raises:
            BudgetError: they are.
        """
        with self._lock:
            self._require_tokens_left()

    def spend(self, tokens: int | None) -> None:
        """Count the tokens of an answer.

        Args:
            tokens: None when the service told none.

        Raises:
            ScorerError: there is a token limit and no count to hold it to.
        """
        if tokens is None:
            if self.most_tokens is None:
                return
            raise ScorerError(
                "budget_tokens cannot be kept: the service does not report the tokens of its answers. "
                "Use budget_prompts."
            )
        with self._lock:
            self.tokens += tokens

    def _require_tokens_left(self) -> None:
        if self.most_tokens is not None and self.tokens >= self.most_tokens:
            raise BudgetError(
                f"the budget of {self.most_tokens} tokens is spent ({self.tokens} counted). Finished "
                "parts of a run are kept: repeat the command to go on with as many again."
            )


def reported_tokens(body: Any) -> int | None:
    """Return the tokens an answer says it took, or None when it tells none.

    Known are `usage.total_tokens`, or the sum of prompt (input) and completion
    (output) tokens, under `usage`, `meta.tokens`, `meta.billed_units` or, for a bare
    list, under `meta_info` of its items.
    """
    if isinstance(body, list):
        counts = [_sum(item.get("meta_info")) for item in body if isinstance(item, Mapping)]
        known = [count for count in counts if count is not None]
        return sum(known) if known and len(known) == len(body) else None
    if not isinstance(body, Mapping):
        return None
    meta = body.get("meta")
    inner = [meta.get("tokens"), meta.get("billed_units")] if isinstance(meta, Mapping) else []
    for place in (body.get("usage"), *inner):
        count = _sum(place)
        if count is not None:
            return count
    return None


def _sum(place: Any) -> int | None:
    if not isinstance(place, Mapping):
        return None
    total = as_count(place.get("total_tokens"))
    if total is not None:
        return total
    names = ("prompt_tokens", "input_tokens", "completion_tokens", "output_tokens")
    known = [count for count in map(as_count, map(place.get, names)) if count is not None]
    return sum(known) if known else None


def as_count(value: Any) -> int | None:
    """Return a whole number from 0 to 2^53 that came as JSON, None for anything else."""
    whole = isinstance(value, (int, float)) and not isinstance(value, bool)
    return int(value) if whole and 0 <= value < 2**53 and value == int(value) else None
