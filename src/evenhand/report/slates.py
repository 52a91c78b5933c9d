"""Which slates of a run the report opens up, and the one it draws large."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from evenhand.report.drill import SlateView, unstable_first, view
from evenhand.report.slope import Slope, slope
from evenhand.study.analysis import Analysis
from evenhand.types import ScoreMatrix, Slate

DRILL = 200


class Recorded(Protocol):
    """The part of a recorded slate that the report reads."""

    @property
    def slate(self) -> Slate:
        """Query, candidates and grades."""
        ...

    @property
    def matrix(self) -> ScoreMatrix:
        """Scores of every row."""
        ...


class Records(Protocol):
    """Where the report reads the slates again, e.g. a run folder."""

    def recorded(self) -> Iterator[Recorded]:
        """Yield each slate with its scores, in slate order."""
        ...


@dataclass(frozen=True, slots=True)
class Hero:
    """The slate drawn large; without a slope where it holds too many candidates."""

    view: SlateView
    slope: Slope | None


def slate_views(
    analysis: Analysis, records: Records, limit: int = DRILL
) -> tuple[tuple[SlateView, ...], Hero | None]:
    """Return the slates the report opens up, the most unstable first, and the one it draws large.

    The records are read once, as a stream.

    Args:
        analysis: which slates are unstable, and the thresholds.
        records: the slates with their scores.
        limit: most slates.

    Returns:
        At most `limit` slates, and the most unstable of them whose retained set changes
        (else the most unstable); None without slates.
    """
    missing = np.full(len(analysis.slate_ids), np.nan)
    tau = np.asarray(analysis.per_slate.get("tauPSI", missing), dtype=np.float64)
    overlap = np.asarray(analysis.per_slate.get("Overlap", missing), dtype=np.float64)
    cuts = np.asarray(analysis.per_slate.get("threshold", missing), dtype=np.float64)
    place = {index: rank for rank, index in enumerate(unstable_first(tau.tolist())[:limit])}
    views: dict[int, SlateView] = {}
    best, hero = (2, limit), None
    for index, recorded in enumerate(records.recorded()):
        if index not in place:
            continue
        rows, threshold = recorded.matrix.random, float(cuts[index])
        seen = view(
            recorded.slate, rows, threshold, tau_psi=float(tau[index]), overlap=float(overlap[index])
        )
        views[index] = seen
        rank = (0 if seen.moved else 1, place[index])
        if rank < best:
            best, hero = rank, Hero(seen, slope(recorded.slate, rows, threshold))
    return tuple(views[index] for index in place), hero
