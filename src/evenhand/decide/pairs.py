"""Preference pairs to train on: best and worst of a slate, and how often their order reverses.

The *flip probability* of a pair is the share of random rows that rank the rejected
candidate above the chosen one, equal scores counted one half. It is estimated on the
rows that were scored: with M rows it moves in steps of 1 / (2 M).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from evenhand.decide.preference import prefer
from evenhand.errors import UsageError
from evenhand.measure.checks import choice, finite
from evenhand.measure.rows import as_rows, complete_part
from evenhand.types import Candidate, FloatArray, ScoreMatrix, Slate

By = Literal["mean", "canonical"]
Reason = Literal[
    "single", "missing", "tie", "same_text", "empty", "gap", "flip", "repeated", "contradicted"
]
# Why a slate gives no pair, in the order in which it is asked.
REASONS: tuple[Reason, ...] = get_args(Reason)
# Above it the rows would rather have the pair the other way round.
MOST_FLIP = 0.5
# Fewer rows cannot disagree.
LEAST_ROWS = 2
# Means of the same numbers, added up in another order, differ by less.
_SAME = 1e-12


@dataclass(frozen=True, slots=True)
class PairRule:
    """Which pairs are made and kept.

    Attributes:
        by: best and worst of the "mean" over the random rows, or of the "canonical" row.
        max_flip: largest flip probability of a pair that is kept, 0 to .5.
        min_gap: least difference of the two scores, in units of the scorer.

    Raises:
        UsageError: a value is unknown or out of its range.
    """

    by: By = "mean"
    max_flip: float = 0.1
    min_gap: float = 0.0

    def __post_init__(self) -> None:
        choice("way to choose a pair", self.by, get_args(By))
        if not 0 <= finite("max_flip", self.max_flip) <= MOST_FLIP:
            raise UsageError(
                f"max_flip must lie between 0 and {MOST_FLIP:g}, got {self.max_flip!r}: a pair that "
                "reverses in more than half of the rows is preferred the other way round"
            )
        if finite("min_gap", self.min_gap) < 0:
            raise UsageError(f"min_gap must be at least 0, got {self.min_gap!r}")


@dataclass(frozen=True, slots=True)
class Pair:
    """A query with the response to prefer and the one to reject.

    Attributes:
        gap: score of the chosen minus score of the rejected one.
        flip: flip probability, 0 to 1.
        rows: random rows that score both.
    """

    slate_id: str
    query: str
    chosen: Candidate
    rejected: Candidate
    gap: float
    flip: float
    rows: int

    @property
    def weight(self) -> float:
        """1 - 2 x flip: 1 where no row reverses the pair, 0 where half of them do."""
        return 1 - 2 * self.flip


@dataclass(frozen=True, slots=True)
class PairOutcome:
    """What a slate gives: a pair, and why it is not kept.

    Attributes:
        pair: None where no two candidates can be told apart.
        dropped: None = kept.
    """

    pair: Pair | None
    dropped: Reason | None


def flip_probability(scores: ArrayLike, chosen: int, rejected: int) -> tuple[float, int]:
    """Return how often the order of two candidates reverses, and over how many rows.

    Args:
        scores: (M, n) random rows, NaN = missing; a row that lacks one of the two is left out.
        chosen, rejected: columns.

    Returns:
        The share of rows with the rejected one higher, ties one half, 0 to 1, NaN
        without rows; and the rows counted.
    """
    rows = as_rows(scores)
    ahead = rows[:, chosen] - rows[:, rejected]
    ahead = ahead[~np.isnan(ahead)]
    if not len(ahead):
        return float("nan"), 0
    return float(((ahead < 0) + 0.5 * (ahead == 0)).mean()), len(ahead)


def pair_of(slate: Slate, matrix: ScoreMatrix, rule: PairRule) -> PairOutcome:
    """Return the pair of a slate: its best and its worst response.

    For the mean, rows without any score are left out, and so are candidates that one
    of the other rows lacks: a mean over other rows would not compare. Best and worst
    are those of `preference.prefer`, ties by hash.

    Args:
        slate: query and responses.
        matrix: its scores in all rows.
        rule: which pairs are kept.
    """
    if len(slate) < 2:
        return PairOutcome(None, "single")
    scores = _mean(matrix.random) if rule.by == "mean" else matrix.canonical
    found = prefer(slate, scores)
    if found is None:
        return PairOutcome(None, "missing")
    chosen, rejected = slate.ids.index(found.chosen), slate.ids.index(found.rejected)
    flip, rows = flip_probability(matrix.random, chosen, rejected)
    if rows < LEAST_ROWS:
        return PairOutcome(None, "missing")
    best, worst = slate.candidates[chosen], slate.candidates[rejected]
    high, low = float(scores[chosen]), float(scores[rejected])
    pair = Pair(slate.id, slate.query, best, worst, high - low, flip, rows)
    tied = math.isclose(high, low, rel_tol=_SAME, abs_tol=_SAME)
    return PairOutcome(pair, "tie" if tied else _dropped(pair, rule))


def _mean(rows: FloatArray) -> FloatArray:
    """Return the (n,) mean over the complete part of (M, n) scores, NaN outside it."""
    lines, columns = complete_part(rows)
    found = np.full(rows.shape[1], np.nan)
    if len(lines):
        found[columns] = rows[np.ix_(lines, columns)].mean(axis=0)
    return found


def _dropped(pair: Pair, rule: PairRule) -> Reason | None:
    chosen, rejected = response(pair.chosen), response(pair.rejected)
    if chosen == rejected:
        return "same_text"
    if not (chosen and rejected):
        return "empty"
    if pair.gap < rule.min_gap:
        return "gap"
    return "flip" if pair.flip > rule.max_flip else None


def response(candidate: Candidate) -> str:
    """Return the text of a response as it was scored, without white space around it."""
    return candidate.full_text.strip()


def conflicts(pairs: Sequence[Pair]) -> list[Reason | None]:
    """Return which of several pairs to drop because of another one.

    Pairs are the same by their texts: query and the two responses. The first of
    equal ones is kept; where two prefer opposite responses, all of them go.

    Returns:
        "repeated", "contradicted" or None (keep) for each.
    """
    directions: dict[tuple[str, frozenset[str]], set[str]] = {}
    keys = []
    for pair in pairs:
        chosen = response(pair.chosen)
        keys.append((pair.query, frozenset((chosen, response(pair.rejected)))))
        directions.setdefault(keys[-1], set()).add(chosen)
    seen: set[tuple[str, frozenset[str]]] = set()
    found: list[Reason | None] = []
    for key in keys:
        repeated: Reason | None = "repeated" if key in seen else None
        found.append("contradicted" if len(directions[key]) > 1 else repeated)
        seen.add(key)
    return found
