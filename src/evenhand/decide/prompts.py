"""The prompts of readers, as data, and their rendering into trusted and foreign parts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from evenhand.decide.verdicts import LABELS
from evenhand.errors import ScorerError, UsageError
from evenhand.present.surface import Chat

Task = Literal["answer", "verdict"]
TASKS: tuple[Task, ...] = ("answer", "verdict")

_NAMES = ", ".join(LABELS.values())


@dataclass(frozen=True, slots=True)
class ReaderPrompt:
    """What a reader is told.

    Attributes:
        system: the instruction.
        query: what the query is called.
        evidence: heading of the texts.
        none: what stands there when there are none.
        task: the closing request.
        prefill: opens the reader's own line (local models only).
    """

    system: str
    query: str
    evidence: str
    none: str
    task: str
    prefill: str


PROMPTS: dict[Task, ReaderPrompt] = {
    "answer": ReaderPrompt(
        system=(
            "You answer questions from the passages you are given. Reply with the shortest answer "
            "that is complete: a name, a date, a number or a few words, without explanation."
        ),
        query="Question",
        evidence="Passages",
        none="(no passages)",
        task="Answer the question in a few words.",
        prefill="Answer:",
    ),
    "verdict": ReaderPrompt(
        system=(
            f"You check claims against the evidence you are given. Reply with one label: {_NAMES}."
        ),
        query="Claim",
        evidence="Evidence",
        none="(no evidence)",
        task=(
            "Does the evidence support the claim, refute it, or say too little to tell? "
            f"Reply with one label: {_NAMES}."
        ),
        prefill="Label:",
    ),
}


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a rendered prompt.

    Attributes:
        kind: "literal" (trusted: template and instructions), "query" or "text".
        text: what stands there; of a text, its number follows in `index`.
        index: which of the texts.
    """

    kind: Literal["literal", "query", "text"]
    text: str
    index: int = 0


def check_task(task: str) -> Task:
    """Return a task that readers have.

    Raises:
        UsageError: unknown task.
    """
    if task not in TASKS:
        raise UsageError(f"unknown reader task {task!r}; known are {sorted(TASKS)}")
    return task


# Private-use characters, put where foreign text goes while the template is applied.
_PLACE = re.compile("\ue000([qt])([0-9]*)\ue001")


def user_turn(task: Task, query: str, texts: tuple[str, ...]) -> str:
    """Return the user's turn: query, numbered texts, query again, request."""
    prompt = PROMPTS[task]
    lines = [f"[{number}]{text}" for number, text in enumerate(texts, 1)] or [prompt.none]
    asked = f"{prompt.query}:{query}"
    return "\n\n".join([asked, "\n".join([f"{prompt.evidence}:", *lines]), asked, prompt.task])


def render(task: Task, query: str, texts: tuple[str, ...], chat: Chat) -> list[Part]:
    """Return the parts of a prompt that ends where the reader's own line goes on.

    Args:
        task: which prompt.
        query: one line. texts: one line each, in the order they are read.
        chat: renders messages and opens the assistant's turn.

    Raises:
        ScorerError: the chat template drops or repeats a text.
    """
    places = tuple(f"\ue000t{index}\ue001" for index in range(len(texts)))
    user = user_turn(task, "\ue000q\ue001", places)
    system = PROMPTS[task].system
    text = _applied(chat, system, user) + PROMPTS[task].prefill
    parts: list[Part] = []
    seen: list[str] = []
    end = 0
    for match in _PLACE.finditer(text):
        parts.append(Part("literal", text[end : match.start()]))
        end = match.end()
        seen.append(match.group(1) + match.group(2))
        if match.group(1) == "q":
            parts.append(Part("query", f" {query}" if query else ""))
        else:
            index = int(match.group(2))
            parts.append(Part("text", f" {texts[index]}" if texts[index] else "", index))
    parts.append(Part("literal", text[end:]))
    if sorted(seen) != sorted(["q", "q", *(f"t{index}" for index in range(len(texts)))]):
        raise ScorerError(
            "the chat template does not show query and texts as they were given; use a template that "
            "renders the user's turn, or chat_template='plain'"
        )
    return parts


def _applied(chat: Chat, system: str, user: str) -> str:
    try:
        text = chat([{"role": "system", "content": system}, {"role": "user", "content": user}])
    except Exception:
        text = ""
    # Templates without a system role raise or drop it: the instruction then opens the user's turn.
    if system not in text:
        text = chat([{"role": "user", "content": f"{system}\n\n{user}"}])
    return text
