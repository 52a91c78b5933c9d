"""What a server is asked for one window: token ids where its tokenizer is known, else texts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from evenhand.errors import UsageError, require_count
from evenhand.present.surface import Messages, markers, one_line, plain_chat, render
from evenhand.present.texts import SKELETONS
from evenhand.score.base import PromptBuilder
from evenhand.score.prompt import GRADES, WindowPrompt, answer_line
from evenhand.score.services.answers import Label
from evenhand.types import Slate, Surface

Mode = Literal["prompt", "next", "written"]
MODES: tuple[Mode, ...] = ("prompt", "next", "written")
PREFILLS = ("continue", "assistant", "user")
SPACES = ("prefix", "token")

GO_ON = (
    "The form is filled in up to a place; the grades in it so far stand for nothing. "
    "Answer with the next grade alone, one digit:"
)
# Control tokens of the chat templates in use: a server would read them as what they are.
_SPELLED = re.compile(
    r"<\|[^<>|\s]{1,40}\|>|<｜[^<>｜\s]{1,40}｜>|</?s>|</?think>|<</?SYS>>|<(?:start|end)_of_\w{1,20}>|"
    r"<(?:bos|eos|pad|unk|cls|sep|mask)>|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_[A-Z]{1,20})\]"
)
_ROLE = re.compile("\ue002([a-z]+)\ue002")


@dataclass(frozen=True, slots=True)
class Asked:
    """One window as requests.

    Attributes:
        surface: the words around the candidates.
        bodies: what carries the prompt in each request: `prompt` or `messages`.
        markers: marker of each slot.
        labels: the grades as tokens, lowest first.
        places: for prompt log-probabilities, the place in the ids of each slot's grade.
        truncated, escaped: tokens (words, where no tokenizer is known) cut and places
            escaped, by slot.
        query_escaped: places escaped in the query.
    """

    surface: Surface
    bodies: tuple[Mapping[str, Any], ...]
    markers: tuple[str, ...]
    labels: tuple[Label, ...]
    places: tuple[int, ...]
    truncated: tuple[int, ...]
    escaped: tuple[int, ...]
    query_escaped: int


class Composer(Protocol):
    """Makes the requests of a window."""

    def compose(self, slate: Slate, window: Sequence[int], surface: Surface, mode: Mode) -> Asked:
        """Return what is asked for one window of canonical indices."""
        ...


@dataclass(frozen=True, slots=True)
class IdComposer:
    """Asks in token ids, of the very prompts that a local model would read.

    Attributes:
        builder: makes the prompts.
    """

    builder: PromptBuilder

    def compose(self, slate: Slate, window: Sequence[int], surface: Surface, mode: Mode) -> Asked:
        """Return what is asked for one window of canonical indices.

        Raises:
            InputError: query and form are longer than the context.
            ScorerError: the template drops a text, or a grade is not one token.
        """
        prompt = self.builder.build(slate, window, surface)
        marks = marks_of(surface, len(window), self.builder.alphabet)
        places: tuple[int, ...] = ()
        if mode == "next":
            prompts = [seen_by(prompt, slot) for slot in range(len(window))]
        elif mode == "prompt":
            # The grade after the last readout is what makes the engine tell its place, too.
            prompts = [[*prompt.ids, prompt.grades[surface.dummy]]]
            places = tuple(readout + 1 for readout in prompt.readouts)
        else:
            head = answer_line(self.builder.tokens, line_of(surface, marks[0])).head
            prompts = [list(prompt.ids[: prompt.readouts[0] + 1 - len(head)])]
        labels = tuple(Label(text, i) for text, i in zip(GRADES, prompt.grades, strict=True))
        bodies = tuple({"prompt": ids} for ids in prompts)
        return Asked(
            surface,
            bodies,
            marks,
            labels,
            places,
            prompt.truncated,
            prompt.escaped,
            prompt.query_escaped,
        )


def seen_by(prompt: WindowPrompt, slot: int) -> list[int]:
    """Return the ids that the readout of a slot may see, itself included.

    They stand at positions 0, 1, ... of their own, so a prompt of them alone reads the
    same as the branch among its neighbours.
    """
    readout = prompt.readouts[slot]
    own = (0, prompt.branches[readout])
    return [
        token
        for token, branch in zip(prompt.ids[: readout + 1], prompt.branches, strict=False)
        if branch in own
    ]


def marks_of(surface: Surface, width: int, alphabet: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the marker of each slot; isolated candidates all have the first."""
    count = 1 if surface.visibility == "isolated" else width
    found = markers(surface.markers, count, seed=surface.marker_seed, alphabet=alphabet)
    return tuple(found * width if surface.visibility == "isolated" else found)


def line_of(surface: Surface, marker: str) -> str:
    """Return an answer line with {grade} where the grade stands."""
    return SKELETONS[surface.skeleton].line.format(marker=marker, grade="{grade}") + "\n"


@dataclass(frozen=True, slots=True)
class TextComposer:
    """Asks in texts, where only the server knows its tokenizer and template.

    Attributes:
        chat: messages for chat completions; else one text in the plain form.
        prefill: how the form so far is handed over in chat: "continue" and "assistant"
            as the assistant's turn, "user" at the end of the user's.
        space: whether the space before a grade ends the "prefix" or opens the "token".
        system: whether there is a system turn; else the instruction opens the user's.
        max_words: cut of each candidate, in words; None cuts nothing.
    """

    chat: bool = True
    prefill: str = "continue"
    space: str = "prefix"
    system: bool = True
    max_words: int | None = 512

    def __post_init__(self) -> None:
        for name, value, known in (("prefill", self.prefill, PREFILLS), ("space", self.space, SPACES)):
            if value not in known:
                raise UsageError(f"unknown {name} {value!r}; known are {list(known)}")
        if self.prefill == "user" and self.space == "token":
            raise UsageError("space='token' does not go with prefill='user': the answer starts anew")
        if self.max_words is not None:
            require_count("max_candidate_tokens", self.max_words)

    def compose(self, slate: Slate, window: Sequence[int], surface: Surface, mode: Mode) -> Asked:
        """Return what is asked for one window of canonical indices.

        Raises:
            UsageError: the surface cannot be shown.
        """
        cut = [self._text(slate.candidates[i].full_text) for i in window]
        texts = [text for text, _, _ in cut]
        query, places = one_line(slate.query)
        query, spelled = without_control(query)
        labels = tuple(Label(f" {g}" if self.space == "token" else g) for g in GRADES)
        apart = surface.visibility == "isolated"
        groups = [[text] for text in texts] if apart else [texts]
        bodies: list[Mapping[str, Any]] = []
        for group in groups:
            messages, header, lines = conversation(query, group, surface, system=self.system)
            if mode == "written":
                bodies.append(self._opened(messages, header))
                continue
            heads = _leads(header, lines, surface, self.space)
            bodies += [self._led(messages, head) for head in heads]
        return Asked(
            surface, tuple(bodies), marks_of(surface, len(window)), labels, (),
            tuple(lost for _, lost, _ in cut), tuple(count for _, _, count in cut), places + spelled,
        )  # fmt: skip

    def _text(self, text: str) -> tuple[str, int, int]:
        """Return a candidate's text, the words cut from it and the places escaped in it."""
        line, places = one_line(text)
        words = line.split()
        kept = words if self.max_words is None else words[: self.max_words]
        shown, spelled = without_control(" ".join(kept))
        return shown, len(words) - len(kept), places + spelled

    def _opened(self, messages: Messages, header: str) -> Mapping[str, Any]:
        return {"messages": messages} if self.chat else {"prompt": plain_chat(messages) + header}

    def _led(self, messages: Messages, lead: str) -> Mapping[str, Any]:
        if not self.chat:
            return {"prompt": plain_chat(messages) + lead}
        if self.prefill == "user":
            *before, last = messages
            content = f"{last['content']}\n\n{GO_ON}\n{lead.rstrip()}"
            return {"messages": [*before, {"role": "user", "content": content}]}
        return {"messages": [*messages, {"role": "assistant", "content": lead}]}


def without_control(text: str) -> tuple[str, int]:
    """Return a text that spells no control token: a space stands after its first character.

    Returns:
        The text and the number of places changed.
    """
    return _SPELLED.subn(lambda found: f"{found[0][0]} {found[0][1:]}", text)


def conversation(
    query: str, texts: Sequence[str], surface: Surface, *, system: bool = True
) -> tuple[Messages, str, list[str]]:
    """Return the messages of a window, the header of its form and its answer lines.

    The words are those of a local model's prompt; what the chat template would add
    is left to the server.
    """

    def chat(messages: Messages) -> str:
        if not system and messages[0]["role"] == "system":
            return ""
        return "".join(f"\ue002{each['role']}\ue002{each['content']}" for each in messages)

    segments = render(query, texts, surface, chat)
    start = next(place for place, segment in enumerate(segments) if segment.kind == "slot")
    lines = [segment.text for segment in segments[start:]]
    messages: Messages = []
    for segment in segments[: start - 1]:
        # Only literals are ours: a role mark inside a text is text.
        pieces = _ROLE.split(segment.text) if segment.kind == "literal" else [segment.text]
        if pieces[0]:
            messages[-1]["content"] += pieces[0]
        for role, content in zip(pieces[1::2], pieces[2::2], strict=True):
            messages.append({"role": role, "content": content})
    return messages, segments[start - 1].text, lines


def _leads(header: str, lines: Sequence[str], surface: Surface, space: str) -> list[str]:
    """Return the form up to each slot's grade."""
    dummy = GRADES[surface.dummy]
    found = []
    for slot, line in enumerate(lines):
        before = "" if surface.visibility == "parallel" else "".join(lines[:slot])
        own = line.partition("{grade}")[0]
        form = before.replace("{grade}", dummy) + (own if space == "prefix" else own.rstrip())
        found.append(header + form)
    return found
