"""Steps: which groups are trained on together, and how they reach the model.

A step holds groups until their first views make up a fixed number of windows, at
any number of devices. Inside a step, whole groups are put into micro-batches under
a token budget, which moves memory and speed but not the loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.errors import UsageError
from evenhand.models.batching import stream_length
from evenhand.score.base import PromptBuilder, WindowPrompt
from evenhand.seeds import generator
from evenhand.train.labels import Labelled
from evenhand.train.prompts import Prompts
from evenhand.train.views import Group, Views, draw
from evenhand.types import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Micro:
    """Groups that are read together.

    Attributes:
        prompts: all windows of all views. view, column: (S,) of each readout, in the
            order of the prompts' readouts: which view it is of, and which candidate.
        labels: (C,). groups: (C,) from 0. slots: (C,) first-stage index of each candidate.
        doubt: (C,), 0 where the labels came without.
        count: N. channels: what views 2.. vary.
    """

    prompts: Prompts
    view: IntArray
    column: IntArray
    labels: FloatArray
    groups: IntArray
    slots: IntArray
    doubt: FloatArray
    count: int
    channels: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """Tokens of all prompts."""
        return len(self.prompts.ids.values)

    @property
    def truncated(self) -> int:
        """Tokens cut from candidates in all prompts."""
        return int(self.prompts.truncated.values.sum())


@dataclass(frozen=True, slots=True)
class Built:
    """A group with its prompts, window after window, view after view."""

    group: Group
    labelled: Labelled
    prompts: tuple[tuple[WindowPrompt, ...], ...]

    @property
    def tokens(self) -> int:
        """Tokens of all prompts."""
        return sum(len(prompt.ids) for view in self.prompts for prompt in view)


def sequence(
    labelled: Mapping[str, Labelled], views: Callable[[float], Views], *,
    windows: int, seed: int, epochs: int, steps: int | None = None,
) -> Iterator[list[Group]]:  # fmt: skip
    """Yield the groups of each step.

    Slates come in an order drawn anew each epoch. A group that would exceed the
    number of windows opens the next step; a group wider than that is a step alone.
    What is left at the end of the last epoch is a short step.

    Args:
        labelled: slates by id. views: what to draw at a given share of the training.
        windows: of the first views, per step. epochs, steps: whichever ends first.
    """
    if windows < 1:
        raise UsageError(f"a step needs at least 1 window, got {windows}")
    ids = sorted(labelled)
    step: list[Group] = []
    filled = done = 0
    total = epochs * len(ids)
    for epoch in range(epochs):
        for seen, place in enumerate(generator(seed, "", "epoch", epoch).permutation(len(ids))):
            # Whichever ends first decides how far the training is.
            share = max((epoch * len(ids) + seen) / total, done / steps if steps else 0.0)
            slate = labelled[ids[int(place)]].slate
            for group in draw(slate, views(share), seed=seed, epoch=epoch):
                if step and filled + group.windows > windows:
                    yield step
                    done += 1
                    if steps is not None and done >= steps:
                        return
                    step, filled = [], 0
                step.append(group)
                filled += group.windows
    if step:
        yield step


def build(group: Group, labelled: Labelled, builder: PromptBuilder) -> Built:
    """Return a group with the prompts of all its views."""
    prompts = tuple(
        tuple(builder.build(group.slate, window, view.surface) for window in view.windows)
        for view in group.views
    )
    return Built(group, labelled, prompts)


def micro_batches(built: Sequence[Built], budget: int) -> list[Micro]:
    """Put whole groups together, in order, while their tokens stay within a budget.

    Of all ways to do so the one is taken whose packed streams are shortest in sum, then
    the one with fewest micro-batches, then the most even one. A group longer than the
    budget stands alone.
    """
    parts = even_parts([one.tokens for one in built], budget)
    return [_micro(built[start:end]) for start, end in parts]


def even_parts(sizes: Sequence[int], budget: int) -> list[tuple[int, int]]:
    """Return runs [start, end) of consecutive sizes; see `micro_batches`.

    Args:
        sizes: tokens of each group, in order. budget: of one run.
    """
    # Of the first sizes: what their runs cost, and where the last of these starts.
    best: list[tuple[tuple[int, int, int], int]] = [((0, 0, 0), 0)]
    for end in range(1, len(sizes) + 1):
        found: list[tuple[tuple[int, int, int], int]] = []
        total = 0
        for start in range(end - 1, -1, -1):
            total += sizes[start]
            if total > budget and start < end - 1:
                break
            length, count, longest = best[start][0]
            cost = (length + stream_length(total, budget), count + 1, max(longest, total))
            found.append((cost, start))
        best.append(min(found))
    parts: list[tuple[int, int]] = []
    end = len(sizes)
    while end:
        start = best[end][1]
        parts.append((start, end))
        end = start
    return parts[::-1]


def _micro(part: Sequence[Built]) -> Micro:
    prompts: list[WindowPrompt] = []
    view: list[int] = []
    column: list[int] = []
    start = 0
    for one in part:
        place = {member: start + i for i, member in enumerate(one.group.members)}
        for index, (shown, own) in enumerate(zip(one.group.views, one.prompts, strict=True)):
            prompts += own
            view += [index] * len(place)
            column += [place[i] for i in shown.order]
        start += len(place)
    members = [list(one.group.members) for one in part]
    counts = {len(one.group.views) for one in part}
    if len(counts) != 1:
        raise UsageError(f"groups of {sorted(counts)} views in one step; every group needs as many")
    doubt = [one.labelled.known_doubt() for one in part]
    return Micro(
        Prompts.of(prompts),
        np.array(view, dtype=np.int64),
        np.array(column, dtype=np.int64),
        np.concatenate([one.labelled.labels[m] for one, m in zip(part, members, strict=True)]),
        np.concatenate([np.full(len(m), i, dtype=np.int64) for i, m in enumerate(members)]),
        np.concatenate([np.array(m, dtype=np.int64) for m in members]),
        np.concatenate([d[m] for d, m in zip(doubt, members, strict=True)]),
        counts.pop(),
    )
