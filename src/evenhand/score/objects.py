"""Rerankers of other packages, told by their methods, as functions of a query and texts."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

from evenhand.errors import ScorerError


class ObjectFunction:
    """An object with `predict(pairs)` or `rank(query, docs)`, called as f(query, texts).

    Attributes:
        kind: class of the object. label: name of its model where it tells one.
        model: the object.
    """

    def __init__(self, model: object, call: Callable[[Any, str, list[str]], list[float]]) -> None:
        self.kind = f"{type(model).__module__}.{type(model).__qualname__}"
        self.label = _label(model)
        self.model = model
        self.call = call
        self.__name__ = type(model).__name__ + (f" {self.label}" if self.label else "")

    def __call__(self, query: str, texts: list[str]) -> list[float]:
        """Return one score per text; none for none."""
        return self.call(self.model, query, texts) if texts else []


def as_function(model: object) -> object:
    """Return an object of a reranking package as a function of query and texts.

    Known by their methods: sentence-transformers' CrossEncoder (`predict` of pairs) and
    the rankers of the `rerankers` package (`rank(query, docs, doc_ids)`, results mapped
    by `doc_id`; a ranker that gives ranks alone scores (n - place) / n). Functions,
    classes and everything else come back as they are.
    """
    if inspect.isroutine(model) or inspect.isclass(model):
        return model
    predict, rank = (getattr(model, name, None) for name in ("predict", "rank"))
    if callable(predict) and _takes(predict, 1) and (callable(rank) or not callable(model)):
        return ObjectFunction(model, _by_predict)
    if callable(rank) and _takes(rank, 2):
        return ObjectFunction(model, _by_rank)
    return model


def _takes(method: Callable[..., Any], places: int) -> bool:
    try:
        inspect.signature(method).bind(*range(places))
    except TypeError:
        return False
    except ValueError:  # some builtins have no signature: the first call will tell
        return True
    return True


def _label(model: object) -> str:
    """Return what the object calls its model, or ""."""
    card = getattr(model, "model_card_data", None)
    inner = getattr(model, "model", None)
    places = (
        (model, "model_name_or_path"),
        (model, "model_name"),
        (card, "base_model"),
        (getattr(model, "config", None), "_name_or_path"),
        (getattr(inner, "config", None), "_name_or_path"),
        (inner, "name_or_path"),
    )
    names = [getattr(owner, name, None) for owner, name in places if owner is not None]
    return next((name for name in names if isinstance(name, str) and name), "")


def _by_predict(model: Any, query: str, texts: list[str]) -> list[float]:
    found = model.predict([(query, text) for text in texts])
    values = found.tolist() if hasattr(found, "tolist") else list(found)
    return [float(value) for value in values]


def _by_rank(model: Any, query: str, texts: list[str]) -> list[float]:
    keywords = {"doc_ids": list(range(len(texts)))} if _knows_ids(model.rank) else {}
    results = list(model.rank(query, texts, **keywords))
    places = [_place(result) for result in results]
    if sorted(places) != list(range(len(texts))):
        raise ScorerError(
            f"{type(model).__name__}.rank gave results for {places} of {len(texts)} texts; it must "
            "give one for each (no top_k)"
        )
    scores = [math.nan] * len(texts)
    for order, (place, result) in enumerate(zip(places, results, strict=True)):
        score = _field(result, "score")
        rank = _field(result, "rank")
        # Ranks begin at 1; without them the order of the results is the ranking.
        at = order + 1 if rank is None else _whole(rank, result)
        if score is None and not 1 <= at <= len(texts):
            raise ScorerError(f"rank {at} is none of 1 to {len(texts)}: {result!r:.200}")
        by_rank = (len(texts) - at + 1) / len(texts)
        scores[place] = by_rank if score is None else float(score)
    return scores


def _knows_ids(rank: Callable[..., Any]) -> bool:
    try:
        return "doc_ids" in inspect.signature(rank).parameters
    except ValueError:
        return False


def _place(result: Any) -> int:
    """Return which text a result is about."""
    for name in ("corpus_id", "index", "doc_id"):
        found = _field(result, name)
        if found is None:
            found = _field(_field(result, "document"), name)
        if found is not None:
            return _whole(found, result)
    raise ScorerError(f"a result of rank does not say which text it is about: {result!r:.200}")


def _whole(value: Any, result: Any) -> int:
    """Return a whole number that came as one, or as its digits; nothing is rounded."""
    text = str(value)
    if isinstance(value, bool) or not (text.isascii() and text.isdigit()):
        raise ScorerError(f"{value!r:.40} is no whole number from 0: {result!r:.200}")
    return int(text)


def _field(result: Any, name: str) -> Any:
    if isinstance(result, dict):
        return result.get(name)
    return getattr(result, name, None)
