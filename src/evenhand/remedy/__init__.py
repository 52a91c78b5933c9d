"""Remedies: a scorer in, a steadier scorer out, at a stated cost."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from evenhand.errors import UsageError
from evenhand.types import Remedy, Scorer

__all__ = ["REMEDIES", "apply", "parse", "parse_all"]

# Name -> (module, factory). The factory's first parameter may be given without its name.
REMEDIES: Mapping[str, tuple[str, str]] = {
    "adaptive": ("evenhand.remedy.adaptive", "adaptive"),
    "average": ("evenhand.remedy.average", "average"),
    "calibrate": ("evenhand.remedy.calibrate", "calibrate"),
    "interleave": ("evenhand.remedy.arrange", "interleave"),
    "isolated": ("evenhand.remedy.arrange", "isolated"),
    "sorted": ("evenhand.remedy.arrange", "by_content"),
}


def parse(text: str, *, seed: int | None = None) -> Remedy:
    """Return the remedy that a text names.

    Args:
        text: a key of `REMEDIES`, or one with options: "average:4",
            "average:4,latin=true", "average:k=4,seed=1". The first option may stand
            without its name.
        seed: seed of its draws where the text names none.

    Raises:
        UsageError: the remedy or an option is unknown, given twice, or out of range.
    """
    if not isinstance(text, str):
        raise UsageError(
            f'a remedy is named by a text such as "average:4", got {type(text).__name__}: {text!r}'
        )
    name, colon, rest = text.strip().partition(":")
    if name not in REMEDIES:
        raise UsageError(f"unknown remedy {name!r}; known are {sorted(REMEDIES)}")
    module, function = REMEDIES[name]
    factory: Callable[..., Remedy] = getattr(import_module(module), function)
    parameters = inspect.signature(factory).parameters
    known = list(parameters)
    options = _options(text, rest if colon else None, known)
    if seed is not None and "seed" in known:
        options.setdefault("seed", seed)
    for option, parameter in parameters.items():
        if parameter.default is parameter.empty and option not in options:
            raise UsageError(f"remedy {name!r} needs {option}: write {name}:{option.upper()}")
    return factory(**options)


def parse_all(remedies: Sequence[str | Remedy], *, seed: int | None = None) -> list[Remedy]:
    """Return the remedies of a list, texts parsed; no scorer is needed to tell what is wrong.

    Args:
        remedies: texts that `parse` reads, or remedies.
        seed: seed of the draws of remedies whose text names none.

    Raises:
        UsageError: no list, a remedy is unknown, or one is named twice.
    """
    if isinstance(remedies, str) or not isinstance(remedies, Sequence):
        raise UsageError(f"remedies must be a list, got {remedies!r}; write [{remedies!r}]")
    known = [parse(one, seed=seed) if isinstance(one, str) else one for one in remedies]
    _require_once(known)
    return known


def apply(scorer: Scorer, remedies: Sequence[str | Remedy], *, seed: int | None = None) -> Scorer:
    """Return a scorer behind remedies, the first of them innermost.

    Args:
        scorer: what is remedied.
        remedies: texts that `parse` reads, or remedies.
        seed: seed of the draws of remedies whose text names none.

    Raises:
        UsageError: a remedy is unknown, named twice, or cannot be had with this scorer.
    """
    # All names are read before the first remedy is built.
    for remedy in parse_all(remedies, seed=seed):
        if not callable(remedy) or not hasattr(remedy, "name") or isinstance(remedy, type):
            raise UsageError(
                f"a remedy is a name such as 'average:4' or what `parse` returns, got {remedy!r}"
            )
        scorer = remedy(scorer)
    return scorer


def _require_once(remedies: Sequence[Remedy]) -> None:
    heads = [str(getattr(one, "name", "")).partition(":")[0] for one in remedies]
    for head in REMEDIES:
        if heads.count(head) > 1:
            raise UsageError(
                f"remedy {head!r} is named {heads.count(head)} times; name it once (twice average:2 is "
                "average:4, the others do nothing more the second time)"
            )


def _options(text: str, rest: str | None, known: Sequence[str]) -> dict[str, Any]:
    """Return the options of a text by name, their values read as what they look like."""
    options: dict[str, Any] = {}
    named = list(known) or "none"
    for place, part in enumerate([] if rest is None else rest.split(",")):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals and place == 0 and name and known:
            name, equals, value = known[0], "=", name
        if not equals or not value:
            raise UsageError(f"remedy {text!r}: {part!r} is not option=value; options are {named}")
        if name not in known:
            raise UsageError(f"remedy {text!r}: unknown option {name!r}; known are {named}")
        if name in options:
            raise UsageError(f"remedy {text!r}: option {name!r} is given twice")
        options[name] = _value(value)
    return options


def _value(text: str) -> object:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
