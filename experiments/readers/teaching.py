"""From slates to what a reader is trained on: evidence in a drawn order, and the words wanted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evenhand.data import read_slates
from evenhand.decide.answers import normalise
from evenhand.decide.fitness import ENOUGH
from evenhand.decide.prompts import Task
from evenhand.decide.reading import Evidence, evidence_of
from evenhand.decide.verdicts import LABELS
from evenhand.models.generate import END_OF_TURN
from evenhand.score.tokens import TokenizerTokens
from evenhand.seeds import generator
from evenhand.types import Slate

ABSTAIN = "unknown"


@dataclass(frozen=True)
class Recipe:
    """How a reader is taught.

    Attributes:
        task: what it gives. sources: files of `prepare.py` it is taught with.
        seed: of everything drawn.
        most: paragraphs shown at most; their number is drawn from 1 to most.
        absent: share of questions shown without gold, where "unknown" is wanted.
        whole: share of claims shown with all their own sentences and nothing else.
        balance: claims are drawn by 1 / (number of their verdict) to this power: 0 leaves
            the verdicts as they are, 1 makes them equally common.
        rate, steps: of the descent. examples: a step.
    """

    task: Task
    sources: tuple[str, ...]
    seed: int
    most: int = 5
    absent: float = 0.0
    whole: float = 0.5
    balance: float = 0.5
    rate: float = 5e-4
    steps: int = 400
    examples: int = 40


# The two that answer differ in seed and in what they do without gold: one says so, the other
# always names something. What both show does not hang on either habit.
RECIPES: dict[str, Recipe] = {
    "abstains": Recipe("answer", ("nq_train", "xquad_train"), seed=0, absent=0.2),
    "answers": Recipe("answer", ("nq_train", "xquad_train"), seed=1),
    "verdict": Recipe("verdict", ("climate_train",), seed=2, rate=3e-4, steps=250, examples=24),
}


@dataclass(frozen=True)
class Example:
    """What is shown, and the words that shall follow."""

    evidence: Evidence
    wanted: str


def slates_of(folder: Path, names: tuple[str, ...], limit: int | None = None) -> list[Slate]:
    """Slates of prepared files, at most so many of each; names stand before their ids."""
    found = [list(read_slates(folder / f"{name}.jsonl.gz"))[:limit] for name in names]
    return [slate for slates in found for slate in slates]


def example(slate: Slate, recipe: Recipe, epoch: int) -> Example:
    """The example that a slate gives in an epoch; it depends on seed, slate and epoch alone."""
    rng = generator(recipe.seed, slate.id, "reader example", epoch)
    return (_answer if recipe.task == "answer" else _verdict)(slate, recipe, rng)


def _answer(slate: Slate, recipe: Recipe, rng: np.random.Generator) -> Example:
    gains = slate.gains() > 0
    right, wrong = np.flatnonzero(gains), np.flatnonzero(~gains)
    count = int(rng.integers(1, recipe.most + 1))
    absent = bool(rng.random() < recipe.absent)
    if absent:
        # A passage that is not marked may hold the answer too.
        wrong = np.array([i for i in wrong if not _holds(slate, int(i))], dtype=int)
        right = right[:0]
    chosen = [*rng.permutation(right)[:count], *rng.permutation(wrong)[: max(0, count - len(right))]]
    shown = [int(i) for i in rng.permutation(np.array(chosen, dtype=int))]
    return Example(evidence_of(slate, shown), ABSTAIN if absent else best_alias(slate))


def _verdict(slate: Slate, recipe: Recipe, rng: np.random.Generator) -> Example:
    """Own sentences, all or some with others; without a deciding one there is too little to tell."""
    grades = slate.grades or {}
    own = np.array([i for i, key in enumerate(slate.ids) if key in grades])
    other = np.setdiff1d(np.arange(len(slate)), own)
    if rng.random() < recipe.whole:
        chosen = rng.permutation(own)
    else:
        count = int(rng.integers(1, recipe.most + 1))
        kept = rng.permutation(own)[: int(rng.integers(0, count + 1))]
        chosen = rng.permutation(np.array([*kept, *rng.permutation(other)[: count - len(kept)]], int))
    decided = any(grades.get(slate.ids[int(i)], 0) > 0 for i in chosen)
    label = str(slate.verdict) if decided else ENOUGH
    return Example(evidence_of(slate, [int(i) for i in chosen]), LABELS[label])


def _holds(slate: Slate, column: int) -> bool:
    text = f" {normalise(slate.candidates[column].full_text)} "
    return any(f" {normalise(one)} " in text for one in slate.answers)


def best_alias(slate: Slate) -> str:
    """The shortest answer that the gold passages hold word for word, else the first one."""
    texts = [one.full_text for one, gain in zip(slate.candidates, slate.gains(), strict=True) if gain]
    bare = [" ".join(one.split()).strip(" .,;:") for one in slate.answers]
    held = [one for one in bare if one and any(one in text for text in texts)]
    return min(held, key=len) if held else bare[0] or slate.answers[0]


def order_of(slates: list[Slate], recipe: Recipe, epoch: int) -> list[Slate]:
    """An epoch's slates: all in a drawn order; claims are drawn with weights instead."""
    rng = generator(recipe.seed, "", "reader epoch", epoch)
    if recipe.task == "answer":
        return [slates[i] for i in rng.permutation(len(slates))]
    counts = Counter(slate.verdict for slate in slates)
    weights = np.array([counts[slate.verdict] ** -recipe.balance for slate in slates])
    drawn = rng.choice(len(slates), size=len(slates), p=weights / weights.sum())
    return [slates[i] for i in drawn]


def stream(slates: list[Slate], recipe: Recipe) -> Iterator[Example]:
    """Examples without end."""
    epoch = 0
    while True:
        for slate in order_of(slates, recipe, epoch):
            yield example(slate, recipe, epoch)
        epoch += 1


class Coder:
    """Turns examples into ids: the prompt exactly as the reader builds it, then what is wanted."""

    def __init__(self, reader, tokenizer) -> None:
        self._reader, self._tokens = reader, TokenizerTokens(tokenizer)
        known = tokenizer.get_vocab()
        ends = [known[token] for token in END_OF_TURN if token in known]
        self._end = ends[0] if ends else tokenizer.eos_token_id

    def __call__(self, one: Example) -> tuple[tuple[int, ...], int]:
        """Ids, and how many at the end are wanted: the words after a space, and the end of turn."""
        wanted = (*self._tokens.text(f" {one.wanted}")[0], self._end)
        return (*self._reader.prompt_ids(one.evidence), *wanted), len(wanted)
