"""What reaches the model in each step, built beside the training."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evenhand.errors import UsageError
from evenhand.models.forward import Forward
from evenhand.models.load import Loaded
from evenhand.models.quiet import require
from evenhand.score.base import PromptBuilder
from evenhand.score.local import context_of
from evenhand.score.tokens import TokenizerTokens, chat_of, single_token_signs
from evenhand.seeds import content_hash
from evenhand.train.batch import Micro, build, micro_batches, sequence
from evenhand.train.labels import Labelled
from evenhand.train.objectives import position_weights
from evenhand.train.settings import Training
from evenhand.train.views import Group
from evenhand.types import slate_to_dict

# A label counts as positive from here on, where DebiasFirst asks for positives.
POSITIVE = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Fed:
    """One step of one process.

    Attributes:
        number: of the step, from 0. micros: this process's. candidates: of the step
            in all processes. windows: of its first views, likewise.
        idle: there is no group for this process; it reads one all the same, for nothing,
            because the others wait for its gradients.
    """

    number: int
    micros: tuple[Micro, ...]
    candidates: int
    windows: int
    idle: bool = False

    @property
    def tokens(self) -> int:
        """Tokens of this process's prompts; 0 when idle."""
        return 0 if self.idle else sum(micro.tokens for micro in self.micros)

    @property
    def truncated(self) -> int:
        """Tokens cut from candidates in them, counted in every view; 0 when idle."""
        return 0 if self.idle else sum(micro.truncated for micro in self.micros)


def prompt_builder(loaded: Loaded, max_candidate_tokens: int | None) -> PromptBuilder:
    """Return the builder that a local scorer of this model would use."""
    tokens = TokenizerTokens(loaded.tokenizer)
    context = context_of(loaded.model)
    # A forecast has a model without weights, which cannot be tried.
    tried = loaded.model.device.type != "meta"
    longest = Forward(loaded.model).longest if tried else None
    return PromptBuilder(
        tokens,
        chat_of(loaded.tokenizer),
        min(context, longest or context),
        max_candidate_tokens,
        single_token_signs(tokens),
    )


def by_id(labelled: Sequence[Labelled]) -> dict[str, Labelled]:
    """Return labelled slates by id.

    Raises:
        UsageError: there are none, or an id comes twice.
    """
    found = {one.slate.id: one for one in labelled}
    if not found:
        raise UsageError("there are no labelled slates to train on")
    if len(found) != len(labelled):
        raise UsageError(
            f"{len(labelled)} labelled slates have {len(found)} ids; every id once is needed"
        )
    return found


def labels_identity(slates: Mapping[str, Labelled]) -> str:
    """Return a hash of all slates and labels."""
    plain = [
        [slate_to_dict(one.slate), one.labels.tolist(), one.known_doubt().tolist()]
        for _, one in sorted(slates.items())
    ]
    return content_hash(plain)


def plan(slates: Mapping[str, Labelled], settings: Training) -> list[list[Group]]:
    """Return the groups of every step of a run.

    Raises:
        UsageError: no slate has a candidate.
    """
    run = settings.run
    steps = sequence(
        slates,
        settings.views_at,
        windows=run.windows,
        seed=run.seed,
        epochs=run.epochs,
        steps=run.steps,
    )
    found = list(itertools.islice(steps, run.steps))
    if not found:
        raise UsageError(f"none of the {len(slates)} labelled slates has a candidate to train on")
    return found


class Steps:
    """The steps of a run as a sequence: each is built when it is asked for.

    Attributes:
        rank, world: which share of each step's groups is this process's.
    """

    def __init__(
        self, slates: Mapping[str, Labelled], groups: Sequence[Sequence[Group]], settings: Training,
        builder: PromptBuilder, *, start: int = 0, rank: int = 0, world: int = 1,
    ) -> None:  # fmt: skip
        self._slates, self._groups, self._settings = slates, groups, settings
        self._builder, self._start = builder, start
        self.rank, self.world = rank, world
        self._weights = slot_weights(settings, slates)

    def __len__(self) -> int:
        return max(0, len(self._groups) - self._start)

    def __getitem__(self, index: int) -> Fed:
        if not 0 <= index < len(self):
            raise IndexError(index)
        number = self._start + index
        groups = self._groups[number]
        own = groups[self.rank :: self.world]
        built = [
            build(group, self._slates[group.slate.id], self._builder) for group in own or groups[:1]
        ]
        micros = [
            replace(one, channels=self._settings.views.varies)
            for one in micro_batches(built, self._settings.run.token_budget)
        ]
        candidates = sum(len(group.members) for group in groups)
        windows = sum(group.windows for group in groups)
        return Fed(number, tuple(micros), candidates, windows, not own)

    def weights(self, micro: Micro) -> np.ndarray[Any, np.dtype[np.float64]] | None:
        """Return the (C,) weights of a micro-batch's anchor before they are scaled, or None."""
        objective = self._settings.objective
        if objective.weighting == "none":
            return None
        if objective.weighting == "threshold":
            return np.exp(-np.abs(micro.labels - objective.threshold) / objective.temperature)
        if objective.weighting == "uncertainty":
            return np.exp(-micro.doubt / objective.temperature)
        return self._weights[micro.slots % len(self._weights)]


def slot_weights(
    settings: Training, slates: Mapping[str, Labelled]
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return DebiasFirst's weights by first-stage index mod B, B the widest window of the views.

    A candidate is positive from a label of .5 on; a slot's share is of all positives.
    Canonical order must be the first stage's ranking: where it says nothing, neither
    do the weights.
    """
    width = max(settings.views.widths)
    positive = np.zeros(width)
    for one in slates.values():
        np.add.at(positive, np.flatnonzero(one.labels >= POSITIVE) % width, 1)
    shares = positive / max(1.0, positive.sum())
    return np.array(position_weights(shares.tolist()))


def feed(steps: Steps, workers: int) -> Iterator[Fed]:
    """Yield the steps in order, built by so many processes beside this one."""
    if workers < 1:
        for index in range(len(steps)):
            yield steps[index]
        return
    loader = require("torch").utils.data.DataLoader(
        steps, batch_size=None, num_workers=workers, prefetch_factor=4
    )
    yield from loader
