"""Asking a scorer, and refusing an answer that is no scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenhand.errors import EvenhandError, ScorerError
from evenhand.types import Scored, Scorer, Shown


def ask(scorer: Scorer, shown: list[Shown]) -> list[Scored]:
    """Return one Scored per Shown, checked: right count, right length, nothing infinite.

    A failure of one presentation is a value (`Scored.failure`); what is raised or
    returned in the wrong shape is an error of the scorer and stops the study.

    Raises:
        ScorerError: the scorer raised, or gave something that is no scores.
        EvenhandError: as the scorer raised it.
    """
    if not shown:
        return []
    try:
        # A list of its own: a scorer may sort or empty what it is handed.
        results = scorer.score(list(shown))
    except EvenhandError:
        raise
    except Exception as error:
        raise ScorerError(
            f"{scorer.name} failed on slates {shown[0].slate.id!r} to {shown[-1].slate.id!r}: "
            f"{type(error).__name__}: {error}. What was scored before is kept; run again to go on."
        ) from error
    if not isinstance(results, Sequence) or len(results) != len(shown):
        sized = isinstance(results, Sequence)
        came = f"{len(results)} results" if sized else f"a {type(results).__name__}"
        raise ScorerError(
            f"{scorer.name} gave {came} for {len(shown)} presentations of slates {shown[0].slate.id!r} "
            f"to {shown[-1].slate.id!r}; it must return one Scored for each, in their order"
        )
    for one, scored in zip(shown, results, strict=True):
        _check(scorer, one, scored)
    return list(results)


def _check(scorer: Scorer, shown: Shown, scored: Scored) -> None:
    who = f"{scorer.name}, slate {shown.slate.id!r}, row {shown.row}"
    if not isinstance(scored, Scored):
        raise ScorerError(f"{who}: got a {type(scored).__name__}, need a Scored")
    n = len(shown.slate)
    if len(scored.scores) != n:
        raise ScorerError(
            f"{who}: got {len(scored.scores)} scores for {n} candidates; "
            "a missing score is NaN, never left out"
        )
    infinite = np.flatnonzero(np.isinf(scored.scores))
    if infinite.size:
        candidate = shown.slate.ids[infinite[0]]
        raise ScorerError(
            f"{who}: the score of candidate {candidate!r} is {scored.scores[infinite[0]]}; "
            "a score must be finite, or NaN when it is missing"
        )
