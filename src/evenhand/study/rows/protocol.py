"""What a study needs of a design."""

from __future__ import annotations

from typing import Protocol

from evenhand.types import Plan, Slate, Surface


class StudyDesign(Protocol):
    """A design as a study records it: its draws and the settings that make them."""

    @property
    def name(self) -> str:
        """Name of the design."""
        ...

    @property
    def channels(self) -> frozenset[str]:
        """The channels it lets vary."""
        ...

    @property
    def rows(self) -> int:
        """M, random rows."""
        ...

    @property
    def width(self) -> int | None:
        """B, or None for the whole slate."""
        ...

    @property
    def rule(self) -> str:
        """Window rule."""
        ...

    @property
    def seed(self) -> int:
        """Seed of the random rows."""
        ...

    @property
    def surface(self) -> Surface:
        """Surface of every row."""
        ...

    @property
    def repeat(self) -> bool:
        """Whether the canonical presentation is scored twice."""
        ...

    def draw(self, slate: Slate) -> Plan:
        """Return the plan of one slate."""
        ...
