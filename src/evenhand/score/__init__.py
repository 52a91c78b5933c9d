"""From a presentation to scores: every scorer, and how to open one by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module

from evenhand.errors import UsageError
from evenhand.models.quiet import model_packages
from evenhand.models.shipped import NAMES
from evenhand.score.function import scorer
from evenhand.types import Scorer

__all__ = ["open_scorer", "scorer"]


def _open_toy(spec: str, **options: object) -> Scorer:
    from evenhand.score.toy import open_toy

    return open_toy(spec, **options)


def _open_local(spec: str, **options: object) -> Scorer:
    with model_packages():
        from evenhand.score.local import open_local

        return _opened(open_local, spec, options)


def _open_likelihood(spec: str, **options: object) -> Scorer:
    with model_packages():
        from evenhand.score.likelihood import open_likelihood

        return _opened(open_likelihood, spec.removeprefix("ql:"), options)


# Scheme -> (module, function) of an opener that is handed what stands after the colon.
_DOORS: Mapping[str, tuple[str, str]] = {
    "rerank:": ("evenhand.score.services.rerank", "open_rerank"),
    "openai:": ("evenhand.score.services.chat", "open_chat"),
    "listwise:": ("evenhand.score.listing.listwise", "open_listwise"),
    "cross:": ("evenhand.score.cross", "open_cross"),
}


def _open_door(spec: str, **options: object) -> Scorer:
    scheme, _, rest = spec.partition(":")
    module, function = _DOORS[f"{scheme}:"]
    return _opened(getattr(import_module(module), function), rest, options)


_OPENERS: Mapping[str, Callable[..., Scorer]] = {
    "toy": _open_toy,
    **dict.fromkeys(NAMES, _open_local),
    "smollm2-135m": _open_local,
    "hf:": _open_local,
    "gguf:": _open_local,
    "ql:": _open_likelihood,
    **dict.fromkeys(_DOORS, _open_door),
}

_FORMS = (
    '"toy" or "toy:dial=value,..."',
    *(f'"{name}"' for name in NAMES),
    '"smollm2-135m"',
    '"hf:<hub id or folder>" or "hf:<...>+<adapter>"',
    '"gguf:<file>"',
    '"ql:<model>" with any of the models before',
    '"cross:<hub id or folder>"',
    '"rerank:<http address>"',
    '"openai:<model>"',
    '"listwise:<scorer that writes>"',
)


def open_scorer(spec: str, **options: object) -> Scorer:
    """Return the scorer that a spec names, loading only what it needs.

    Args:
        spec: "toy", "toy:slot_bias=.3,noise=.05", "evenhand-smol" (the trained
            default), "evenhand-smol-single", "smollm2-135m", "hf:<model>",
            "hf:<model>+<adapter>", "gguf:<file>", or "ql:" before one of the
            models for query likelihood; "cross:<model>" for a cross-encoder;
            "rerank:http://host/path" and "openai:<model>" for services;
            "listwise:..." for a model that writes a ranking.
        options: settings of that kind of scorer.

    Raises:
        UsageError: the spec has no known form, or an option is unknown.
        MissingExtraError: the scorer needs an extra that is not installed.
    """
    if not isinstance(spec, str):
        raise UsageError(
            f"open_scorer needs a name, got {type(spec).__name__}; "
            "a function of your own becomes a scorer by evenhand.scorer(f)"
        )
    opener = _opener(spec)
    if opener is None and ".py" in spec:
        raise UsageError(
            f"unknown scorer {spec!r}: a function of your own is wrapped in Python, "
            "evenhand.audit(evenhand.scorer(f), slates); the command line takes named scorers only"
        )
    if opener is None:
        raise UsageError(f"unknown scorer {spec!r}; known forms are {', '.join(_FORMS)}")
    return opener(spec, **options)


def _opener(spec: str) -> Callable[..., Scorer] | None:
    head, colon, rest = spec.partition(":")
    if colon and head + colon in _OPENERS:
        return _OPENERS[head + colon] if rest.strip() else None
    if head == "toy":
        return _OPENERS[head]
    # An adapter may follow the embedded model's name, and its path may hold a colon.
    return _OPENERS.get(spec.partition("+")[0])


def _opened(opener: Callable[..., Scorer], spec: str, options: Mapping[str, object]) -> Scorer:
    parameters = list(inspect.signature(opener).parameters.values())[1:]
    known = sorted(parameter.name for parameter in parameters)
    unknown = sorted(set(options) - set(known))
    # An opener that takes any option checks them itself.
    if unknown and not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        raise UsageError(f"{spec!r}: unknown options {unknown}; known are {known}")
    return opener(spec, **options)
