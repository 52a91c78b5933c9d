"""Pair models as scorers: which of two is better, asked both ways round, wins counted."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from evenhand.errors import ScorerError, UsageError, require_count
from evenhand.score.identity import revision_of
from evenhand.score.returned import number, shortened
from evenhand.score.waiting import OPEN_CALLS, is_async, run_to_end
from evenhand.score.windows import require_width, window_texts
from evenhand.types import FloatArray, Scale, Scored, Shown, Surface

Judge = Callable[[str, str, str], Any]

_SAID = {"a": 1.0, "b": 0.0, "tie": 0.5}


@dataclass(frozen=True, slots=True)
class _Window:
    """Texts of one window and the pairs that are asked, by slot."""

    query: str
    texts: tuple[str, ...]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        return list(permutations(range(len(self.texts)), 2))


class PairwiseScorer:
    """A judge of two texts, asked for every pair of a window in both orders.

    A judge is `f(query, a, b)` and gives the probability that a is the better one, a
    number in [0, 1], or True, False, "a", "b", "tie"; None or NaN is no answer. More
    than one half is a win for a, less a win for b, one half itself a tie. Of a pair,
    each order gives one half of a point: the candidate that wins both has 1, and where
    the two orders disagree both have 1/2. A score is the mean over the others of the
    window, in [0, 1]; a candidate alone has 1/2.

    A judge that favours a place so yields ties, not a wrong order, and the order inside
    a window moves nothing. Who shares the window does.

    A call that raises, or gives no answer, leaves both candidates of its pair without a
    score, and the reason stands in the Scored. An answer that is no preference at all
    is an error of the judge.

    Cost: B (B - 1) prompts for a window of B; tokens are not known and stay 0.
    A coroutine function is awaited, eight calls open at a time.

    Attributes:
        unseen: names of what an automatic revision cannot cover.
    """

    channels = frozenset({"order", "companions", "window", "membership"})
    scale: Scale = "unit"
    order_free = False

    def __init__(
        self,
        f: Judge,
        *,
        name: str | None = None,
        revision: str | None = None,
        max_window: int | None = None,
    ) -> None:
        _require_judge(f)
        if max_window is not None:
            require_count("max_window", max_window)
        self._f = f
        self.name = name or str(getattr(f, "__name__", type(f).__name__)).strip("<>")
        found = revision_of(f) if revision is None else (revision, ())
        self.revision, self.unseen = f"pairs {found[0]}", found[1]
        self.max_window = max_window
        self.default_window = max_window
        self.surface = Surface()

    def score(self, shown: Sequence[Shown]) -> list[Scored]:
        """Score each Shown; pairs of a coroutine function are asked side by side.

        Raises:
            ScorerError: an answer is no preference, or a window is over `max_window`.
        """
        windows = [self._windows(item) for item in shown]
        flat = [window for own in windows for window in own]
        asked = [(one.query, one.texts[a], one.texts[b]) for one in flat for a, b in one.pairs]
        if is_async(self._f):
            answers = run_to_end(_ask_async(self._f, asked))
        else:
            answers = [_ask(self._f, *one) for one in asked]
        votes = iter([self._vote(answer) for answer in answers])
        return [_gathered(item, own, votes) for item, own in zip(shown, windows, strict=True)]

    def _windows(self, item: Shown) -> list[_Window]:
        require_width(item, self.max_window, f"{self.name} takes at most")
        return [_Window(item.slate.query, tuple(texts)) for texts in window_texts(item)]

    def _vote(self, answer: object) -> float | str:
        """Return the share of the point that goes to the first text; a text says why there is none."""
        if isinstance(answer, Exception):
            return f"the judge raised {type(answer).__name__}: {answer}"
        if answer is None:
            return "the judge gave no answer"
        try:
            value = _SAID[answer.strip().lower()] if isinstance(answer, str) else number(answer)
        except (KeyError, ValueError):
            value = -1.0
        if math.isnan(value):
            return "the judge gave no answer"
        if not 0 <= value <= 1:
            raise ScorerError(
                f"{self.name} returned {shortened(answer)}; a judge returns the probability that the "
                "first text is better, in [0, 1], or True, False, 'a', 'b', 'tie'; None is no answer"
            )
        return 0.5 if value == 0.5 else float(value > 0.5)


def pairwise(
    f: Judge, *, name: str | None = None, revision: str | None = None, max_window: int | None = None
) -> PairwiseScorer:
    """Return a scorer of the wins that a judge of two texts gives; see `PairwiseScorer`.

    Args:
        f: function or coroutine function (query, a, b) -> preference.
        name: shown in reports.
        revision: identifies what changes its answers; None = a hash of its source.
        max_window: most candidates that meet each other; None = the whole slate.

    Raises:
        UsageError: f cannot be called with a query and two texts, or an option is wrong.
    """
    return PairwiseScorer(f, name=name, revision=revision, max_window=max_window)


def _require_judge(f: object) -> None:
    if not callable(f):
        raise UsageError(f"a judge is a function f(query, a, b), got {type(f).__name__} {f!r:.80}")
    try:
        inspect.signature(f).bind("", "", "")
    except ValueError:  # some builtins have no signature: the first call will tell
        return
    except TypeError as error:
        raise UsageError(f"the judge cannot be called as f(query, a, b): {error}") from None


def _ask(f: Judge, query: str, a: str, b: str) -> object:
    try:
        return f(query, a, b)
    except Exception as error:
        return error


async def _ask_async(f: Judge, asked: Sequence[tuple[str, str, str]]) -> list[object]:
    gate = asyncio.Semaphore(OPEN_CALLS)

    async def one(query: str, a: str, b: str) -> object:
        async with gate:
            try:
                return await f(query, a, b)
            except Exception as error:
                return error

    return list(await asyncio.gather(*(one(*each) for each in asked)))


def _gathered(item: Shown, windows: Sequence[_Window], votes: Iterator[float | str]) -> Scored:
    scores, reasons = [], []
    for window in windows:
        given = [next(votes) for _ in window.pairs]
        reasons += [vote for vote in given if isinstance(vote, str)]
        scores.append(_wins(window, given))
    missing = int(sum(np.isnan(values).sum() for values in scores))
    failure = None
    if reasons:
        failure = f"{len(reasons)} pairs without preference, {missing} candidates missing: {reasons[0]}"
    return Scored(
        item.presentation.to_canonical(scores),
        prompts=sum(len(window.pairs) for window in windows),
        failure=failure,
    )


def _wins(window: _Window, votes: Sequence[float | str]) -> FloatArray:
    """Return (B,) the mean point of each candidate over the others; NaN where a vote is missing."""
    width = len(window.texts)
    if width == 1:
        return np.array([0.5])
    points = np.zeros((width, width))
    for (a, b), vote in zip(window.pairs, votes, strict=True):
        value = math.nan if isinstance(vote, str) else vote
        points[a, b] += value / 2
        points[b, a] += (1 - value) / 2
    # Halves add up exactly, whatever the order of the candidates.
    result: FloatArray = points.sum(axis=1) / (width - 1)
    return result
