"""What OpenAI-compatible servers answer: texts, log-probabilities, token counts.

Pure: parsed JSON in, values out. Three shapes of log-probabilities are known: those
of chat completions (`content[0].top_logprobs`, which llama.cpp also gives for
completions, with token ids), those of completions (`top_logprobs[0]`, by token
string) and vLLM's prompt log-probabilities, by token id.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.score.services.budget import as_count
from evenhand.types import FloatArray

_AS_ID = "token_id:"
# A log-probability may come out this much above 0 by rounding.
_ROUNDED = 0.01


@dataclass(frozen=True, slots=True)
class Likely:
    """One of the most likely tokens at a place.

    Attributes:
        logprob: its log-probability in the full vocabulary.
        text: the token as text, or None. id: its id, or None.
    """

    logprob: float
    text: str | None = None
    id: int | None = None


@dataclass(frozen=True, slots=True)
class Label:
    """A grade as a token: its text, and its id where the tokenizer is known."""

    text: str
    id: int | None = None


def first_choice(body: Any) -> Mapping[str, Any] | None:
    """Return the first choice of a completion, or None when there is none."""
    try:
        choice = body["choices"][0]
    except (LookupError, TypeError):
        return None
    return choice if isinstance(choice, Mapping) else None


def text_of(body: Any) -> str | None:
    """Return the text of a chat completion or completion, or None when there is none."""
    choice = first_choice(body) or {}
    message = choice.get("message")
    text = message.get("content") if isinstance(message, Mapping) else choice.get("text")
    return text if isinstance(text, str) else None


def chat_text(body: Any) -> tuple[str | None, str | None]:
    """Return the text of a chat completion, and why there is none.

    Both are None where the message is there and its text is null: what a model that
    only thought has said.
    """
    message = (first_choice(body) or {}).get("message")
    if not isinstance(message, Mapping) or "content" not in message:
        return None, "the answer is no chat completion"
    text = message["content"]
    if text is not None and not isinstance(text, str):
        return None, "the answer holds no text"
    return text, None


def usage_of(body: Any) -> tuple[int, int] | None:
    """Return (prompt tokens, completion tokens) as the server counts them, or None."""
    usage = body.get("usage") if isinstance(body, Mapping) else None
    if not isinstance(usage, Mapping):
        return None
    read, written = usage.get("prompt_tokens"), usage.get("completion_tokens")
    counts = as_count(read), as_count(0 if written is None else written)
    return None if counts[0] is None or counts[1] is None else (counts[0], counts[1])


def next_token(body: Any) -> list[Likely] | None:
    """Return the most likely first tokens of an answer, or None when it tells none."""
    logprobs = (first_choice(body) or {}).get("logprobs")
    if not isinstance(logprobs, Mapping):
        return None
    try:
        if "content" in logprobs:
            found = logprobs["content"][0]["top_logprobs"]
            return [_listed(one) for one in found] or None
        return [_keyed(key, value) for key, value in logprobs["top_logprobs"][0].items()] or None
    except (LookupError, TypeError, AttributeError, ValueError):
        return None


def prompt_token(body: Any, length: int, place: int) -> list[Likely] | None:
    """Return the most likely tokens at one place of a prompt, from vLLM's extension.

    They are what was likely after the `place` tokens before it, so there are none at 0.

    Args:
        length: tokens of the prompt. place: index of a token in it.

    Returns:
        None when the answer tells none, or not of that many places.
    """
    places = (first_choice(body) or {}).get("prompt_logprobs")
    if not isinstance(places, Sequence) or len(places) != length:
        return None
    try:
        return [
            Likely(_number(one["logprob"]), _text(one.get("decoded_token")), int(key))
            for key, one in places[place].items()
        ] or None
    except (LookupError, TypeError, AttributeError, ValueError):
        return None


def label_logprobs(likely: Sequence[Likely], labels: Sequence[Label]) -> FloatArray:
    """Return the (G,) log-probability of each label; NaN where it is not among the likely.

    Labels are matched by id where both sides know it, else by their exact text. Two
    tokens of the same text count as one.
    """
    return np.array([_logprob(likely, label) for label in labels], dtype=np.float64)


def grade_probabilities(logprobs: FloatArray) -> tuple[FloatArray, float, float]:
    """Return what the log-probabilities of the grades, lowest first, say of one slot.

    Args:
        logprobs: (G,), G >= 2.

    Returns:
        ((G,) probabilities over the grades alone, score = expected grade over the
        highest, label mass). All are NaN when a grade is missing: no floor value
        stands for it.
    """
    if np.isnan(logprobs).any() or not np.isfinite(logprobs.max()):
        return np.full(len(logprobs), np.nan), math.nan, math.nan
    weights = np.exp(logprobs - logprobs.max())
    grades = weights / weights.sum()
    score = float(grades @ np.arange(len(grades))) / (len(grades) - 1)
    # Servers round: the sum of a few probabilities near 1 may come out above it.
    mass = min(1.0, float(np.exp(logprobs).sum()))
    return grades, min(1.0, score), mass


def _logprob(likely: Sequence[Likely], label: Label) -> float:
    found = [one.logprob for one in likely if _is(one, label)]
    return float(np.logaddexp.reduce(found)) if found else math.nan


def _is(one: Likely, label: Label) -> bool:
    if label.id is not None and one.id is not None:
        return one.id == label.id
    return one.text == label.text


def _listed(one: Mapping[str, Any]) -> Likely:
    number = one.get("id")
    return _read(one["token"], one["logprob"], number if type(number) is int else None)


def _keyed(key: str, value: Any) -> Likely:
    return _read(key, value, None)


def _read(token: str, logprob: Any, number: int | None) -> Likely:
    if token.startswith(_AS_ID):
        return Likely(_number(logprob), None, int(token.removeprefix(_AS_ID)))
    return Likely(_number(logprob), token, number)


def _text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError(value)
    return value


def _number(value: Any) -> float:
    """Return a log-probability; a ValueError says that it is none."""
    # Compared before the conversion: an integer may be too large for a float.
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value <= _ROUNDED:
        raise ValueError(value)
    return float(value) if value >= -sys.float_info.max else -math.inf
