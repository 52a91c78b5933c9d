"""What a declared collection sets for the verbs that score its slates."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from evenhand.cli.common import tell
from evenhand.cli.inputs import declared

if TYPE_CHECKING:
    from evenhand.data.collections import Collection
    from evenhand.score.shipped import Shipped
    from evenhand.types import Scorer


def as_declared(source: str, opened: Scorer, width: int | None, rubric: str | None) -> dict[str, Any]:
    """Return the width and surface a collection declares, where none was asked for.

    A scorer that was trained on a rubric keeps it, which is told.
    """
    collection = declared(source)
    settings: dict[str, Any] = {}
    if collection is None:
        return settings
    if width is None and opened.default_window is not None:
        settings["width"] = collection.width
    trained = _trained(opened)
    if rubric is None and "rubric" in opened.channels and trained is None:
        settings["surface"] = dataclasses.replace(opened.surface, rubric=collection.rubric)
    if trained is not None:
        for line in _otherwise(source, collection, trained, opened, width, rubric):
            tell(line)
    return settings


def _trained(opened: Any) -> Shipped | None:
    """Return the form that a scorer was trained on, also behind remedies."""
    while hasattr(opened, "inner"):
        opened = opened.inner
    found: Shipped | None = getattr(opened, "trained", None)
    return found


def _otherwise(
    source: str, collection: Collection, trained: Shipped, opened: Scorer, width: int | None,
    rubric: str | None,
) -> list[str]:  # fmt: skip
    """Return what a trained scorer is shown that the collection, or its training, has otherwise."""
    lines, own = [], trained.surface.rubric
    if rubric is None and own != collection.rubric:
        lines.append(
            f"note: {opened.name} was trained on the rubric {own} and is shown it; {source} declares "
            f"{collection.rubric} (--rubric {collection.rubric} shows that)"
        )
    if width is None and opened.default_window is not None and trained.width != collection.width:
        lines.append(
            f"note: {opened.name} was trained at B {trained.width} and is shown B {collection.width}, "
            f"as {source} declares (--width {trained.width} shows the other)"
        )
    return lines
