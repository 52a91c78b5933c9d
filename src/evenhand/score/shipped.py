"""What a trained scorer says of itself: `scorer.json` beside its weights or adapter.

A model is trained on prompts of one form. The file holds that form, so that a model
opened by name, in a folder or on the hub, is shown its candidates as in training.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from evenhand.errors import InputError, ScorerError, UsageError
from evenhand.models import shipped
from evenhand.models.hub import hub_file
from evenhand.models.source import Place, parse
from evenhand.present.surface import check_surface, texts_hash
from evenhand.score.base import PromptBuilder
from evenhand.types import Candidate, Slate, Surface

NAME = "scorer.json"
FORMAT = 1
_SURFACE = {item.name for item in fields(Surface)}


@dataclass(frozen=True, slots=True)
class Shipped:
    """The form that a scorer was trained on.

    Attributes:
        surface: words and marks. texts: hash of all fixed texts of its prompts.
        width: B. max_candidate_tokens: cut of each candidate.
        grades: ids of the grade tokens, lowest first.
        path: of the file.
    """

    surface: Surface
    texts: str
    width: int
    max_candidate_tokens: int
    grades: tuple[int, ...]
    path: str

    def under(
        self, given: Mapping[str, Any], options: Mapping[str, Any]
    ) -> tuple[dict[str, Any], Surface]:
        """Return scorer options and a surface: what was asked for, else the form of the training.

        Args:
            given: options of the scorer. options: all that was asked for.

        Raises:
            InputError: a text of the form is not the one of the training any more.
        """
        asked = {name: value for name, value in options.items() if name in _SURFACE}
        own = {"width": self.width, "max_candidate_tokens": self.max_candidate_tokens}
        if not asked and texts_hash(self.surface) != self.texts:
            raise InputError(
                f"was trained on other words of rubric {self.surface.rubric!r} or skeleton "
                f"{self.surface.skeleton!r} than this version has; train it again, or name the "
                "rubric to show it the new words all the same",
                path=self.path,
            )
        return {**own, **given}, replace(self.surface, **asked)

    def check(self, builder: PromptBuilder) -> None:
        """Refuse a tokenizer that has other grade tokens than the training had.

        Raises:
            ScorerError: they differ.
        """
        found = grade_ids(builder, self.surface)
        if found != self.grades:
            raise ScorerError(
                f"{self.path}: the grades were the tokens {list(self.grades)} in training and are "
                f"{list(found)} in this tokenizer; use the tokenizer that the scorer was trained with"
            )


def grade_ids(builder: PromptBuilder, surface: Surface) -> tuple[int, ...]:
    """Return the ids of the grade tokens of a prompt's answer line, lowest first."""
    probe = Slate("probe", "query", (Candidate("c", "text"),))
    return builder.build(probe, (0,), surface).grades


def shipped_with(
    spec: str, *, revision: str | None = None, adapter: str | None = None
) -> Shipped | None:
    """Return what a model's own `scorer.json`, or that of the adapter on it, says; None when nothing.

    Args:
        spec, revision, adapter: as `models.load.load` takes them.

    Raises:
        UsageError, InputError: as `models.source.parse`.
        InputError: the file is damaged.
        ScorerError: the file is on the hub and cannot be fetched.
    """
    source = parse(spec, revision=revision, adapter=adapter)
    path = _found(source.adapter or source.base)
    return None if path is None else read_shipped(path)


def _found(place: Place) -> Path | None:
    if place.kind == "folder":
        return Path(place.where) / NAME
    if place.kind == "shipped":
        return shipped.folder(place.where) / NAME
    return hub_file(place, NAME) if place.kind == "hub" else None


def read_shipped(path: Path) -> Shipped | None:
    """Read a file; None when there is none.

    Raises:
        InputError: it is no JSON, lacks something, or is of another format.
    """
    if not path.is_file():
        return None
    try:
        record = json.loads(path.read_bytes())
        if record["format"] != FORMAT:
            raise InputError(
                f"is of format {record['format']!r}, this version reads {FORMAT}", path=str(path)
            )
        surface = Surface(**record["surface"])
        check_surface(surface)
        return Shipped(
            surface,
            record["texts_hash"],
            int(record["width"]),
            int(record["max_candidate_tokens"]),
            tuple(int(one) for one in record["grades"]["ids"]),
            str(path),
        )
    except InputError:
        raise
    except (OSError, ValueError, KeyError, TypeError, UsageError) as error:
        raise InputError(
            f"is damaged ({type(error).__name__}: {error}); take it from the training again, or "
            "delete it and name the surface",
            path=str(path),
        ) from error
