"""Labelled slates: what training reads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.errors import InputError
from evenhand.types import FloatArray, Slate


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """A slate with a label for every candidate.

    Attributes:
        labels: (n,) in [0, 1], canonical order.
        doubt: (n,) standard deviation of each label over the teacher's orders, or None.

    Raises:
        InputError: a label is missing or outside [0, 1], or counts differ.
    """

    slate: Slate
    labels: FloatArray
    doubt: FloatArray | None = None

    def __post_init__(self) -> None:
        labels = np.asarray(self.labels, dtype=np.float64)
        object.__setattr__(self, "labels", labels)
        if labels.shape != (len(self.slate),):
            raise InputError(
                f"slate {self.slate.id!r}: labels of shape {labels.shape} for "
                f"{len(self.slate)} candidates"
            )
        wrong = np.flatnonzero(~((labels >= 0) & (labels <= 1)))
        if len(wrong):
            candidate = self.slate.candidates[int(wrong[0])].id
            raise InputError(
                f"slate {self.slate.id!r}: the label of candidate {candidate!r} is "
                f"{labels[wrong[0]]}; training needs a label in [0, 1] for every candidate. "
                "Drop the slate or label it again."
            )
        if self.doubt is not None and np.shape(self.doubt) != labels.shape:
            raise InputError(f"slate {self.slate.id!r}: doubt of shape {np.shape(self.doubt)}")

    def known_doubt(self) -> FloatArray:
        """Return the (n,) doubt, 0 where none is known."""
        return np.zeros(len(self.labels)) if self.doubt is None else np.asarray(self.doubt)


def graded(slate: Slate, highest: int = 3) -> Labelled:
    """Return a slate labelled by its own human grades, grade / highest clipped to [0, 1].

    Raises:
        InputError: the slate has no grades.
    """
    if slate.grades is None:
        raise InputError(f"slate {slate.id!r} has no grades to take as labels")
    return Labelled(slate, np.clip(slate.gains() / highest, 0, 1))
