"""Consumers of scores: the threshold filter, the reader, the preference selector."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from evenhand.errors import UsageError
from evenhand.models.quiet import model_packages

if TYPE_CHECKING:
    from evenhand.decide.prompts import Task
    from evenhand.decide.reader import ReaderOptions
    from evenhand.decide.reading import Reader

__all__ = ["check_reader", "open_reader"]

_LOADING = ("device", "dtype", "revision", "adapter")


def open_reader(spec: str, task: Task = "answer", **options: Any) -> Reader:
    """Return the reader that a spec names, loading only what it needs.

    Args:
        spec: a model as `models.load` takes it ("smollm2-135m", "hf:...",
            "gguf:..."), or "openai:MODEL" for an OpenAI-compatible endpoint.
        task: "answer" (a short answer) or "verdict" (one of the allowed labels).
        options: device, dtype, revision, adapter and the fields of
            `reader.ReaderOptions` for a model; those of `endpoint.EndpointOptions`
            for an endpoint.

    Raises:
        UsageError: unknown task, spec or option, or one of the wrong kind.
        InputError: a local folder or file is not there.
        MissingExtraError: the model needs an extra that is not installed.
    """
    if _named(spec).startswith("openai:"):
        return _endpoint(spec, task, options)
    with model_packages():
        from evenhand.decide.reader import LocalReader
        from evenhand.models.load import load

        own, loading = _split(spec, task, options)
        return LocalReader(load(spec, **loading), task, own)


def check_reader(spec: str, task: Task = "answer", **options: Any) -> None:
    """Refuse what `open_reader` would refuse of names, options and places, without loading weights.

    Args:
        spec, task, options: as in `open_reader`.

    Raises:
        UsageError, InputError, MissingExtraError: as `open_reader`.
    """
    if _named(spec).startswith("openai:"):
        _endpoint(spec, task, options)
        return
    with model_packages():
        from evenhand.models.source import parse

        _, loading = _split(spec, task, options)
        parse(spec, revision=loading.get("revision"), adapter=loading.get("adapter"))


def _named(spec: object) -> str:
    if not isinstance(spec, str):
        raise UsageError(f"a reader is named by a text such as hf:MODEL, got {spec!r}")
    return spec


def _endpoint(spec: str, task: Task, options: dict[str, Any]) -> Reader:
    from evenhand.decide.endpoint import EndpointOptions, EndpointReader

    _check(spec, options, [field.name for field in fields(EndpointOptions)])
    try:
        return EndpointReader(spec.removeprefix("openai:"), task, EndpointOptions(**options))
    except (TypeError, AttributeError) as error:
        raise UsageError(f"reader {spec!r}: an option is of the wrong kind ({error})") from None


def _split(spec: str, task: Task, options: dict[str, Any]) -> tuple[ReaderOptions, dict[str, str]]:
    """Return the options of the reader and those of loading, all checked."""
    from evenhand.decide.prompts import check_task
    from evenhand.decide.reader import ReaderOptions

    check_task(task)
    known = [field.name for field in fields(ReaderOptions)]
    _check(spec, options, [*known, *_LOADING])
    loading = {n: value for n, value in options.items() if n in _LOADING and value is not None}
    for name, value in loading.items():
        if not isinstance(value, str):
            raise UsageError(f"reader {spec!r}: {name} must be a text, got {value!r}")
    return ReaderOptions(**{n: v for n, v in options.items() if n in known}), loading


def _check(spec: str, options: dict[str, Any], known: list[str]) -> None:
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise UsageError(f"reader {spec!r}: unknown options {unknown}; known are {sorted(known)}")
