"""Surface: the words and marks around the candidates, rendered to segments.

A prompt is a list of segments: literals (ours and the chat template's), the
query, candidates, and slots (answer lines with a dummy grade). Each segment is
tokenised on its own, so a text can neither forge a marker nor move a slot: slots
are known by construction and never searched for.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from evenhand.errors import ScorerError, UsageError
from evenhand.present.texts import FORM, RUBRICS, SKELETONS, Rubric, Skeleton
from evenhand.seeds import content_hash, generator
from evenhand.types import Surface

Messages = list[dict[str, str]]
Chat = Callable[[Messages], str]

QUERY_PLACES = ("before", "after", "around")
MARKER_SCHEMES = ("numeric", "letters", "random", "single")
VISIBILITIES = ("sequential", "parallel", "isolated")


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a prompt that is tokenised on its own.

    Attributes:
        kind: "literal" (trusted, may hold the template's special tokens),
            "query" and "candidate" (texts, never parsed for special tokens),
            "slot" (an answer line, text with {grade} where the grade stands).
        index: slot of the candidate or answer line, -1 elsewhere. Where candidates are
            isolated, all that stands after a candidate has its slot: its branch.
    """

    kind: Literal["literal", "query", "candidate", "slot"]
    text: str
    index: int = -1


def check_surface(surface: Surface) -> None:
    """Refuse a surface that names something unknown, or that cannot be shown.

    Raises:
        UsageError: says the setting, what came and what is known.
    """
    known: tuple[tuple[str, object, Sequence[object]], ...] = (
        ("rubric", surface.rubric, sorted(RUBRICS)),
        ("markers", surface.markers, MARKER_SCHEMES),
        ("query", surface.query, QUERY_PLACES),
        ("skeleton", surface.skeleton, sorted(SKELETONS)),
        ("visibility", surface.visibility, VISIBILITIES),
        ("dummy", surface.dummy, range(4)),
    )
    for name, value, choices in known:
        if value not in choices:
            raise UsageError(f"unknown {name} {value!r}; known are {list(choices)}")
    # After the names: True and 1.0 are in range(4), but no index and not the same setting as 1.
    for name, kind in (("dummy", int), ("marker_seed", int), ("enclose", bool)):
        if type(getattr(surface, name)) is not kind:
            raise UsageError(f"{name} must be {kind.__name__}, got {getattr(surface, name)!r}")
    if surface.visibility == "isolated" and surface.query == "after":
        raise UsageError(
            "query 'after' does not go with visibility 'isolated', where all that candidates share "
            "stands before them; choose query 'before', or 'around' to repeat it after each"
        )


def texts_hash(surface: Surface) -> str:
    """Return a hash of every fixed text of a surface's prompts, in the place where it stands.

    Other rubrics and skeletons do not matter to it.

    Raises:
        UsageError: the surface names something unknown.
    """
    segments = render("query", ["first", "second"], surface, alphabet=("*", "+"))
    return content_hash([segment.text for segment in segments])


def _letters(index: int) -> str:
    upper = string.ascii_uppercase
    return upper[index] if index < 26 else upper[index // 26 - 1] + upper[index % 26]


def _codes(width: int, seed: int) -> list[str]:
    letters = string.ascii_lowercase
    drawn = generator(seed, "", "markers").permutation(26 * 26)[:width]
    return [letters[code // 26] + letters[code % 26] for code in drawn]


def markers(scheme: str, width: int, *, seed: int = 0, alphabet: Sequence[str] = ()) -> list[str]:
    """Return the markers of a window of `width` slots.

    Args:
        scheme: "numeric" [1] [2], "letters" [A] [B], "random" [qx] [ab] (drawn
            by seed), "single" (bare signs of `alphabet`, one token each).
        alphabet: the tokenizer's single-token signs, for "single".

    Raises:
        UsageError: the scheme is unknown or has too few markers.
    """
    limits = {"numeric": 9999, "letters": 26 * 27, "random": 26 * 26, "single": len(alphabet)}
    if scheme not in limits:
        raise UsageError(f"unknown markers {scheme!r}; known are {list(MARKER_SCHEMES)}")
    if width > limits[scheme]:
        raise UsageError(
            f"markers {scheme!r} has {limits[scheme]} markers, the window has {width} slots; "
            "choose numeric markers or a smaller width"
        )
    if scheme == "single":
        return list(alphabet[:width])
    if scheme == "random":
        return [f"[{code}]" for code in _codes(width, seed)]
    return [f"[{i + 1}]" if scheme == "numeric" else f"[{_letters(i)}]" for i in range(width)]


_MARKER = re.compile(r"\[\s*([0-9]{1,4}|[A-Za-z]{1,2})\s*\]")
_ANSWER = re.compile(r"\b(grades?|scores?|answer)(\s*):", re.IGNORECASE)
_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff]")
_LINE = re.compile("[\n\x0b\x0c\r\x1c-\x1e\x85\u2028\u2029]+")
# Texts remembered as one line: a slate's are wanted again in each of its rows.
_REMEMBERED = 4096


def one_line(text: str) -> tuple[str, int]:
    """Return a text as one line without look-alikes of the prompt's own form.

    Line breaks become spaces, ``[3]`` becomes ``(3)``, ``Grade:`` becomes
    ``Grade -``, and control characters and lone surrogates become U+FFFD.

    Returns:
        The text and the number of places changed; a run of line breaks is one.
    """
    return _one_line(text)


@lru_cache(maxsize=_REMEMBERED)
def _one_line(text: str) -> tuple[str, int]:
    text, controls = _CONTROL.subn("\ufffd", text.strip())
    text, breaks = _LINE.subn(" ", text)
    text = " ".join(text.split())
    text, marks = _MARKER.subn(r"(\1)", text)
    text, answers = _ANSWER.subn(r"\1 -", text)
    return text, controls + breaks + marks + answers


_SENTINEL = re.compile("\ue000([sqcx])([0-9]*)\ue001")


def _sentinel(kind: str, index: int | str = "") -> str:
    return f"\ue000{kind}{index}\ue001"


def _user_text(rubric: Rubric, skeleton: Skeleton, marks: Sequence[str], surface: Surface) -> str:
    query = f"{rubric.query}:{_sentinel('q')}"
    lines = [f"{rubric.candidate}:"]
    for slot, mark in enumerate(marks):
        closing = f" {mark}" if surface.enclose else ""
        lines.append(f"{mark}{_sentinel('c', slot)}{closing}")
    items = "\n".join(lines)
    levels = "\n".join(f"{grade} = {rubric.levels[grade]}" for grade in (3, 2, 1, 0))
    form = skeleton.line.format(marker=marks[0], grade="<0-3>")
    asked = [f"{rubric.task}\n{levels}", f"{FORM}\n{skeleton.header}\n{form}"]
    opening = [] if surface.query == "after" else [query]
    closing_query = [] if surface.query == "before" else [query]
    if surface.visibility == "isolated":
        # What candidates share comes first, so that it can be read once for all of them.
        return "\n\n".join([*opening, *asked, items, *closing_query])
    return "\n\n".join([*opening, items, *closing_query, *asked])


def plain_chat(messages: Messages) -> str:
    """Return the form used for models without a chat template."""
    return "\n\n".join(message["content"] for message in messages) + "\n\n"


def _apply(chat: Chat, system: str, user: str) -> str:
    marked = _sentinel("s") + system
    try:
        text = chat([{"role": "system", "content": marked}, {"role": "user", "content": user}])
    except Exception:
        text = ""
    # Templates without a system role raise or drop it: the instruction then opens the user's turn.
    if _sentinel("s") not in text:
        text = chat([{"role": "user", "content": f"{marked}\n\n{user}"}])
    return text


def form(
    width: int, surface: Surface, chat: Chat = plain_chat, *, alphabet: Sequence[str] = ()
) -> list[Segment]:
    """Return the segments of any window of a width, the texts of query and candidates left empty.

    Where candidates are isolated it is that of a window of one, whatever the width.

    Args:
        width: slots of the window, at least 1. surface, chat, alphabet: as in `render`.

    Raises:
        UsageError: the surface names something unknown.
        ScorerError: the chat template drops or repeats a text.
    """
    check_surface(surface)
    rubric, skeleton = RUBRICS[surface.rubric], SKELETONS[surface.skeleton]
    width = 1 if surface.visibility == "isolated" else width
    marks = markers(surface.markers, width, seed=surface.marker_seed, alphabet=alphabet)
    prompt = _apply(chat, rubric.system, _user_text(rubric, skeleton, marks, surface))
    segments = _split(prompt, width, queries=2 if surface.query == "around" else 1)
    segments.append(Segment("literal", skeleton.header + "\n"))
    for slot, mark in enumerate(marks):
        line = skeleton.line.format(marker=mark, grade="{grade}")
        segments.append(Segment("slot", line + "\n", slot))
    return segments


def spaced(kind: str, text: str) -> str:
    """Return a text as it stands in a segment: after a space, an empty candidate without one."""
    return f" {text}" if text or kind == "query" else ""


def render(
    query: str,
    candidates: Sequence[str],
    surface: Surface,
    chat: Chat = plain_chat,
    *,
    alphabet: Sequence[str] = (),
) -> list[Segment]:
    """Return the segments of one window: its form with the texts filled in.

    Where candidates are isolated, each is shown as in a window of its own, with the
    first marker: the segments before the candidate once, then those from the
    candidate on for one candidate after the other.

    Args:
        query: the query, already one line.
        candidates: texts by slot, already one line.
        surface: the words and marks.
        chat: renders messages and opens the assistant's turn.
        alphabet: single-token signs, for the "single" markers.

    Raises:
        UsageError: the surface names something unknown.
        ScorerError: the chat template drops or repeats a text.
    """
    segments = form(len(candidates), surface, chat, alphabet=alphabet)
    if surface.visibility == "isolated":
        segments = _branched(segments, len(candidates))
    return [_filled(segment, query, candidates) for segment in segments]


def _filled(segment: Segment, query: str, candidates: Sequence[str]) -> Segment:
    if segment.kind == "query":
        return replace(segment, text=spaced("query", query))
    if segment.kind == "candidate":
        return replace(segment, text=spaced("candidate", candidates[segment.index]))
    return segment


def _branched(alone: Sequence[Segment], width: int) -> list[Segment]:
    """Return the form of a window of one with a branch for every candidate."""
    start = next(place for place, segment in enumerate(alone) if segment.kind == "candidate")
    branches = [replace(one, index=slot) for slot in range(width) for one in alone[start:]]
    return [*alone[:start], *branches]


def _split(prompt: str, width: int, queries: int) -> list[Segment]:
    """Cut a rendered prompt at its sentinels and check that each text's place is there once."""
    segments: list[Segment] = []
    seen: list[str] = []
    end = 0
    for match in _SENTINEL.finditer(prompt):
        if match.start() > end:
            segments.append(Segment("literal", prompt[end : match.start()]))
        end = match.end()
        kind, index = match.groups()
        seen.append(kind + index)
        if kind == "q":
            segments.append(Segment("query", ""))
        elif kind == "c":
            segments.append(Segment("candidate", "", int(index)))
    if end < len(prompt):
        segments.append(Segment("literal", prompt[end:]))
    wanted = ["s", *["q"] * queries, *(f"c{slot}" for slot in range(width))]
    if sorted(seen) != sorted(wanted):
        missing = sorted(set(wanted) - set(seen)) or "none"
        raise ScorerError(
            "the chat template does not show every text of the prompt exactly once "
            f"(s = instruction, q = query, cN = candidate; missing: {missing}). "
            "Use a template that renders the user's turn, or chat_template='plain'."
        )
    return segments
