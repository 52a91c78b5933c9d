"""Consumers of scores: the threshold filter, the reader, the preference selector."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from evenhand.errors import UsageError
from evenhand.models.quiet import model_packages

if TYPE_CHECKING:
    from evenhand.decide.prompts import Task
    from evenhand.decide.reading import Reader

__all__ = ["open_reader"]

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
        UsageError: unknown task, spec or option.
        MissingExtraError: the model needs an extra that is not installed.
    """
    return _endpoint(spec, task, options) if spec.startswith("openai:") else _local(spec, task, options)


def _endpoint(spec: str, task: Task, options: dict[str, Any]) -> Reader:
    from evenhand.decide.endpoint import EndpointOptions, EndpointReader

    _check(spec, options, [field.name for field in fields(EndpointOptions)])
    return EndpointReader(spec.removeprefix("openai:"), task, EndpointOptions(**options))


def _local(spec: str, task: Task, options: dict[str, Any]) -> Reader:
    with model_packages():
        from evenhand.decide.prompts import check_task
        from evenhand.decide.reader import LocalReader, ReaderOptions
        from evenhand.models.load import load

        check_task(task)
        known = [field.name for field in fields(ReaderOptions)]
        _check(spec, options, [*known, *_LOADING])
        own = ReaderOptions(**{name: value for name, value in options.items() if name in known})
        loading = {name: value for name, value in options.items() if name in _LOADING}
        return LocalReader(load(spec, **loading), task, own)


def _check(spec: str, options: dict[str, Any], known: list[str]) -> None:
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise UsageError(f"reader {spec!r}: unknown options {unknown}; known are {sorted(known)}")
