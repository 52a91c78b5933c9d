"""Whether a server gives what a mode needs, told from its answer to one request."""

from __future__ import annotations

from collections.abc import Mapping

from evenhand.score.services.answers import next_token, prompt_token, text_of
from evenhand.score.services.asked import MODES, Asked, Mode
from evenhand.score.services.readings import Answered
from evenhand.types import Candidate, Slate

PROBE = Slate(
    "probe",
    "What colour is the sea?",
    (Candidate("a", "The sea is blue."), Candidate("b", "A rose is red.")),
)


ADVICE: Mapping[Mode, str] = {
    "prompt": "Raise top_logprobs as far as the server allows.",
    "next": "Raise top_logprobs as far as the server allows, check that the server goes on with the "
    "assistant's turn (else prefill='user'), or try space='token'.",
    "written": "The model does not keep to the form: choose mode 'next', or another model.",
}


def lacking(mode: Mode, asked: Asked, answer: Answered) -> str | None:
    """Return what an answer to the probe lacks for a mode, or None."""
    others = "; other modes are " + ", ".join(repr(other) for other in MODES if other != mode)
    if answer.body is None:
        # Where a server does not work, no mode is to blame.
        refused = answer.status is not None and 400 <= answer.status < 500
        return f"{answer.failure}{others if refused else ''}"
    if mode == "written":
        return None if text_of(answer.body) is not None else f"the answer holds no text{others}"
    if mode == "next":
        likely = next_token(answer.body)
        if likely is None:
            return f"the answer holds no log-probabilities of the next token{others}"
    else:
        likely = prompt_token(answer.body, len(asked.bodies[0]["prompt"]), asked.places[0])
        if likely is None:
            return f"the answer holds no prompt_logprobs, which vLLM's completions give{others}"
    named = {one.id: one.text for one in likely if one.text is not None}
    for label in asked.labels:
        text = named.get(label.id) if label.id is not None else None
        if text is not None and text.strip() != label.text.strip():
            return (
                f"token {label.id} is {text!r} there and {label.text!r} in the tokenizer given; give "
                "the tokenizer of the model that the server runs"
            )
    return None
