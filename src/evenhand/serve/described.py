"""What answers hold, as schemas for our OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_CHANCE: Schema = {"type": "number", "minimum": 0, "maximum": 1}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _list(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def _object(needed: Mapping[str, Schema], more: Mapping[str, Schema] | None = None) -> Schema:
    properties = {**needed, **(more or {})}
    return {
        "type": "object", "properties": properties, "required": list(needed),
        "additionalProperties": False,
    }  # fmt: skip


_NUMBER = _or_null({"type": "number"})
_KEEP = _or_null({"type": "boolean"})
_OF_DOCUMENT = _object(
    {
        "keep": _KEEP,
        "flip_probability": _or_null(_CHANCE),
        "standard_error": _NUMBER,
        "uncertain": _KEEP,
    }
)
_OF_REQUEST = _object(
    {
        "order_seed": _or_null(_COUNT), "remedy": _list(_TEXT), "threshold": _NUMBER, "width": _COUNT,
        "missing": _COUNT, "failure": _or_null(_TEXT), "truncated_tokens": _or_null(_COUNT),
        "prompts": _COUNT,
    }
)  # fmt: skip
_COMMON: Mapping[str, Schema] = {
    "id": _TEXT,
    "model": _TEXT,
    "usage": _object({"prompt_tokens": _COUNT, "total_tokens": _COUNT}),
    "meta": _object(
        {
            "api_version": _object({"version": _TEXT}),
            "billed_units": _object({"search_units": _COUNT}),
            "tokens": _object({"input_tokens": _COUNT, "output_tokens": _COUNT}),
        }
    ),
    "evenhand": _OF_REQUEST,
}
_RESULT = _object(
    {"index": _COUNT, "relevance_score": _NUMBER, "evenhand": _OF_DOCUMENT},
    {"document": _object({"text": _TEXT})},
)
_SCORED = _object({"index": _COUNT, "object": _TEXT, "score": _NUMBER, "evenhand": _OF_DOCUMENT})
_ORDER = _object({"order": _list(_COUNT), "scores": _list(_NUMBER), "keep": _or_null(_list(_KEEP))})
_STEADY = _object(
    {
        "index": _COUNT, "mean": _NUMBER, "lowest": _NUMBER, "highest": _NUMBER,
        "places": _or_null(_list(_COUNT)), "flips": _or_null(_COUNT),
    }
)  # fmt: skip

ANSWERS: Mapping[str, Schema] = {
    "RerankAnswer": _object({**_COMMON, "object": _TEXT, "results": _list(_RESULT)}),
    "ScoreAnswer": _object({**_COMMON, "object": _TEXT, "created": _COUNT, "data": _list(_SCORED)}),
    "OrdersAnswer": _object(
        {**_COMMON, "orders": _list(_ORDER), "documents": _list(_STEADY), "tau_psi": _NUMBER}
    ),
}
