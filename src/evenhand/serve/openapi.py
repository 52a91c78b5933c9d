"""Our own OpenAPI document: bodies are read by hand, so they are described by hand."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from evenhand import __version__
from evenhand.serve.described import ANSWERS
from evenhand.serve.refusals import KINDS
from evenhand.serve.shapes import Orders, Rerank, Score

BODIES: tuple[type[BaseModel], ...] = (Rerank, Score, Orders)
_REF = "#/components/schemas/{model}"
_POST = (400, 401, 408, 413, 415, 422, 429, 500, 502, 503, 504)


def body_of(kind: type[BaseModel]) -> dict[str, Any]:
    """Return the entry of a route that says what body it takes."""
    schema = {"$ref": _REF.format(model=kind.__name__)}
    return {
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
    }


def responses_of(kind: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    """Return the answers of a route by status: what the kind of body is answered, and refusals."""
    content = {"application/json": {"schema": {"$ref": _REF.format(model=f"{kind.__name__}Answer")}}}
    return {200: {"description": "scores", "content": content}, **refusals(post=True)}


def refusals(post: bool) -> dict[int | str, dict[str, Any]]:
    """Return the error statuses of a route, for its entry."""
    content = {"application/json": {"schema": {"$ref": _REF.format(model="Refused")}}}
    codes = _POST if post else (401, 503)
    return {code: {"description": KINDS[code], "content": content} for code in codes}


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document of an app, made once."""
    if app.openapi_schema is None:
        document = get_openapi(title="evenhand", version=__version__, routes=app.routes)
        _, bodies = models_json_schema([(kind, "validation") for kind in BODIES], ref_template=_REF)
        text = {"type": "string"}
        refused = {
            "type": "object",
            "required": ["message", "detail", "error"],
            "properties": {"message": text, "detail": text, "error": {"type": "object"}},
        }
        document.setdefault("components", {})["schemas"] = {
            **bodies["$defs"],
            **ANSWERS,
            "Refused": refused,
        }
        app.openapi_schema = document
    return app.openapi_schema
