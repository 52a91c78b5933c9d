"""Which channel moves a scorer's scores: the crossed design over slates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.errors import NothingMeasuredError, UsageError
from evenhand.measure.checks import came, integer, whole
from evenhand.measure.crossed import Components, Decomposed, components, pooled
from evenhand.measure.variance import NestedFit, nested_fit
from evenhand.present.crossed import CrossedDesign
from evenhand.present.surface import texts_hash
from evenhand.records import RunFolder
from evenhand.study.analysis import Cost
from evenhand.study.plain import plain
from evenhand.study.rows.ask import ask
from evenhand.study.rows.failures import Failures
from evenhand.study.rows.given import require_scorer, require_width, slates_of
from evenhand.study.rows.layout import layout
from evenhand.study.rows.run import Progress, describe
from evenhand.types import FloatArray, Plan, Scored, Scorer, Slate, Surface


@dataclass(frozen=True, slots=True)
class Decomposition:
    """The channels of a scorer's movement, over slates.

    Attributes:
        scorer: what identifies it. settings: of the design.
        slate_ids: in the order given. per_slate: components of each.
        crossed: components and shares over slates, with intervals.
        nested: the nested estimate, a different one, from the first inner order
            of each partition: rows drawn independently, as it wants them.
        one_window: slates that fit into one window; companions cannot vary there.
        missing: scores that did not come, of `scores` asked for.
        cost: prompts and tokens per slate, all presentations together.
    """

    scorer: Mapping[str, Any]
    settings: Mapping[str, Any]
    slate_ids: tuple[str, ...]
    per_slate: tuple[Components, ...]
    crossed: Decomposed
    nested: NestedFit
    one_window: int
    missing: int
    scores: int
    cost: Cost

    def to_dict(self) -> dict[str, Any]:
        """Return the decomposition as JSON values; undefined is null."""
        found: dict[str, Any] = plain(self)
        found["nested"]["shares"] = plain(self.nested.shares())
        found["nested"]["raw_shares"] = plain(self.nested.shares(corrected=False))
        return found


def decompose(
    scorer: Scorer,
    slates: Iterable[Slate],
    *,
    partitions: int = 5,
    orders: int = 3,
    width: int | None = None,
    rule: str = "contiguous",
    seed: int = 0,
    surface: Surface | None = None,
    part_size: int = 16,
    progress: Progress | None = None,
) -> Decomposition:
    """Split the variance of a scorer's scores into companions, inner order and noise.

    Every presentation is scored, of an order-free scorer too: its word is not
    taken. The second reading of each goes to the scorer in a call of its own and in
    reverse order, so that it falls in other batches than the first.

    Args:
        scorer: what is studied.
        slates: the input, ids unique.
        partitions: C. orders: R, inner orders of each partition.
        width: B; None = the scorer's default.
        rule: window rule. seed: of the draws and the bootstrap.
        surface: None = the scorer's own.
        part_size: slates scored in one call.
        progress: called with (slates done, slates in all).

    Raises:
        UsageError: the scorer cannot show the design, or a number is out of range.
        NothingMeasuredError: no slate gave components.
        ScorerError: the scorer failed, gave something that is no scores, or no score at
            all; its first failure is quoted.
    """
    require_scorer(scorer)
    found = slates_of(slates)
    _check_numbers(partitions, orders, width, seed, part_size)
    design = CrossedDesign(partitions, orders, width, rule, seed)
    shape = layout(scorer, found, width=width, rule=rule, surface=surface, channels=design.channels)
    design = CrossedDesign(partitions, orders, shape.width, rule, seed, shape.surface)
    parts: list[Components] = []
    rows: list[tuple[FloatArray, FloatArray, FloatArray]] = []
    tally = {"prompts": 0, "tokens": 0, "missing": 0, "scores": 0}
    failures = Failures(scorer.name)
    for start in range(0, len(found), part_size):
        part = found[start : start + part_size]
        for slate, plan, scored in _scored(scorer, part, design):
            scores = np.array([one.scores for one in scored]).reshape(len(plan), len(slate))
            parts.append(components(design.arrange(scores)))
            rows.append(_independent(design, plan, scores))
            _count(tally, scores, scored)
            failures.add_all(scored)
        if progress is not None:
            progress(start + len(part), len(found))
    failures.require_a_score()
    if all(np.isnan(one.total) for one in parts):
        raise NothingMeasuredError("no slate has a candidate that was scored in every presentation")
    return Decomposition(
        scorer=describe(scorer),
        settings={
            "design": design.name, "partitions": partitions, "orders": orders, "repeats": 2,
            "width": design.width, "rule": rule, "seed": seed,
            "surface": design.surface, "surface_texts": texts_hash(design.surface),
        },
        slate_ids=tuple(slate.id for slate in found),
        per_slate=tuple(parts),
        crossed=pooled(parts, seed=seed),
        nested=nested_fit(rows),
        one_window=sum(len(slate) <= (design.width or len(slate)) for slate in found),
        missing=tally["missing"],
        scores=tally["scores"],
        cost=Cost(tally["prompts"] / len(found), tally["tokens"] / len(found)),
    )  # fmt: skip


def _check_numbers(partitions: int, orders: int, width: int | None, seed: int, part_size: int) -> None:
    whole("partitions", partitions, 2)
    whole("orders", orders, 2)
    require_width(width)
    integer("seed", seed)
    whole("part_size", part_size)


def nested_from_run(folder: RunFolder) -> NestedFit:
    """Return the nested fit of a run's random rows, slot and window effects shared by its slates.

    Args:
        folder: a finished run.

    Raises:
        UsageError: something else than a RunFolder.
        ResumeError: the run is not finished, or a file is damaged.
    """
    if not isinstance(folder, RunFolder):
        raise UsageError(f"a run folder is needed, got {came(folder)}; open one with RunFolder.open")
    rows = []
    for record in folder.recorded():
        shown = record.matrix.random_presentations
        shape = record.matrix.random.shape
        slots = np.array([one.slots() for one in shown], dtype=np.int64).reshape(shape)
        windows = np.array([one.window_of() for one in shown], dtype=np.int64).reshape(shape)
        rows.append((record.matrix.random, slots, windows))
    return nested_fit(rows)


def _scored(
    scorer: Scorer, slates: Sequence[Slate], design: CrossedDesign
) -> list[tuple[Slate, Plan, list[Scored]]]:
    plans = [design.draw(slate) for slate in slates]
    shown = [one for slate, plan in zip(slates, plans, strict=True) for one in plan.shown(slate)]
    first = [one for one in shown if one.kind != "repeat"]
    second = [one for one in reversed(shown) if one.kind == "repeat"]
    answers = {
        (one.slate.id, one.row): scored
        for group in (first, second)
        for one, scored in zip(group, ask(scorer, group), strict=True)
    }
    return [
        (slate, plan, [answers[slate.id, row] for row in range(len(plan))])
        for slate, plan in zip(slates, plans, strict=True)
    ]


def _independent(
    design: CrossedDesign, plan: Plan, scores: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return scores, slots and windows of the first reading of each partition's first order."""
    step = design.rows // design.partitions
    shown = plan.presentations[::step]
    slots = np.array([one.slots() for one in shown], dtype=np.float64)
    windows = np.array([one.window_of() for one in shown], dtype=np.float64)
    return scores[::step], slots, windows


def _count(tally: dict[str, int], scores: FloatArray, scored: Sequence[Scored]) -> None:
    tally["prompts"] += sum(one.prompts for one in scored)
    tally["tokens"] += sum(one.tokens for one in scored)
    tally["missing"] += int(np.isnan(scores).sum())
    tally["scores"] += scores.size
