"""The request bodies: what each field means here, and which values are refused by name.

Null stands for "not given" everywhere, as clients send it for what was left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from evenhand.serve.refusals import RefusalError
from evenhand.serve.settings import Limits

# Seeds go into a hash: any whole number does, and this one every client can write.
LARGEST_SEED = 2**53
# More than any body needs; each of them costs time before it is refused.
_MOST_KEYS = 64
_MOST_REMEDIES = 16
_LONGEST_REMEDY = 200
_LISTED = 5
_EXCERPT = 60


def _text_of(value: Any) -> Any:
    """Return the text of a document given as an object; other values as they are."""
    if not isinstance(value, Mapping):
        return value
    others = sorted(str(key) for key in value if key != "text")
    if others:
        raise ValueError(
            f"a document must be a string or {{'text': ...}}, and has also "
            f"{', '.join(map(_short, others[:_LISTED]))}; join what is to be scored into one text"
        )
    if not isinstance(value.get("text"), str):
        raise ValueError("a document must be a string or {'text': ...}, and its text is no string")
    return value["text"]


def _few(value: Any) -> Any:
    """Return remedies as they are, unless they are more, or longer, than there could be."""
    given = value if isinstance(value, list) else [value]
    if len(given) > _MOST_REMEDIES:
        raise ValueError(f"at most {_MOST_REMEDIES} remedies are taken, got {len(given)}")
    longest = max((len(one) for one in given if isinstance(one, str)), default=0)
    if longest > _LONGEST_REMEDY:
        raise ValueError(
            f"a remedy has {longest} characters, and at most {_LONGEST_REMEDY} are taken; shorten it"
        )
    return value


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}..."


Document = Annotated[
    str,
    BeforeValidator(_text_of, json_schema_input_type=str | dict[str, str]),
]
Seed = Annotated[int, Field(ge=0, lt=LARGEST_SEED)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @property
    def texts(self) -> list[str]:
        """All texts of the body that are to be read by the scorer."""
        return []


class Asked(_Body):
    """What a request may ask of evenhand itself, under the key `evenhand`.

    Attributes:
        order_seed: documents are shown in the order drawn by it; None = as they came.
        remedy: one remedy or several, innermost first; [] = the bare scorer, None = the
            server's own.
        threshold: documents at or above it are kept; None = the server's own.
    """

    order_seed: Seed | None = None
    remedy: Annotated[str | list[str] | None, BeforeValidator(_few)] = None
    threshold: Annotated[float, Field(allow_inf_nan=False)] | None = None


class Rerank(_Body):
    """Body of `/rerank`, `/v1/rerank` and `/v2/rerank`: the fields of Cohere, Jina and vLLM."""

    query: str
    documents: list[Document]
    model: str | None = None
    top_n: Annotated[int, Field(ge=1)] | None = None
    return_documents: bool | None = None
    max_tokens_per_doc: Annotated[int, Field(ge=1)] | None = None
    max_chunks_per_doc: int | None = None
    rank_fields: list[str] | None = None
    priority: int | None = None
    truncation: bool | None = None
    truncate_prompt_tokens: int | None = None
    return_embeddings: bool | None = None
    evenhand: Asked | None = None

    @property
    def texts(self) -> list[str]:
        """Query and documents."""
        return [self.query, *self.documents]


class Score(_Body):
    """Body of `/v1/score`: one text against one or many, or as many against as many."""

    text_1: str | list[str]
    text_2: str | list[str]
    model: str | None = None
    priority: int | None = None
    truncate_prompt_tokens: int | None = None
    evenhand: Asked | None = None

    @property
    def texts(self) -> list[str]:
        """All texts of both sides."""
        return [*as_list(self.text_1), *as_list(self.text_2)]


class Orders(_Body):
    """Body of `/evenhand/orders`: the same documents shown in several orders."""

    query: str
    documents: list[Document]
    model: str | None = None
    orders: Annotated[int, Field(ge=2)] = 8
    evenhand: Asked | None = None

    @property
    def texts(self) -> list[str]:
        """Query and documents."""
        return [self.query, *self.documents]


B = TypeVar("B", bound=_Body)


def as_list(texts: str | list[str]) -> list[str]:
    """Return one text or several as a list."""
    return [texts] if isinstance(texts, str) else texts


def parse(kind: type[B], data: bytes, limits: Limits) -> B:
    """Return a body read from JSON.

    Raises:
        RefusalError: 400 where it is no JSON; 422 where a field is unknown, missing, of another
            type or out of its range, and the message names the field; 413 where documents
            are too many or a text is too long.
    """
    value = _json(data)
    if not isinstance(value, dict):
        raise RefusalError(422, f"the body must be a JSON object, got {_kind(value)}")
    for name in kind.model_fields:
        # Before they are looked at one by one.
        if isinstance(value.get(name), list) and len(value[name]) > limits.documents:
            raise RefusalError(
                413,
                f"{name} holds {len(value[name])} texts, and at most {limits.documents} are taken; "
                "send fewer",
                field=name,
            )
    try:
        body = kind.model_validate(value)
    except ValidationError as error:
        raise _refused(kind, error) from None
    _refuse_unsupported(body)
    _refuse_long(body.texts, limits.characters)
    return body


def _json(data: bytes) -> Any:
    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(items) > _MOST_KEYS:
            first = ", ".join(_short(name) for name, _ in items[:_LISTED])
            raise RefusalError(
                422,
                f"an object has {len(items)} keys, first {first}; at most {_MOST_KEYS} are read",
            )
        found = dict(items)
        if len(found) < len(items):
            names = [name for name, _ in items]
            twice = next(name for name in names if names.count(name) > 1)
            raise RefusalError(422, f"the key {_short(twice)} stands twice in one object; name it once")
        return found

    def constant(name: str) -> Any:
        raise ValueError(f"{name} is no JSON")

    try:
        return json.loads(data, object_pairs_hook=pairs, parse_constant=constant)
    except (ValueError, RecursionError):
        raise RefusalError(
            400, "the body is no JSON (or nested too deep); send one JSON object"
        ) from None


def _kind(value: Any) -> str:
    return {list: "a list", str: "a string", type(None): "null"}.get(type(value), "a value")


def _refused(kind: type[BaseModel], error: ValidationError) -> RefusalError:
    """Return what is wrong, all unknown keys first; no text of the body is quoted."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    unknown = [one for one in found if one["type"] == "extra_forbidden"]
    first = (unknown or found)[0]
    fields = {*kind.model_fields, *Asked.model_fields}
    if not unknown:
        # Places below a union also name its branches, which are no fields.
        parts = [str(part) for part in first["loc"] if isinstance(part, int) or part in fields]
        place = ".".join(parts)
        return RefusalError(422, f"{place}: {first['msg'].removeprefix('Value error, ')}", field=place)
    inside = len(first["loc"]) > 1
    known = sorted((Asked if inside else kind).model_fields)
    names = ", ".join(_short(one["loc"][-1]) for one in unknown[:_LISTED])
    where = " in evenhand" if inside else ""
    return RefusalError(422, f"unknown fields{where}: {names}; known are {', '.join(known)}")


def _refuse_unsupported(body: _Body) -> None:
    """Refuse values of known fields that would have to be ignored."""
    if not isinstance(body, (Rerank, Score)):
        return
    if body.priority:
        _refuse("priority", "requests are answered in the order they come; leave it out or send 0")
    if body.truncate_prompt_tokens not in (None, -1):
        _refuse("truncate_prompt_tokens", "documents are cut, prompts never; leave it out")
    if isinstance(body, Score):
        return
    if body.max_chunks_per_doc is not None:
        _refuse("max_chunks_per_doc", "a document is scored whole, not in chunks; leave it out")
    if body.rank_fields not in (None, ["text"]):
        _refuse("rank_fields", "a document is one text; leave it out")
    if body.return_embeddings:
        _refuse("return_embeddings", "there are no embeddings; leave it out")
    if body.truncation is False:
        _refuse("truncation", "long documents are cut and the cut is counted; leave it out")


def _refuse(field: str, why: str) -> None:
    raise RefusalError(422, f"{field} is not supported with this value: {why}", field=field)


def _refuse_long(texts: Sequence[str], most: int) -> None:
    longest = max(map(len, texts), default=0)
    if longest > most:
        raise RefusalError(
            413, f"a text has {longest} characters, and at most {most} are taken; shorten it"
        )
