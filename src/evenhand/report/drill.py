"""The slates and candidates of a run that move: what the report opens up."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.measure.order import kendall_distance
from evenhand.report.clean import one_line
from evenhand.report.digits import number
from evenhand.seeds import tie_ranks
from evenhand.types import BoolArray, Candidate, FloatArray, Slate

TEXT_LIMIT = 240
QUERY_LIMIT = 200
HOVER_LIMIT = 90
CHIPS = 60
FLIPS = 30


@dataclass(frozen=True, slots=True)
class Chip:
    """A candidate in the picture of one row.

    Attributes:
        place: canonical place from 1. state: "retained", "dropped", "changed"
            (retained in one of the two rows) or "missing".
        retained: at or above the threshold in this row.
        relevant: graded 1 or higher.
    """

    place: int
    state: str
    retained: bool
    relevant: bool
    hover: str


@dataclass(frozen=True, slots=True)
class Strip:
    """One row of scores as chips, the highest first; `cut` chips are left out."""

    name: str
    chips: tuple[Chip, ...]
    cut: int


@dataclass(frozen=True, slots=True)
class Moved:
    """A candidate that some random rows retain and others drop.

    Attributes:
        low, mean, high: its scores over the random rows.
        retained: share of those rows that retain it.
    """

    place: int
    id: str
    text: str
    grade: int | None
    low: float
    mean: float
    high: float
    retained: float


@dataclass(frozen=True, slots=True)
class SlateView:
    """All that the report shows of one slate."""

    id: str
    query: str
    size: int
    tau_psi: float
    overlap: float
    threshold: float
    strips: tuple[Strip, ...]
    moved: tuple[Moved, ...]
    unshown: int


def view(
    slate: Slate, rows: FloatArray, threshold: float, *, tau_psi: float, overlap: float
) -> SlateView:
    """Return what the report shows of one slate.

    Args:
        slate: query, candidates and grades.
        rows: (M, n) scores of the random rows; NaN = missing.
        threshold: a candidate is retained at or above it; NaN retains nothing.
        tau_psi: the slate's measured value, shown as it is.
        overlap: likewise.
    """
    retained = rows >= threshold
    moved = sorted(_moved(slate, rows, retained), key=lambda m: (abs(m.retained - 0.5), m.place))
    return SlateView(
        id=one_line(slate.id, QUERY_LIMIT),
        query=one_line(slate.query, QUERY_LIMIT),
        size=len(slate),
        tau_psi=tau_psi,
        overlap=overlap,
        threshold=threshold,
        strips=tuple(_strips(slate, rows, retained)),
        moved=tuple(moved[:FLIPS]),
        unshown=max(0, len(moved) - FLIPS),
    )


def most_different(rows: FloatArray, retained: BoolArray) -> tuple[int, int]:
    """Return the two random rows that differ most.

    By the number of candidates retained in only one of them, then by the Kendall
    distance of their scores; the first such pair when several are equal.

    Args:
        rows: (M, n) scores.
        retained: (M, n), whether a candidate is at or above the threshold.
    """
    best, chosen = (-1.0, -1.0), (0, min(1, len(rows) - 1))
    for first, second in itertools.combinations(range(len(rows)), 2):
        changed = float(np.sum(retained[first] != retained[second]))
        if changed < best[0]:
            continue
        apart = kendall_distance(rows[first], rows[second])
        found = (changed, apart if math.isfinite(apart) else -1.0)
        if found > best:
            best, chosen = found, (first, second)
    return chosen


def _strips(slate: Slate, rows: FloatArray, retained: BoolArray) -> Iterator[Strip]:
    if not len(rows) or not len(slate):
        return
    pair = most_different(rows, retained)
    changed = retained[pair[0]] != retained[pair[1]]
    for row in dict.fromkeys(pair):
        order = ranked(slate, rows[row])
        chips = [_chip(slate, i, rows[row], retained[row], changed) for i in order]
        shown = [chip for place, chip in enumerate(chips) if place < CHIPS or chip.state == "changed"]
        yield Strip(f"Presentation {row + 1}", tuple(shown), len(chips) - len(shown))


def ranked(slate: Slate, scores: FloatArray) -> list[int]:
    """Return canonical indices by falling score; ties by hash, missing scores last."""
    ties = tie_ranks(slate.id, slate.ids)
    key = np.where(np.isnan(scores), np.inf, -scores)
    return [int(i) for i in np.lexsort((ties, key))]


def _chip(
    slate: Slate, index: int, scores: FloatArray, retained: BoolArray, changed: BoolArray
) -> Chip:
    candidate = slate.candidates[index]
    state = chip_state(scores[index], retained[index], changed[index])
    hover = f"{candidate.id} · {number(scores[index])} · {shown_text(candidate, HOVER_LIMIT)}"
    grade = grade_of(slate, candidate)
    return Chip(index + 1, state, bool(retained[index]), bool(grade and grade > 0), one_line(hover))


def chip_state(score: float, retained: bool, changed: bool) -> str:
    """Return what the picture shows of a candidate in one of two rows."""
    if math.isnan(score):
        return "missing"
    if changed:
        return "changed"
    return "retained" if retained else "dropped"


def grade_of(slate: Slate, candidate: Candidate) -> int | None:
    """Return the grade of a candidate; None where it is not judged."""
    return None if slate.grades is None else slate.grades.get(candidate.id)


def shown_text(candidate: Candidate, limit: int = TEXT_LIMIT) -> str:
    """Return title and text on one line, cut with an ellipsis."""
    return one_line(candidate.full_text, limit) or "(empty text)"


def _moved(slate: Slate, rows: FloatArray, retained: BoolArray) -> Iterator[Moved]:
    for index, candidate in enumerate(slate.candidates):
        defined = ~np.isnan(rows[:, index])
        if not defined.any():
            continue
        share = float(np.mean(retained[defined, index]))
        if share in (0.0, 1.0):
            continue
        scores = rows[defined, index]
        yield Moved(
            index + 1,
            one_line(candidate.id, QUERY_LIMIT),
            shown_text(candidate),
            grade_of(slate, candidate),
            float(scores.min()),
            float(scores.mean()),
            float(scores.max()),
            share,
        )


def unstable_first(tau_psi: Sequence[float]) -> list[int]:
    """Return slate indices, the most unstable first and undefined ones last."""
    return sorted(range(len(tau_psi)), key=lambda i: -tau_psi[i] if math.isfinite(tau_psi[i]) else 2.0)
