"""The JSON of answers: the keys that clients read, and ours under `evenhand`."""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand.measure.order import tau_psi
from evenhand.serve.ask import Question
from evenhand.serve.spread import Told
from evenhand.types import FloatArray


def rerank_answer(
    question: Question,
    told: Told,
    *,
    model: str,
    top_n: int | None,
    documents: bool,
    uncertain: float,
    version: str = "1",
) -> dict[str, Any]:
    """Return the answer to a rerank request.

    Results are sorted by score, ties by index, missing scores (null) last. `top_n` of them
    are given; the counts under `evenhand` are over all.

    Args:
        documents: whether results carry the text. uncertain: flip probability from which
            a result is called so. version: of Cohere's API, that `meta` names.
    """
    scores = told.scored.scores
    order = sorted(range(len(scores)), key=lambda i: (math.isnan(scores[i]), -scores[i], i))
    results = []
    for index in order[:top_n]:
        result: dict[str, Any] = {"index": index, "relevance_score": number(scores[index])}
        if documents:
            result["document"] = {"text": question.documents[index]}
        results.append({**result, "evenhand": document_part(told, index, uncertain)})
    return {
        "id": str(uuid.uuid4()),
        "object": "list",
        "model": model,
        "results": results,
        **cost([told], version),
        "evenhand": request_part(question, [told]),
    }


def score_answer(
    question: Question, told: Sequence[Told], *, model: str, uncertain: float
) -> dict[str, Any]:
    """Return the answer to a score request, in the order of the texts."""
    data: list[dict[str, Any]] = []
    for one in told:
        for index in range(len(one.scored.scores)):
            entry = {"index": len(data), "object": "score", "score": number(one.scored.scores[index])}
            data.append({**entry, "evenhand": document_part(one, index, uncertain)})
    return {
        "id": f"score-{uuid.uuid4()}",
        "object": "list",
        "created": int(time.time()),
        "model": model,
        "data": data,
        **cost(told),
        "evenhand": request_part(question, told),
    }


def orders_answer(question: Question, told: Sequence[Told], *, model: str) -> dict[str, Any]:
    """Return the scores of the same documents under several orders, and what changed.

    `flips` counts the orders that decide otherwise about a document than most do;
    `places` are its best and worst rank over the orders.
    """
    rows = np.array([one.scored.scores for one in told]).reshape(len(told), -1)
    keeps = [one.keep for one in told]
    shown = [
        {
            "order": list(one.presentation.order),
            "scores": numbers(row),
            "keep": decisions(part),
        }
        for one, row, part in zip(question.shown, rows, told, strict=True)
    ]
    ranks = np.array([_places(row) for row in rows]).reshape(rows.shape)
    documents = [
        {
            "index": index,
            "mean": number(float(rows[:, index].mean())),
            "lowest": number(float(rows[:, index].min())),
            "highest": number(float(rows[:, index].max())),
            "places": _span(ranks[:, index]),
            "flips": _flips([None if k is None else bool(k[index]) for k in keeps], rows[:, index]),
        }
        for index in range(rows.shape[1])
    ]
    return {
        "id": str(uuid.uuid4()),
        "model": model,
        "orders": shown,
        "documents": documents,
        "tau_psi": number(tau_psi(rows)) if rows.shape[1] > 1 else None,
        **cost(told),
        "evenhand": request_part(question, told),
    }


def document_part(told: Told, index: int, uncertain: float) -> dict[str, Any]:
    """Return what is known of one document beside its score; null = not known."""
    missing = math.isnan(told.scored.scores[index])
    flip = None if told.flip is None else number(told.flip[index])
    return {
        "keep": None if told.keep is None or missing else bool(told.keep[index]),
        "flip_probability": flip,
        "standard_error": None if told.error is None else number(told.error[index]),
        "uncertain": None if flip is None else flip >= uncertain,
    }


def request_part(question: Question, told: Sequence[Told]) -> dict[str, Any]:
    """Return how a request was scored, and what is missing or cut."""
    scored = [one.scored for one in told]
    cut = [int(np.sum(one.truncated)) for one in scored if one.truncated is not None]
    widest = max((len(w) for one in question.shown for w in one.presentation.windows), default=0)
    return {
        "order_seed": question.order_seed,
        "remedy": list(question.teller.names),
        "threshold": question.threshold,
        "width": widest,
        "missing": sum(int(np.isnan(one.scores).sum()) for one in scored),
        "failure": next((one.failure for one in scored if one.failure is not None), None),
        # Null where the scorer does not tell it of every row.
        "truncated_tokens": sum(cut) if len(cut) == len(scored) else None,
        "prompts": sum(one.prompts for one in scored),
    }


def cost(told: Sequence[Told], version: str = "1") -> dict[str, Any]:
    """Return tokens read, as `usage` (Jina, vLLM) and as `meta` (Cohere)."""
    tokens = sum(one.scored.tokens for one in told)
    meta = {"api_version": {"version": version}, "billed_units": {"search_units": 0}}
    return {
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        "meta": {**meta, "tokens": {"input_tokens": tokens, "output_tokens": 0}},
    }


def number(value: float) -> float | None:
    """Return a finite number, or None: a missing one is null, never 0."""
    return float(value) if math.isfinite(value) else None


def numbers(values: FloatArray) -> list[float | None]:
    """Return plain numbers, None where one is missing."""
    return [number(value) for value in values.tolist()]


def decisions(told: Told) -> list[bool | None] | None:
    """Return what is kept, None where a score is missing; None where nothing is decided."""
    if told.keep is None:
        return None
    missing = np.isnan(told.scored.scores)
    return [None if lost else bool(kept) for kept, lost in zip(told.keep, missing, strict=True)]


def _places(row: FloatArray) -> FloatArray:
    """Return (n,) ranks from 1, tied ones the better; NaN where the score is missing."""
    above = (row[None, :] > row[:, None]).sum(axis=1)
    return np.where(np.isnan(row), np.nan, above + 1.0)


def _span(ranks: FloatArray) -> list[int] | None:
    known = ranks[~np.isnan(ranks)]
    return [int(known.min()), int(known.max())] if known.size else None


def _flips(keeps: Sequence[bool | None], scores: FloatArray) -> int | None:
    known = [k for k, score in zip(keeps, scores, strict=True) if k is not None and score == score]
    return min(known.count(True), known.count(False)) if known else None
