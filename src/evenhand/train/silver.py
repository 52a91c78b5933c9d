"""Silver labels: a teacher scores every slate under T random orders of the whole slate."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.errors import UsageError, require_count
from evenhand.measure.checks import integer
from evenhand.present.orders import shuffled
from evenhand.present.surface import check_surface, texts_hash
from evenhand.present.windows import cut
from evenhand.records import RunFolder, manifest
from evenhand.records.filling import Engine, fill, slates_done
from evenhand.seeds import file_hash, generator
from evenhand.train.label_report import LabelReport, label_report
from evenhand.train.label_source import PURPOSE, LabelSource
from evenhand.train.label_table import NAME, LabelLines, parts_of, write_labels
from evenhand.train.labels import Labelled
from evenhand.train.scales import LabelScale, chosen, fitted, mapped, over_orders
from evenhand.train.teacher import ask_teacher, require_teacher, teacher_facts
from evenhand.types import Plan, Presentation, RowKind, Scored, Scorer, Slate, Surface


class LabelWarning(UserWarning):
    """Labels stand or are left out in a way that a user should know of."""


@dataclass(frozen=True, slots=True)
class Orders:
    """T uniform orders of the whole slate, each cut into windows.

    Order t is drawn from (seed + t, slate id), so that labels of one order are the
    first of those of ten.

    Attributes:
        count: T. width: B, None = the whole slate. rule: window rule. seed: of the first order.
        surface: of every order.
    """

    count: int
    width: int | None
    rule: str
    seed: int
    surface: Surface

    def __post_init__(self) -> None:
        require_count("orders", self.count)
        integer("seed", self.seed)
        cut(1, self.width, self.rule)
        check_surface(self.surface)

    def draw(self, slate: Slate) -> Plan:
        """Return the T presentations of a slate; none is canonical or repeated on purpose."""
        shown = []
        for t in range(self.count):
            order = shuffled(len(slate), generator(self.seed + t, slate.id, "label"))
            windows = cut(len(slate), self.width, self.rule)
            own = tuple(tuple(order[place] for place in window) for window in windows)
            shown.append(Presentation(order, own, self.surface))
        kinds: list[RowKind] = ["random" for _ in shown]
        return Plan(tuple(shown), tuple(kinds))


def label(
    teacher: Scorer, slates: Iterable[Slate], out: str | os.PathLike[str], *, orders: int = 1,
    width: int | None = None, rule: str = "contiguous", seed: int = 0,
    surface: Surface | None = None, part_size: int = 4,
    progress: Callable[[int, int], None] | None = None, engine: Engine | None = None,
) -> LabelReport:  # fmt: skip
    """Let a teacher label slates; go on with what an earlier call left in `out`.

    Writes `labels.parquet` (slate, candidate, order_seed, slot, window, grades, score)
    and `manifest.json` beside the slates and the parts. Scores stay on the teacher's
    own scale; `read_labelled` makes labels in [0, 1] of them.

    Args:
        teacher: any scorer. An order-free one is asked once a slate.
        slates: the input, ids unique; read as a stream.
        out: folder of the labels.
        orders: T, random orders of the whole slate.
        width: B; None = the teacher's own. rule: how an order is cut.
        seed: of the first order; the others follow.
        surface: None = the teacher's own.
        part_size: slates labelled between two writes to disk.
        progress: called with (slates done, slates in all).
        engine: who labels the parts; None = this process, one after the other.

    Raises:
        UsageError: a setting is wrong, or the teacher cannot show such windows.
        ResumeError: `out` holds other labels, a damaged run, or is in use.
        ScorerError: the teacher failed, or gave not a single score.
        NothingMeasuredError: there are no candidates to label.
    """
    require_teacher(teacher)
    drawn = Orders(
        orders, teacher.default_window if width is None else width, rule, seed,
        teacher.surface if surface is None else surface,
    )  # fmt: skip
    settings = {
        "purpose": PURPOSE, "teacher": teacher_facts(teacher), "orders": orders,
        "width": drawn.width, "rule": rule, "seed": seed, "surface": drawn.surface,
        "surface_texts": texts_hash(drawn.surface),
    }  # fmt: skip
    with RunFolder.begin(out, settings, _fitting(slates, teacher, drawn.width), part_size) as folder:
        _score_parts(teacher, folder, drawn, engine, progress)
        _merge(folder, seed)
        return label_report(folder)


def _fitting(slates: Iterable[Slate], teacher: Scorer, width: int | None) -> Iterator[Slate]:
    """Pass slates on; refuse one whose windows would be too wide."""
    limit = teacher.max_window
    for slate in slates:
        widest = len(slate) if width is None else min(width, len(slate))
        if limit is not None and widest > limit:
            raise UsageError(
                f"slate {slate.id!r} would be shown {widest} candidates at a time, but "
                f"{teacher.name} takes at most {limit}; set a width up to {limit}"
            )
        yield slate


def _score_parts(
    teacher: Scorer, folder: RunFolder, drawn: Orders, engine: Engine | None,
    progress: Callable[[int, int], None] | None,
) -> None:  # fmt: skip
    if folder.pending() and folder.manifest.pop("outputs", None):  # a part was taken away: merge anew
        manifest.write(folder.path, folder.manifest)
    unseen = tuple(getattr(teacher, "unseen", ()))
    if slates_done(folder) and unseen:
        warnings.warn(
            f"labels of an earlier call stand, and the automatic revision of {teacher.name} does not "
            f"cover {', '.join(unseen)}: if that has changed, the labels are of two teachers",
            LabelWarning,
            stacklevel=3,
        )
    fill(folder, teacher, partial(_ordered_part, drawn), engine=engine, progress=progress)


def _ordered_part(
    drawn: Orders, teacher: Scorer, index: int, slates: list[Slate]
) -> list[tuple[Slate, Plan, list[Scored]]]:
    plans = [drawn.draw(slate) for slate in slates]
    shown = [list(plan.shown(slate)) for slate, plan in zip(slates, plans, strict=True)]
    return list(zip(slates, plans, ask_teacher(teacher, shown), strict=True))


def _merge(folder: RunFolder, seed: int) -> None:
    """Write the labels where they do not stand as the manifest says."""
    path = folder.path / NAME
    if path.exists() and folder.manifest.get("outputs") == {NAME: file_hash(path)}:
        return
    write_labels(folder, seed)
    folder.manifest["outputs"] = {NAME: file_hash(path)}
    folder.manifest["cost"] = _cost(folder)
    manifest.write(folder.path, folder.manifest)


def _cost(folder: RunFolder) -> dict[str, int]:
    totals = {"prompts": 0, "tokens": 0}
    for part, _ in parts_of(folder):
        for name in totals:
            totals[name] += sum(part.column(name).to_pylist())
    return totals


@dataclass(frozen=True, slots=True, eq=False)
class Silver:
    """Labels as training reads them, and how they came to be.

    Attributes:
        labelled: a slate each.
        dropped: ids of the slates left out because a label is missing.
        facts: teacher, orders and scale: what a record of the training should hold.
    """

    labelled: tuple[Labelled, ...]
    dropped: tuple[str, ...]
    facts: dict[str, Any]


def read_labelled(
    path: str | os.PathLike[str], slates: Iterable[Slate] | None = None, *,
    scale: LabelScale | str | None = None, orders: int | None = None, drop_missing: bool = False,
) -> list[Labelled]:  # fmt: skip
    """Return the slates of a run of labels with a label in [0, 1] for every candidate.

    As `read_silver`, without the facts.
    """
    found = read_silver(path, slates, scale=scale, orders=orders, drop_missing=drop_missing)
    return list(found.labelled)


def read_silver(
    path: str | os.PathLike[str], slates: Iterable[Slate] | None = None, *,
    scale: LabelScale | str | None = None, orders: int | None = None, drop_missing: bool = False,
) -> Silver:  # fmt: skip
    """Read labels: the mean over orders, its sd as the doubt.

    Scores become labels first and are averaged then, so that the doubt is in units of
    the label.

    Args:
        path: folder of a run of labels, or a file of labels alone: columns slate,
            candidate, order_seed, score.
        slates: those to train on; None = all of the folder. Each must have labels of
            exactly its candidates, and in a folder the same texts.
        scale: how scores become labels (`scales`), as a text or a `LabelScale`; None
            for a teacher whose scores are in [0, 1] already. A logistic is fitted over
            all scores of these slates.
        orders: only the first so many of each slate; None = all.
        drop_missing: leave out slates that lack a label; else they are refused.

    Raises:
        UsageError: the teacher's scale needs a choice, or an option is wrong.
        InputError: labels are missing, outside [0, 1], or of other slates.
        ResumeError: the folder's labels were changed.
    """
    if orders is not None:
        require_count("orders", orders)
    source = LabelSource(Path(path))
    how = chosen(scale, source.teacher)
    own = source.slates() if slates is None else source.checked(slates)
    lines = LabelLines(source.file)
    scores = [lines.scores(slate, orders) for slate in own]
    how = fitted(how, scores)
    pairs = [over_orders(mapped(how, one)) for one in scores]
    known = [not np.isnan(labels).any() for labels, _ in pairs]
    labelled = [
        Labelled(slate, labels, doubt)
        for slate, (labels, doubt), whole in zip(own, pairs, known, strict=True)
        if whole or not drop_missing
    ]
    dropped = [slate.id for slate, whole in zip(own, known, strict=True) if not whole]
    if dropped and drop_missing:
        warnings.warn(
            f"{len(dropped)} of {len(own)} slates lack a label and are left out: "
            f"{', '.join(map(repr, dropped[:3]))}{', ...' if len(dropped) > 3 else ''}",
            LabelWarning,
            stacklevel=2,
        )
    counts = sorted({len(one) for one in scores if one.size})
    facts = {"teacher": source.teacher, "orders": counts, "scale": how.to_dict()}
    return Silver(tuple(labelled), tuple(dropped), facts)
