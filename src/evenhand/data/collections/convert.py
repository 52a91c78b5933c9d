"""Upstream rows, as their sources write them, to records that `read_folder` reads.

A converter gets one row and its place (file and number) and returns a record, or
the reason why the row is left out as a string. Nothing is read or drawn but from
the row, its id and its place.
"""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evenhand.data.shapes import as_id
from evenhand.errors import InputError
from evenhand.seeds import generator

Row = Mapping[str, Any]
Converter = Callable[[Row, str], "dict[str, Any] | str"]

PARAGRAPHS, SUPPORTING = 10, 2
CUTS = (4.0, 6.0, 8.0)
RANKED = {1: 3, 2: 2, 3: 2, 4: 1, 5: 1, 6: 0, 7: 0}
_OF_EACH = 4
_FIT = "no ten paragraphs of which two support"
_EMPTY = "an empty prompt or response"


def normal_form(prompt: str) -> str:
    """Return a prompt as it is compared: NFKC, no case, single spaces, no marks at its ends."""
    text = " ".join(unicodedata.normalize("NFKC", prompt).casefold().split())
    return text.strip(" .,;:!?\"'`*#-")


def _get(row: Row, *names: str) -> Any:
    for name in names:
        if row.get(name) is not None:
            return row[name]
    raise InputError(f"a row without {' or '.join(names)}; it has {sorted(row)}")


def _listed(value: Any, first: str, second: str) -> list[tuple[Any, Any]]:
    """Return pairs, be they an object of two lists, a list of pairs, or either as JSON."""
    if isinstance(value, str):
        value = json.loads(value)
    if isinstance(value, Mapping):
        return list(zip(value[first], value[second], strict=True))
    return [(pair[first], pair[second]) if isinstance(pair, Mapping) else tuple(pair) for pair in value]


def _question(row: Row, place: str, paragraphs: list[dict[str, Any]]) -> dict[str, Any] | str:
    marks = sum(paragraph["is_supporting"] for paragraph in paragraphs)
    if len(paragraphs) != PARAGRAPHS or marks != SUPPORTING:
        return _FIT
    key = as_id(_get(row, "id", "_id"), "id")
    for number, paragraph in enumerate(paragraphs):
        paragraph["id"] = f"{key}-{number}"
    answers = list(dict.fromkeys([_get(row, "answer"), *(row.get("answer_aliases") or [])]))
    return {
        "id": key, "question": _get(row, "question"), "answers": answers, "paragraphs": paragraphs,
    }  # fmt: skip


def hotpot(row: Row, place: str) -> dict[str, Any] | str:
    """Return a question of HotpotQA or 2WikiMultiHopQA; support is marked by title."""
    gold = {title for title, _ in _listed(_get(row, "supporting_facts"), "title", "sent_id")}
    paragraphs = [
        {
            "title": title,
            "text": " ".join(part for sentence in sentences if (part := sentence.strip())),
            "is_supporting": title in gold,
        }
        for title, sentences in _listed(_get(row, "context"), "title", "sentences")
    ]
    return _question(row, place, paragraphs)


def musique(row: Row, place: str) -> dict[str, Any] | str:
    """Return a question of MuSiQue: its supporting paragraphs and the first others, ten in all."""
    held = sorted(_get(row, "paragraphs"), key=lambda entry: entry["idx"])
    others = PARAGRAPHS - sum(bool(entry["is_supporting"]) for entry in held)
    paragraphs: list[dict[str, Any]] = []
    for entry in held:
        marked = bool(entry["is_supporting"])
        if marked or others > 0:
            others -= not marked
            paragraphs.append(
                {"title": entry["title"], "text": entry["paragraph_text"], "is_supporting": marked}
            )
    return _question(row, place, paragraphs)


def _responses(
    key: str, prompt: Any, texts: Sequence[Any], scores: Sequence[int]
) -> dict[str, Any] | str:
    if not str(prompt).strip() or not all(str(text or "").strip() for text in texts):
        return _EMPTY
    return {"id": key, "prompt": prompt, "responses": list(texts), "scores": list(scores)}


def rewardbench2(row: Row, place: str) -> dict[str, Any] | str:
    """Return a prompt of RewardBench 2: one right response, three wrong ones."""
    right, wrong = _get(row, "chosen"), _get(row, "rejected")
    if row.get("subset") == "Ties":
        return "the part Ties, whose prompts have many right responses"
    if (len(right), len(wrong)) != (1, 3):
        return "no one right and three wrong responses"
    key = as_id(_get(row, "id"), "id")
    return _responses(f"rb2-{key}", _get(row, "prompt"), [*right, *wrong], [1, 0, 0, 0])


def rm_bench(row: Row, place: str) -> dict[str, Any] | str:
    """Return a prompt of RM-Bench: three right and three wrong responses, in three styles."""
    right, wrong = list(_get(row, "chosen")), list(_get(row, "rejected"))
    key = as_id(_get(row, "id"), "id")
    grades = [1] * len(right) + [0] * len(wrong)
    return _responses(key, _get(row, "prompt"), right + wrong, grades)


def _spoken(prompt: str) -> str:
    """Return a dialogue without the frame "Human: ... Assistant:" where it has one turn."""
    text = prompt.strip().removesuffix("Assistant:").strip()
    first = text.removeprefix("Human:")
    return text if "\n\nAssistant:" in first else first.strip()


def nectar(row: Row, place: str) -> dict[str, Any] | str:
    """Return a prompt of Nectar with its seven responses; ranks become grades by `RANKED`."""
    answers = _get(row, "answers")
    ranks = [answer["rank"] for answer in answers]
    if sorted(rank for rank in ranks if rank is not None) != sorted(RANKED):
        return "no seven responses of ranks 1 to 7"
    texts = [answer["answer"] for answer in answers]
    grades = [RANKED[int(rank)] for rank in ranks]
    return _responses(f"nectar-{place}", _spoken(_get(row, "prompt")), texts, grades)


def grade_of(score: float) -> int:
    """Return how many of `CUTS` a score reaches: 0 below 4, 1 from 4, 2 from 6, 3 from 8."""
    return sum(score >= cut for cut in CUTS)


def _score(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def ultrafeedback(row: Row, place: str) -> dict[str, Any] | str:
    """Return a prompt of UltraFeedback with its four responses, their overall scores cut to grades."""
    completions = _get(row, "completions")
    scores = [_score(completion.get("overall_score")) for completion in completions]
    if len(scores) != 4 or not all(map(math.isfinite, scores)):
        return "no four responses with a score"
    texts = [completion["response"] for completion in completions]
    return _responses(f"uf-{place}", _get(row, "instruction"), texts, list(map(grade_of, scores)))


def ppe(row: Row, place: str) -> dict[str, Any] | str:
    """Return a prompt of PPE's best of K: up to four right and four wrong responses, drawn by seed."""
    scores = list(_get(row, "scores"))
    texts = [row.get(f"response_{number}") or "" for number in range(1, len(scores) + 1)]
    key = f"ppe-{as_id(row.get('question_id', place), 'question_id')}"
    draw = generator(0, key, "ppe responses")
    chosen: list[int] = []
    for wanted in (True, False):
        held = [i for i, score in enumerate(scores) if bool(score) == wanted and texts[i].strip()]
        if not held:
            return "no right or no wrong response"
        picked = draw.choice(len(held), size=min(_OF_EACH, len(held)), replace=False)
        chosen += [held[i] for i in sorted(picked)]
    grades = [int(bool(scores[i])) for i in chosen]
    prompt = _get(row, "prompt", "question", "problem")
    return _responses(key, prompt, [texts[i] for i in chosen], grades)


def bright_text(row: Row, place: str) -> dict[str, Any] | str:
    """Return a text of BRIGHT."""
    return {"_id": as_id(_get(row, "id"), "id"), "title": "", "text": _get(row, "content")}


def bright_query(row: Row, place: str) -> dict[str, Any] | str:
    """Return a question of BRIGHT with what is relevant and what must be no candidate."""
    return {
        "_id": as_id(_get(row, "id"), "id"),
        "text": _get(row, "query"),
        "relevant": list(_get(row, "gold_ids")),
        "excluded": [key for key in row.get("excluded_ids") or [] if key != "N/A"],
    }


CONVERTERS: dict[str, Converter] = {
    "bright/corpus": bright_text,
    "bright/queries": bright_query,
    "hotpot": hotpot,
    "musique": musique,
    "nectar": nectar,
    "ppe": ppe,
    "rewardbench2": rewardbench2,
    "rm_bench": rm_bench,
    "ultrafeedback": ultrafeedback,
}


def converter(name: str, role: str) -> Converter:
    """Return the converter of a source for files of a role."""
    return CONVERTERS[name] if name in CONVERTERS else CONVERTERS[f"{name}/{role}"]
