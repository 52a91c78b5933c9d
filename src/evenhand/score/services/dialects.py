"""The request and answer shapes that HTTP rerank services speak.

A dialect is a declaration. `request` writes a body in it, `read_scores` reads an
answer: by the `index` of each result and never by its place, with nothing filled in.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from evenhand.errors import InputError, UsageError
from evenhand.types import FloatArray, Scale


def _none() -> Mapping[Any, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one kind of rerank service is asked and how it answers.

    Attributes:
        path: of its endpoint, where an address names none.
        candidates: key of the candidates. wrapped: each of them is {"text": ...}.
        limit: key of how many results are wanted; None = all come.
        results: key of the results in an answer; None = the answer is the list.
        score: key of the score of a result.
        scale: what it promises of its scores.
        extra: further fields of every request.
        truncate: fields that switch the cutting of long texts on and off, by switch;
            empty where there is none.
        key_header, key_before: the header of a key and what stands before the key.
        headers: further headers.
    """

    path: str
    candidates: str = "documents"
    wrapped: bool = False
    limit: str | None = "top_n"
    results: str | None = "results"
    score: str = "relevance_score"
    scale: Scale = "raw"
    extra: Mapping[str, Any] = field(default_factory=_none)
    truncate: Mapping[bool, Mapping[str, Any]] = field(default_factory=_none)
    key_header: str = "Authorization"
    key_before: str = "Bearer "
    headers: Mapping[str, str] = field(default_factory=_none)

    @property
    def shape(self) -> tuple[str | None, str]:
        """What an answer is known by: the keys of results and score."""
        return self.results, self.score


def _switch(key: str) -> Mapping[bool, Mapping[str, Any]]:
    return MappingProxyType({on: MappingProxyType({key: on}) for on in (True, False)})


_NO_DOCUMENTS = MappingProxyType({"return_documents": False})

DIALECTS: Mapping[str, Dialect] = MappingProxyType(
    {
        # Version 2 knows no return_documents: it never returns them.
        "cohere": Dialect("/v2/rerank"),
        "jina": Dialect("/v1/rerank", extra=_NO_DOCUMENTS),
        "vllm": Dialect("/v1/rerank"),
        "sglang": Dialect("/v1/rerank", results=None, score="score", extra=_NO_DOCUMENTS),
        "tei": Dialect(
            "/rerank", candidates="texts", limit=None, results=None, score="score", scale="unit",
            extra=MappingProxyType({"return_text": False}), truncate=_switch("truncate"),
        ),
        "infinity": Dialect("/rerank", scale="unit", extra=_NO_DOCUMENTS),
        "voyage": Dialect(
            "/v1/rerank", limit="top_k", results="data", extra=_NO_DOCUMENTS,
            truncate=_switch("truncation"),
        ),
        "mixedbread": Dialect(
            "/v1/reranking", candidates="input", limit="top_k", results="data", score="score",
            extra=MappingProxyType({"return_input": False}),
        ),
        "pinecone": Dialect(
            "/rerank", wrapped=True, results="data", score="score", scale="unit", extra=_NO_DOCUMENTS,
            truncate=MappingProxyType(
                {on: MappingProxyType({"parameters": {"truncate": "END" if on else "NONE"}})
                 for on in (True, False)}
            ),
            key_header="Api-Key", key_before="",
            headers=MappingProxyType({"X-Pinecone-Api-Version": "2025-04"}),
        ),
    }
)  # fmt: skip

# What an address ends with -> the dialect it is taken for when none is named.
_BY_PATH: Mapping[str, str] = MappingProxyType(
    {"/v2/rerank": "cohere", "/reranking": "mixedbread", "/rerank": "jina"}
)


class ShapeError(InputError):
    """An answer is laid out as another dialect's: the whole service speaks otherwise."""


def dialect_of(path: str, name: str | None = None) -> tuple[str, str]:
    """Return the name of the dialect for a service, and the path to ask.

    Args:
        path: of the address; "" or "/" where it names none.
        name: the dialect that was asked for, or None.

    Raises:
        UsageError: the dialect is unknown, or none was named and the path tells none.
    """
    bare = path.strip("/") == ""
    if name is None:
        found = [known for end, known in _BY_PATH.items() if path.rstrip("/").endswith(end)]
        if not found and not bare:
            raise UsageError(
                f"the path {path!r} tells no dialect; name one: dialect={'|'.join(DIALECTS)}"
            )
        name = found[0] if found else "jina"
    if name not in DIALECTS:
        raise UsageError(f"dialect {name!r} is unknown; known are {', '.join(DIALECTS)}")
    return name, DIALECTS[name].path if bare else path


def request(dialect: Dialect, query: str, texts: Sequence[str]) -> dict[str, Any]:
    """Return the body that asks for the scores of all texts.

    The limit is the number of texts, so that no service drops any.
    """
    body: dict[str, Any] = {"query": query}
    body[dialect.candidates] = [{"text": text} for text in texts] if dialect.wrapped else list(texts)
    if dialect.limit is not None:
        body[dialect.limit] = len(texts)
    return {**body, **dialect.extra}


def read_scores(name: str, body: Any, n: int) -> FloatArray:
    """Return the (n,) scores of an answer, in the order of the texts that were sent.

    Args:
        name: the dialect. body: the parsed answer. n: how many texts were sent.

    Raises:
        ShapeError: the answer is another dialect's; the message names it.
        InputError: it is none at all; an index is missing, repeated, out of range or
            no integer; a score is no finite number.
    """
    dialect = DIALECTS[name]
    items = _items(dialect, body)
    if items is None or (items and not _fits(dialect, items[0])):
        _refuse_shape(name, body, items)
    scores = np.full(n, np.nan)
    for place, item in enumerate(items or ()):
        if not _fits(dialect, item):
            raise InputError(f"result {place} of the answer holds no index and {dialect.score}")
        index = _index(item["index"], n)
        if not math.isnan(scores[index]):
            raise InputError(f"index {index} comes twice in the answer")
        scores[index] = _score(item[dialect.score], index)
    missing = np.flatnonzero(np.isnan(scores))
    if missing.size:
        raise InputError(
            f"the answer holds {n - missing.size} results for {n} texts; index {missing[0]} is missing"
        )
    return scores


def _items(dialect: Dialect, body: Any) -> list[Any] | None:
    found = body
    if dialect.results is not None:
        found = body.get(dialect.results) if isinstance(body, Mapping) else None
    return found if isinstance(found, list) else None


def _fits(dialect: Dialect, item: Any) -> bool:
    return isinstance(item, Mapping) and "index" in item and dialect.score in item


def _refuse_shape(name: str, body: Any, items: list[Any] | None) -> None:
    """Raise when another dialect fits the answer, or the results are in no list."""
    own = DIALECTS[name].shape
    others = []
    for other, dialect in DIALECTS.items():
        theirs = _items(dialect, body)
        if dialect.shape != own and theirs and _fits(dialect, theirs[0]):
            others.append(other)
    place = "a bare list" if own[0] is None else f"a list under {own[0]!r}"
    came = f"JSON of type {type(body).__name__}"
    if isinstance(body, Mapping):
        came = f"an object with {sorted(map(str, body))[:8]}"
    said = f"dialect {name!r} answers with {place} of index and {own[1]}, and {came} came"
    if others:
        raise ShapeError(f"{said}, which is how {', '.join(others)} answer; name that dialect")
    if items is None:
        raise InputError(said)


def _index(value: Any, n: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"the index {value!r:.60} of a result is no integer")
    if not 0 <= value < n:
        raise InputError(f"index {value!r:.20} is out of range for {n} texts (the first is 0)")
    return value


def _score(value: Any, index: int) -> float:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    # Compared before the conversion: an integer may be too large for a float.
    if not number or not abs(value) <= sys.float_info.max:
        raise InputError(f"the score {value!r:.60} of index {index} is no finite number")
    return float(value)
