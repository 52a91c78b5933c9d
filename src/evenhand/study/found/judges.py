"""Judges of two: what a scorer makes of slates of two candidates, shown in both orders."""

from __future__ import annotations

import numpy as np

from evenhand.decide.preference import PairVerdict, judge_pair
from evenhand.records import Recorded
from evenhand.types import Slate


def better(slate: Slate) -> int | None:
    """Return the canonical index of the candidate of the higher grade; None where there is none."""
    if slate.grades is None:
        return None
    gains = slate.gains()
    return None if gains[0] == gains[1] else int(gains.argmax())


def pair_verdict(record: Recorded) -> tuple[PairVerdict, int | None] | None:
    """Return the verdict on a slate of two over its random rows, and the better candidate.

    Args:
        record: of one slate.

    Returns:
        None where the slate is not of two candidates, a row cuts them apart, or one of
        the two orders is not among the rows.
    """
    shown = record.matrix.random_presentations
    if len(record.slate) != 2 or not shown or any(len(one.windows) != 1 for one in shown):
        return None
    slots = np.array([one.slots() for one in shown])
    # A member that is left out has no slot, and a single order asks only once.
    if not np.isin(slots, (0, 1)).all() or len(np.unique(slots[:, 0])) < 2:
        return None
    return judge_pair(record.matrix.random, slots), better(record.slate)
