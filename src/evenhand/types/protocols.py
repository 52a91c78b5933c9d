"""The seams: what a scorer, design, consumer and remedy must offer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from evenhand.types.arrays import FloatArray, Scale
from evenhand.types.presentation import Plan, Shown, Surface
from evenhand.types.scores import Decision, Scored
from evenhand.types.slate import Slate


@runtime_checkable
class Scorer(Protocol):
    """Anything that gives one number per candidate of a presentation.

    Read-only here: an implementation may use attributes or properties.
    """

    @property
    def name(self) -> str:
        """How people call it."""
        ...

    @property
    def revision(self) -> str:
        """Identifies weights and settings that change scores; a threshold belongs to it."""
        ...

    @property
    def scale(self) -> Scale:
        """What the numbers are: unit [0, 1], log_likelihood, raw."""
        ...

    @property
    def order_free(self) -> bool:
        """Whether the score of a candidate depends on it and the query alone."""
        ...

    @property
    def channels(self) -> frozenset[str]:
        """The channels whose variation the scorer honours."""
        ...

    @property
    def max_window(self) -> int | None:
        """Most candidates of one prompt, or None."""
        ...

    @property
    def default_window(self) -> int | None:
        """Width used when none is asked; None = the whole slate."""
        ...

    @property
    def surface(self) -> Surface:
        """The surface used when none is asked."""
        ...

    def score(self, shown: Sequence[Shown]) -> list[Scored]:
        """Score many slates and presentations, one Scored each, in the given order."""
        ...


class Design(Protocol):
    """Draws the presentations of a slate."""

    @property
    def name(self) -> str:
        """Name it is asked by."""
        ...

    @property
    def channels(self) -> frozenset[str]:
        """The channels it lets vary."""
        ...

    def draw(self, slate: Slate) -> Plan:
        """Return canonical row, random rows and repeat row of one slate."""
        ...


class Consumer(Protocol):
    """Turns one row of scores into a decision; frozen while scores vary."""

    @property
    def name(self) -> str:
        """Name in records and reports."""
        ...

    def decide(self, slate: Slate, scores: FloatArray, row: int) -> Decision:
        """Return the decision for (n,) canonical scores."""
        ...


class Remedy(Protocol):
    """Turns a scorer into a steadier one at a stated cost."""

    @property
    def name(self) -> str:
        """Name in reports."""
        ...

    def __call__(self, scorer: Scorer) -> Scorer:
        """Return the remedied scorer."""
        ...
