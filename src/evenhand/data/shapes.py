"""Record shapes: one JSON object in, one slate out.

Shapes whose sources list gold first (`tevatron`, `responses`) are put in a
seeded order: by a hash of slate id and candidate id, so that it is the same on
every machine and has nothing to do with grades or file order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from evenhand.data.lines import Json
from evenhand.data.report import ReadReport
from evenhand.errors import InputError, UsageError
from evenhand.seeds import content_hash, tie_ranks
from evenhand.types import Candidate, Slate, slate_from_dict

Order = Literal["file", "seeded"]
ORDERS: tuple[Order, ...] = ("file", "seeded")
VERDICTS = frozenset({"SUPPORTS", "REFUTES", "NOT_ENOUGH_INFO", "DISPUTED"})
_TEXT_KEYS = ("text", "contents", "content", "segment", "passage", "body")


def seeded_order(slate: Slate) -> Slate:
    """Return the slate with its candidates in an order drawn from ids alone."""
    # The salt keeps this order apart from the one that breaks ties of scores.
    ranks = tie_ranks(slate.id, slate.ids, salt="input order")
    return replace(slate, candidates=tuple(slate.candidates[i] for i in np.argsort(ranks)))


def as_id(value: object, what: str) -> str:
    """Return an id as a string; whole numbers are written out.

    Raises:
        InputError: it is neither a string nor an integer.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return str(value)
    raise InputError(f"{what} must be a string or an integer, got {value!r}")


def _required(record: Mapping[str, Any], key: str, what: str) -> Json:
    if key not in record:
        raise InputError(f"{what} without {key!r}; it has {sorted(record)}")
    return record[key]


def _listed(value: object, what: str) -> Sequence[Any]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InputError(f"{what} must be a list, got {type(value).__name__}")
    return value


def _objects(value: object, what: str) -> list[Mapping[str, Any]]:
    entries = _listed(value, what)
    for entry in entries:
        if not isinstance(entry, Mapping):
            raise InputError(f"{what} must hold objects, got {entry!r}")
    return list(entries)


def _evenhand(record: Mapping[str, Any], report: ReadReport) -> Slate:
    return slate_from_dict(record)


def _rank_llm_text(entry: Mapping[str, Any], key: str) -> tuple[Any, Any]:
    doc = _required(entry, "doc", f"candidate {key!r}")
    if isinstance(doc, str):
        return doc, ""
    if not isinstance(doc, Mapping):
        raise InputError(f"doc of candidate {key!r} must be an object or a string, got {doc!r}")
    held = [name for name in _TEXT_KEYS if name in doc]
    if not held:
        raise InputError(
            f"doc of candidate {key!r} without a text; one of {list(_TEXT_KEYS)} is needed"
        )
    return doc[held[0]], doc.get("title") or ""


def _rank_llm(record: Mapping[str, Any], report: ReadReport) -> Slate:
    query = _required(record, "query", "request")
    if isinstance(query, Mapping):
        text = _required(query, "text", "query")
        slate_id = as_id(_required(query, "qid", "query"), "qid")
    else:
        # A bare question has no id of its own; its text gives one that stays.
        text = query
        named = record.get("qid", record.get("id"))
        slate_id = as_id(f"query-{content_hash(query)[:12]}" if named is None else named, "qid")
    candidates, scores = [], []
    for entry in _objects(_required(record, "candidates", "request"), "candidates"):
        key = as_id(_required(entry, "docid", "candidate"), "docid")
        candidates.append(Candidate(key, *_rank_llm_text(entry, key)))
        score = entry.get("score")
        if score is not None and (isinstance(score, bool) or not isinstance(score, (int, float))):
            raise InputError(f"score of candidate {key!r} must be a number, got {score!r}")
        scores.append(score)
    known = [score for score in scores if score is not None]
    if any(before < after for before, after in pairwise(known)):
        report.add("order_contradicts_score", slate_id)
    return Slate(slate_id, text, tuple(candidates))


def _tevatron(record: Mapping[str, Any], report: ReadReport) -> Slate:
    slate_id = as_id(_required(record, "query_id", "record"), "query_id")
    candidates, grades = [], {}
    for grade, part in ((1, "positive_passages"), (0, "negative_passages")):
        for entry in _objects(record.get(part, []), part):
            key = as_id(_required(entry, "docid", part), "docid")
            if key in grades:
                raise InputError(f"docid {key!r} stands twice among the passages of {slate_id!r}")
            title = entry.get("title") or ""
            candidates.append(Candidate(key, _required(entry, "text", f"passage {key!r}"), title))
            grades[key] = grade
    answers = _answers(record)
    return Slate(slate_id, _required(record, "query", "record"), tuple(candidates), grades, answers)


def _answers(record: Mapping[str, Any]) -> tuple[str, ...]:
    held = [] if record.get("answer") is None else [record["answer"]]
    held += _listed(record.get("answers") or [], "answers")
    for answer in held:
        if not isinstance(answer, str):
            raise InputError(f"an answer must be a string, got {answer!r}")
    return tuple(dict.fromkeys(held))


def gold_of(record: Mapping[str, Any]) -> tuple[tuple[str, ...], str | None]:
    """Return (answers, verdict) of a question record.

    A single `answer` that is one of `VERDICTS`, without a list of `answers`, is
    a verdict on a claim and not an answer.
    """
    answer = record.get("answer")
    if "answers" not in record and isinstance(answer, str) and answer in VERDICTS:
        return (), answer
    return _answers(record), None


def _qa(record: Mapping[str, Any], report: ReadReport) -> Slate:
    slate_id = as_id(_required(record, "id", "record"), "id")
    candidates, grades = [], {}
    for index, entry in enumerate(_objects(_required(record, "paragraphs", "record"), "paragraphs")):
        key = as_id(entry.get("id", f"{slate_id}-{index}"), "paragraph id")
        text = _required(entry, "text", f"paragraph {key!r}")
        candidates.append(Candidate(key, text, entry.get("title") or ""))
        support = entry.get("is_supporting")
        if support is not None:
            if support not in (0, 1):
                raise InputError(f"is_supporting of {key!r} must be true or false, got {support!r}")
            grades[key] = int(support)
    answers, verdict = gold_of(record)
    question = _required(record, "question", "record")
    return Slate(slate_id, question, tuple(candidates), grades or None, answers, verdict)


def _gold_grades(record: Mapping[str, Any], keys: Sequence[str]) -> dict[str, int] | None:
    gold, scores = record.get("gold"), record.get("scores")
    places = [] if gold is None else [gold] if isinstance(gold, int) else list(_listed(gold, "gold"))
    for place in places:
        if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < len(keys):
            raise InputError(f"gold must be a place in 0..{len(keys) - 1}, got {place!r}")
    if scores is None:
        return {key: int(i in places) for i, key in enumerate(keys)} if places else None
    if len(_listed(scores, "scores")) != len(keys):
        raise InputError(f"{len(scores)} scores for {len(keys)} responses")
    grades = dict(zip(keys, scores, strict=True))
    for key, grade in grades.items():
        if isinstance(grade, bool) or not isinstance(grade, int):
            raise InputError(f"score of response {key!r} must be an integer grade, got {grade!r}")
    if any(grades[keys[place]] < max(grades.values()) for place in places):
        raise InputError(f"gold {gold!r} is not the response with the highest score in {list(scores)}")
    return grades


def _responses(record: Mapping[str, Any], report: ReadReport) -> Slate:
    slate_id = as_id(_required(record, "id", "record"), "id")
    texts = _listed(_required(record, "responses", "record"), "responses")
    keys = [f"{slate_id}-{index}" for index in range(len(texts))]
    candidates = tuple(Candidate(key, text) for key, text in zip(keys, texts, strict=True))
    return Slate(
        slate_id, _required(record, "prompt", "record"), candidates, _gold_grades(record, keys)
    )


@dataclass(frozen=True, slots=True)
class Shape:
    """A way to write a slate as one JSON object.

    Attributes:
        parse: the slate of an object, its candidates in the order of the file.
        order: the canonical order unless another is asked.
    """

    parse: Callable[[Mapping[str, Any], ReadReport], Slate]
    order: Order


SHAPES: dict[str, Shape] = {
    "evenhand": Shape(_evenhand, "file"),
    "qa": Shape(_qa, "file"),
    "rank_llm": Shape(_rank_llm, "file"),
    "responses": Shape(_responses, "seeded"),
    "tevatron": Shape(_tevatron, "seeded"),
}


def detect(record: Mapping[str, Any]) -> str:
    """Return the key in `SHAPES` of the shape a record has; `evenhand` when none stands out."""
    if "positive_passages" in record or "negative_passages" in record:
        return "tevatron"
    if "paragraphs" in record:
        return "qa"
    if "responses" in record and "prompt" in record:
        return "responses"
    candidates = record.get("candidates")
    first = candidates[0] if isinstance(candidates, list) and candidates else None
    if isinstance(record.get("query"), Mapping) or (isinstance(first, Mapping) and "docid" in first):
        return "rank_llm"
    return "evenhand"


def parse(record: Mapping[str, Any], shape: str, order: Order | None, report: ReadReport) -> Slate:
    """Return the slate of one record in one of `SHAPES`.

    Args:
        record: the JSON object.
        shape: a key of `SHAPES`.
        order: "file", "seeded", or None for the default of the shape.
        report: gets the notes.

    Raises:
        InputError: the record does not have the shape.
    """
    slate = SHAPES[shape].parse(record, report)
    if (order or SHAPES[shape].order) == "file":
        return slate
    report.add("seeded_order", slate.id)
    return seeded_order(slate)


def check_order(order: str | None) -> None:
    """Refuse an order that is not one of `ORDERS` or None.

    Raises:
        UsageError: it is not; the message lists the known ones.
    """
    if order is not None and order not in ORDERS:
        raise UsageError(f"unknown order {order!r}; known are {list(ORDERS)}")
