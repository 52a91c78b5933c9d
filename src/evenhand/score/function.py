"""Any `f(query, texts) -> scores` as a scorer."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar, get_args

import numpy as np

from evenhand.errors import ScorerError, UsageError
from evenhand.score.identity import revision_of
from evenhand.score.objects import as_function
from evenhand.score.returned import numbers_of
from evenhand.score.waiting import OPEN_CALLS, is_async, run_to_end
from evenhand.score.windows import require_width, window_texts
from evenhand.types import FloatArray, Scale, Scored, Shown, Surface

T = TypeVar("T")
ScoreFunction = Callable[[str, list[str]], Any]


class FunctionScorer:
    """A user's function, called once per window with the texts in slot order.

    The function gets the query and a fresh list of texts; a candidate with a title
    is given as "title: text", one without as its text. Empty texts are handed
    over as they are. It returns one number per text, in the order of the texts: a
    list, tuple or array, or anything whose `tolist()` gives a list. NaN means
    missing: it is kept, and the Scored says how many. A coroutine function is
    awaited, at most eight calls open at a time, in an event loop of evenhand's own
    that lives on between calls, so that an async client may keep its connections; a
    loop that is already running is left alone.

    An exception inside the function is the failure of that row: all its scores are
    missing and `failure` holds the reason, whatever the exception and however many
    rows it meets. An answer that is no scores at all (wrong length, wrong type,
    infinite, outside a declared "unit" scale) is an error of the scorer and raised.

    Cost: one prompt a call; tokens are not known and stay 0.

    Attributes:
        name: of the function, unless given.
        revision: unless given, a hash of the function's qualified name, its source
            (of its class, for an object with `__call__`) and the plain values it
            reads from outside; see `identity.revision_of`.
        unseen: names of what an automatic revision cannot cover (a model, a client,
            an array): give a revision when there is any.
        scale: what the numbers are; thresholds and reports print it.
        order_free: a promise that a score depends on query and candidate alone; such
            a scorer is called once per slate and its scores are reused.
        order_only: the scores are places in a ranking; only their order means something.
        max_window: most texts of one call, or None; also the default window.
    """

    channels = frozenset({"order", "companions", "window", "membership"})

    def __init__(
        self,
        f: ScoreFunction,
        *,
        name: str | None = None,
        revision: str | None = None,
        scale: Scale = "raw",
        order_free: bool = False,
        order_only: bool = False,
        max_window: int | None = None,
    ) -> None:
        _require_callable(f)
        if scale not in get_args(Scale):
            raise UsageError(f"scale {scale!r} is unknown; known are {get_args(Scale)}")
        _require_declarations(name, revision, max_window)
        for what, said in (("order_free", order_free), ("order_only", order_only)):
            if not isinstance(said, bool):
                raise UsageError(f"{what} must be True or False, got {said!r}")
        self._f = f
        self.name = _name_of(f) if name is None else name
        self.revision, self.unseen = revision_of(f) if revision is None else (revision, ())
        self.scale: Scale = scale
        self.order_free = order_free
        self.order_only = order_only
        self.max_window = max_window
        self.default_window = max_window
        self.surface = Surface()

    def score(self, shown: Sequence[Shown]) -> list[Scored]:
        """Score each Shown with one call of the function per window.

        Raises:
            ScorerError: an answer is not one finite number (or NaN) per text; the
                message names the slate. A window holds more than `max_window` texts.
        """
        for item in shown:
            require_width(item, self.max_window, f"{self.name} takes at most")
        if is_async(self._f):
            return run_to_end(self._score_async(shown))
        return [self._score_one(item) for item in shown]

    def _score_one(self, item: Shown) -> Scored:
        answers: list[FloatArray] = []
        for calls, texts in enumerate(window_texts(item), start=1):
            try:
                answer = self._f(item.slate.query, texts.copy())
                if inspect.isawaitable(answer):
                    answer = run_to_end(_wait(answer))
            except Exception as error:
                return Scored.failed(len(item.slate), _reason(error), prompts=calls)
            answers.append(self._checked(answer, len(texts), item))
        return _assembled(item, answers)

    async def _score_async(self, shown: Sequence[Shown]) -> list[Scored]:
        gate = asyncio.Semaphore(OPEN_CALLS)

        async def call(query: str, texts: list[str]) -> object:
            async with gate:
                return await self._f(query, texts)

        async def one(item: Shown) -> Scored:
            windows = window_texts(item)
            calls = (call(item.slate.query, texts.copy()) for texts in windows)
            answers = await asyncio.gather(*calls, return_exceptions=True)
            for answer in answers:
                if isinstance(answer, Exception):
                    return Scored.failed(len(item.slate), _reason(answer), prompts=len(windows))
                if isinstance(answer, BaseException):
                    raise answer
            checked = [self._checked(a, len(t), item) for a, t in zip(answers, windows, strict=True)]
            return _assembled(item, checked)

        tasks = [asyncio.ensure_future(one(item)) for item in shown]
        try:
            return list(await asyncio.gather(*tasks))
        finally:
            for task in tasks:  # those that an error left running
                task.cancel()

    def _checked(self, answer: object, n: int, item: Shown) -> FloatArray:
        try:
            scores = numbers_of(answer, n)
        except ValueError as error:
            raise ScorerError(
                f"{self.name}, slate {item.slate.id!r}: the function returned {error}; it must return "
                f"a sequence of {n} numbers, one per text in the order of the texts (NaN = missing)."
            ) from None
        known = scores[~np.isnan(scores)]
        if self.scale == "unit" and known.size and (known.min() < 0 or known.max() > 1):
            raise ScorerError(
                f"{self.name}, slate {item.slate.id!r}: scores from {known.min():g} to {known.max():g} "
                'are outside [0, 1], the scale "unit" that was declared. Declare scale="raw".'
            )
        return scores


def scorer(
    f: ScoreFunction | object,
    *,
    name: str | None = None,
    revision: str | None = None,
    scale: Scale = "raw",
    order_free: bool = False,
    order_only: bool = False,
    max_window: int | None = None,
) -> FunctionScorer:
    """Return a scorer that calls `f(query, texts)`; see `FunctionScorer`.

    Args:
        f: function or coroutine function of a query and a list of texts that
            returns one number per text; or a CrossEncoder of sentence-transformers or
            a ranker of `rerankers` (see `objects.as_function`).
        name: shown in reports.
        revision: identifies what changes its scores. None = a hash of the source and
            of the plain values (numbers, texts, lists and dicts of them) of globals,
            closure cells and own attributes that the code reads. Code that it calls,
            and a model, client or array that it reads, are not covered: give a
            revision then, and change it with them. A run that goes on without one warns.
        scale: "unit" ([0, 1]), "log_likelihood" or "raw".
        order_free: promise that a score depends on query and candidate alone.
        order_only: say that scores are places in a ranking: only their order means
            something, and what cuts scores at a number is left out of an audit.
        max_window: most texts of one call; None hands over the whole slate.

    Raises:
        UsageError: f cannot be called with a query and texts, or an option is wrong.
    """
    return FunctionScorer(
        as_function(f),  # type: ignore[arg-type]  # what cannot be called is refused there
        name=name,
        revision=revision,
        scale=scale,
        order_free=order_free,
        order_only=order_only,
        max_window=max_window,
    )


def _require_callable(f: object) -> None:
    if not callable(f):
        raise UsageError(
            f"a scorer wraps a function f(query, texts) -> scores, got {type(f).__name__} {f!r}; "
            "a scorer with a name is opened by open_scorer(name)"
        )
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):  # some builtins have none: the first call will tell
        return
    try:
        signature.bind("", [])
    except TypeError as error:
        raise UsageError(
            f"{_name_of(f)}{signature} cannot be called as f(query, texts): {error}"
        ) from None


def _require_declarations(name: object, revision: object, limit: object) -> None:
    for what, value in (("name", name), ("revision", revision)):
        if value is not None and (not isinstance(value, str) or not value):
            raise UsageError(
                f"{what} must be a non-empty string, or None for the default; got {value!r}"
            )
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise UsageError(f"max_window must be at least 1, or None for no limit; got {limit!r}")


def _name_of(f: object) -> str:
    return str(getattr(f, "__name__", type(f).__name__)).strip("<>")


async def _wait(answer: Awaitable[T]) -> T:
    return await answer


def _reason(error: Exception) -> str:
    return f"the function raised {type(error).__name__}: {error}"


def _assembled(item: Shown, answers: list[FloatArray]) -> Scored:
    scores = item.presentation.to_canonical(answers)
    # A candidate that was not shown has no score, and none is missing.
    shown = item.presentation.included()
    missing = int(np.isnan(scores[shown]).sum())
    failure = (
        f"the function returned NaN for {missing} of {shown.sum()} candidates" if missing else None
    )
    return Scored(scores, prompts=len(answers), failure=failure)
