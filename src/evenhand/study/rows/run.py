"""Scoring a study: every slate in every presentation of a design, kept on disk."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from evenhand.errors import UsageError
from evenhand.present.surface import texts_hash
from evenhand.present.texts import SKELETONS, wordings
from evenhand.records import RunFolder
from evenhand.records.filling import Engine, fill, slates_done
from evenhand.score.facts import scorer_facts
from evenhand.seeds import content_hash
from evenhand.study.analysis import MOVED
from evenhand.study.rows.ask import ask
from evenhand.study.rows.declared import check_declarations
from evenhand.study.rows.protocol import StudyDesign
from evenhand.study.rows.remedied import drawn_plan, remedy_facts
from evenhand.study.rows.reuse import needed, reused
from evenhand.types import Plan, Scored, Scorer, Shown, Slate

Progress = Callable[[int, int], None]


class ResumeWarning(UserWarning):
    """A run goes on with a scorer that may not be the one it was begun with."""


# Channels that only place candidates: an order-free scorer honours them by being one.
PLACEMENT = frozenset({"order", "companions", "window", "membership"})


def describe(scorer: Scorer) -> dict[str, Any]:
    """Return what identifies a scorer in records: plain values by name."""
    known = scorer_facts(scorer) | {"channels": sorted(scorer.channels)}
    if getattr(scorer, "order_only", False):
        known["order_only"] = True
    return known | remedy_facts(scorer)


def study_settings(
    scorer: Scorer, design: StudyDesign, extra: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return all settings of a study that could move a score; a resumed run must repeat them.

    Raises:
        UsageError: an extra setting has the name of another one.
    """
    settings: dict[str, Any] = {
        "scorer": describe(scorer),
        "design": design.name,
        "channels": sorted(design.channels),
        "rows": design.rows,
        "width": design.width,
        "rule": design.rule,
        "seed": design.seed,
        "repeat": design.repeat,
        "surface": design.surface,
        "surface_texts": texts_hash(design.surface),
        **_variant_texts(design),
    }
    taken = sorted(settings.keys() & (extra or {}).keys())
    if taken:
        raise UsageError(f"settings_extra repeats {taken}, which the study sets itself")
    return {**settings, **(extra or {})}


def _variant_texts(design: StudyDesign) -> dict[str, str]:
    """Return a hash of the texts that random rows may show beside those of the surface, if any."""
    surface, found = design.surface, []
    if "rubric" in design.channels:
        found += [replace(surface, rubric=name) for name in wordings(surface.rubric)]
    if "skeleton" in design.channels:
        found += [replace(surface, skeleton=name) for name in SKELETONS]
    return {"variant_texts": content_hash([texts_hash(one) for one in found])} if found else {}


def check_fit(scorer: Scorer, design: StudyDesign) -> None:
    """Refuse a design that the scorer cannot show, and a scorer that misdescribes itself.

    Raises:
        UsageError: an attribute of the scorer is not what the protocol says, a channel
            that it does not honour, or too wide a window.
    """
    check_declarations(scorer)
    # An order-free scorer may declare none of the placements: they do not reach its scores.
    ignored = sorted(
        design.channels - scorer.channels - (PLACEMENT if scorer.order_free else frozenset())
    )
    if ignored:
        raise UsageError(
            f"design {design.name!r} varies {', '.join(ignored)}, which {scorer.name} does not honour; "
            f"it honours {', '.join(sorted(scorer.channels)) or 'none'}. Choose another design."
        )
    if scorer.max_window is not None and (design.width or 0) > scorer.max_window:
        raise UsageError(
            f"windows of {design.width} candidates, but {scorer.name} takes at most "
            f"{scorer.max_window}; choose a width up to {scorer.max_window}"
        )


def run_study(
    scorer: Scorer,
    slates: Iterable[Slate],
    design: StudyDesign,
    out: str | os.PathLike[str],
    *,
    part_size: int = 4,
    progress: Progress | None = None,
    settings_extra: Mapping[str, Any] | None = None,
    engine: Engine | None = None,
) -> RunFolder:
    """Score every slate in every presentation of a design; resume what is in `out`.

    Slates are read as a stream and scored part by part. The repeat rows of a part
    go to the scorer in a second call and in reverse order, so that they fall in
    other batches than the canonical ones. An order-free scorer is asked once per
    slate, and once more for the repeat row.

    Args:
        scorer: what is studied.
        slates: the input, ids unique.
        design: what to draw.
        out: folder of the run.
        part_size: slates scored between two writes to disk: the most that a stopped run loses.
        progress: called with (slates done, slates in all), first with what was done before.
        settings_extra: further settings to record and compare.
        engine: who scores the parts; None = this process, one after the other.

    Returns:
        The finished run, open for reading. A `ResumeWarning` says that scores of an
        earlier call stand by the word of a revision that does not cover everything.

    Raises:
        UsageError: the scorer cannot show the design, or progress cannot be called.
        ResumeError: `out` holds another run, a damaged one, or is in use.
        ScorerError: the scorer failed or gave something that is no scores.
    """
    if progress is not None and not callable(progress):
        raise UsageError(
            f"progress must be a function of (slates done, slates in all), got {progress!r}"
        )
    check_fit(scorer, design)
    settings = study_settings(scorer, design, settings_extra)
    checked = _fitting(slates, scorer, design)
    with RunFolder.begin(out, settings, checked, part_size) as folder:
        if slates_done(folder):
            _warn_of_unseen(scorer)
        fill(folder, scorer, partial(_drawn_part, design), engine=engine, progress=progress)
        folder.merge()
        return folder


def _warn_of_unseen(scorer: Scorer) -> None:
    unseen = tuple(getattr(scorer, "unseen", ()))
    if unseen:
        warnings.warn(
            f"scores of an earlier call stand, and the automatic revision of {scorer.name} does not "
            f"cover {', '.join(unseen)}: if that has changed, the run mixes two scorers. Pass "
            "revision= to evenhand.scorer, or --set revision=NAME for a service, and change it with "
            "them.",
            ResumeWarning,
            stacklevel=3,
        )


def _drawn_part(
    design: StudyDesign, scorer: Scorer, index: int, slates: list[Slate]
) -> list[tuple[Slate, Plan, list[Scored]]]:
    plans = [drawn_plan(scorer, design, slate) for slate in slates]
    return score_part(scorer, slates, plans, verify=index == 0)


def _fitting(slates: Iterable[Slate], scorer: Scorer, design: StudyDesign) -> Iterator[Slate]:
    """Pass slates on; refuse the one whose only window would be too wide."""
    for slate in slates:
        limit = scorer.max_window
        if (
            limit is not None
            and design.width is None
            and isinstance(slate, Slate)
            and len(slate) > limit
        ):
            raise UsageError(
                f"slate {slate.id!r} has {len(slate)} candidates and no width is set, but "
                f"{scorer.name} takes at most {limit} in a window; set a width up to {limit}"
            )
        yield slate


def score_part(
    scorer: Scorer, slates: Sequence[Slate], plans: Sequence[Plan], *, verify: bool = False
) -> list[tuple[Slate, Plan, list[Scored]]]:
    """Score some slates in all rows of their plans.

    Args:
        scorer: what is asked.
        slates: some slates, ids unique.
        plans: the plan of each.
        verify: check the word of an order-free scorer: one random row of the first
            slate with two candidates is scored as well, and kept where it differs.

    Returns:
        (slate, plan, one Scored per row) in the given order.

    Raises:
        ScorerError: the scorer failed or gave something that is no scores.
    """
    shown = [list(plan.shown(slate)) for slate, plan in zip(slates, plans, strict=True)]
    asked = [needed(rows) if scorer.order_free else _not_repeated(rows) for rows in shown]
    first = [one for rows in asked for one in rows]
    second = [one for rows in reversed(shown) for one in reversed(rows) if one.kind == "repeat"]
    probe = _probe(shown, asked) if scorer.order_free and verify else []
    found = dict(zip(map(_key, first), ask(scorer, first), strict=True))
    found |= dict(zip(map(_key, [*second, *probe]), ask(scorer, [*second, *probe]), strict=True))
    for one in probe:
        own = next(rows for rows in asked if rows[0].slate is one.slate)
        if not _moved(found[_key(one)], _from_asked(one, own, found)):
            del found[_key(one)]
    return [
        (slate, plan, [found.get(_key(one)) or _from_asked(one, own, found) for one in rows])
        for slate, plan, rows, own in zip(slates, plans, shown, asked, strict=True)
    ]


def _key(shown: Shown) -> tuple[str, int]:
    return shown.slate.id, shown.row


def _not_repeated(rows: Sequence[Shown]) -> list[Shown]:
    return [one for one in rows if one.kind != "repeat"]


def _from_asked(
    shown: Shown, asked: Sequence[Shown], found: Mapping[tuple[str, int], Scored]
) -> Scored:
    return reused(shown, [(one, found[_key(one)]) for one in asked])


def _probe(shown: Sequence[Sequence[Shown]], asked: Sequence[Sequence[Shown]]) -> list[Shown]:
    """Return the last random row, not asked anyway, of the first slate that could show a difference."""
    for rows, own in zip(shown, asked, strict=True):
        known = {one.row for one in own}
        random = [one for one in rows if one.kind == "random" and len(one.slate) > 1]
        random = [one for one in random if one.row not in known]
        if random:
            return random[-1:]
    return []


def _moved(scored: Scored, reference: Scored) -> bool:
    a, b = scored.scores, reference.scores
    known = ~(np.isnan(a) | np.isnan(b))
    return bool(np.any(np.abs(a - b)[known] > MOVED * np.maximum(1, np.abs(b[known]))))
