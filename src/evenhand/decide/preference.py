"""The preference selector: chosen and rejected, best of n, and judges of two.

A selector takes the highest score as chosen and the lowest as rejected; ties go by
`seeds.tie_ranks`, never by slot. A judge of two candidates is asked in both orders.
When the two answers name different candidates the pick follows the place: a *tie by
disagreement*. When both orders score the two equally it is a *judged tie*. They are
different things, and are counted apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from evenhand.errors import UsageError
from evenhand.measure.decision import chosen_rejected
from evenhand.measure.rows import defined_mean
from evenhand.measure.selection import gold_correct, margin
from evenhand.seeds import tie_ranks
from evenhand.types import Decision, FloatArray, Slate

PairKind = Literal["agreed", "judged_tie", "disagreement", "half_tie", "missing"]
KINDS: tuple[PairKind, ...] = ("agreed", "judged_tie", "disagreement", "half_tie", "missing")


@dataclass(frozen=True, slots=True)
class Preference:
    """What a selector makes of one row.

    Attributes:
        chosen, rejected: candidate ids of the highest and the lowest score.
        margin: highest minus second highest score; 0 is a tie at the top.
        correct: whether the chosen one has the top grade; None where unknown.
    """

    chosen: str
    rejected: str
    margin: float
    correct: bool | None


def prefer(slate: Slate, scores: ArrayLike) -> Preference | None:
    """Return the preference of one row; None with fewer than two scores.

    Args:
        slate: the slate.
        scores: (n,), NaN = missing: neither chosen nor rejected.

    Raises:
        UsageError: as many scores as candidates are needed.
    """
    row = np.asarray(scores, dtype=np.float64)
    if row.shape != (len(slate),):
        raise UsageError(f"slate {slate.id!r}: {row.shape} scores for {len(slate)} candidates")
    present = np.flatnonzero(~np.isnan(row))
    if len(present) < 2:
        return None
    ties = tie_ranks(slate.id, slate.ids)
    ((chosen, rejected),) = chosen_rejected(row[None, present], ties[present])
    correct = float("nan")
    if slate.grades is not None:
        correct = float(gold_correct(row[None], slate.gains(), ties)[0])
    ids = slate.ids
    return Preference(
        ids[present[chosen]],
        ids[present[rejected]],
        margin(row[None]),
        None if np.isnan(correct) else bool(correct),
    )


@dataclass(frozen=True, slots=True)
class PreferenceConsumer:
    """Chosen and rejected of a row, or the best of n alone (`types.Consumer`).

    Attributes:
        pair: decide (chosen, rejected); False decides the best alone.
        name: of the decisions it puts out.
    """

    pair: bool = True
    name: str = "preference"

    def decide(self, slate: Slate, scores: FloatArray, row: int) -> Decision:
        """Return the ids selected from (n,) canonical scores; None with fewer than two scores."""
        found = prefer(slate, scores)
        value: str | tuple[str, ...] | None = None
        if found is not None:
            value = (found.chosen, found.rejected) if self.pair else found.chosen
        return Decision(slate.id, row, self.name, value)


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """What a judge of two candidates says when it is asked in both orders.

    Attributes:
        kind: "agreed" (both orders name the same candidate), "judged_tie" (both
            score the two equally), "disagreement" (they name different candidates:
            the pick follows the place), "half_tie" (one order names a candidate,
            the other none), "missing" (an order has no scores).
        winner: canonical index of the candidate both name, else None.
        place: with a disagreement, the slot that wins in both orders, 0 or 1.
    """

    kind: PairKind
    winner: int | None = None
    place: int | None = None


def judge_pair(scores: ArrayLike, slots: ArrayLike) -> PairVerdict:
    """Return the verdict on two candidates over both orders.

    Rows that show the same order are averaged first.

    Args:
        scores: (R, 2) canonical columns, NaN = missing.
        slots: (R, 2) slot of each candidate, 0 or 1.

    Raises:
        UsageError: not two candidates in one window, or an order was never shown.
    """
    rows, shown = np.asarray(scores, dtype=np.float64), np.asarray(slots)
    if rows.ndim != 2 or rows.shape[1] != 2 or shown.shape != rows.shape:
        raise UsageError(f"a judge of two needs (rows, 2) scores and slots, got {rows.shape}")
    if not np.isin(shown, (0, 1)).all() or (shown.sum(axis=1) != 1).any():
        raise UsageError("a judge of two shows both candidates in one window, in slots 0 and 1")
    picks: list[int | None] = []
    for first in (0, 1):
        same = shown[:, first] == 0
        if not same.any():
            raise UsageError("a judge of two is asked in both orders; one of them was never shown")
        known = rows[same & ~np.isnan(rows).any(axis=1)]
        if not len(known):
            return PairVerdict("missing")
        difference = float((known[:, 0] - known[:, 1]).mean())
        picks.append(None if difference == 0 else int(difference < 0))
    one, other = picks
    if one is None and other is None:
        return PairVerdict("judged_tie")
    if one is None or other is None:
        return PairVerdict("half_tie")
    if one == other:
        return PairVerdict("agreed", winner=one)
    # In the order that shows candidate 0 first, its pick is also its slot.
    return PairVerdict("disagreement", place=one)


@dataclass(frozen=True, slots=True)
class JudgeSummary:
    """A judge of two over many slates.

    Attributes:
        shares: of slates by kind of verdict; "missing" ones are in it.
        first_place: of the disagreements, the share won by the first slot; NaN
            without any. It tells a love of the first place from one of the last.
        accuracy: agreed on the better candidate, ties of each kind counted one
            half, over the slates with gold and scores; NaN without any.
        accuracy_decided: right among those agreed, with gold; NaN without any.
        slates: how many. gold: how many with gold and scores.
    """

    shares: dict[PairKind, float]
    first_place: float
    accuracy: float
    accuracy_decided: float
    slates: int
    gold: int


def summarise_judge(verdicts: Iterable[tuple[PairVerdict, int | None]]) -> JudgeSummary:
    """Return what a judge of two does over slates.

    Args:
        verdicts: (verdict, canonical index of the better candidate or None) per slate.
    """
    found = list(verdicts)
    counts = Counter(verdict.kind for verdict, _ in found)
    places = [verdict.place for verdict, _ in found if verdict.kind == "disagreement"]
    judged = [
        (verdict, gold) for verdict, gold in found if gold is not None and verdict.kind != "missing"
    ]
    credit = [
        0.5 if verdict.winner is None else float(verdict.winner == gold) for verdict, gold in judged
    ]
    decided = [float(verdict.winner == gold) for verdict, gold in judged if verdict.winner is not None]
    return JudgeSummary(
        shares={kind: counts[kind] / len(found) if found else float("nan") for kind in KINDS},
        first_place=defined_mean([float(place == 0) for place in places]),
        accuracy=defined_mean(credit),
        accuracy_decided=defined_mean(decided),
        slates=len(found),
        gold=len(judged),
    )
