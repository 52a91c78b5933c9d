"""What being shown with others does to a score: slot, length and content told apart.

Each candidate is read in four ways that differ by one thing each:

- ``alone``: the only candidate of its prompt.
- ``slot``: at its canonical slot, every other slot of its window holding `FILLER`.
- ``unrelated``: the same, the other slots holding candidates of other slates, each
  about as long as the real companion that stands there.
- ``real``: with its real companions, the canonical presentation.

So the step alone -> slot is what the place in a form of that many lines does, slot
-> unrelated what the length of the prompt does, unrelated -> real what it means
that the companions are about the query and of this slate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evenhand.errors import NothingMeasuredError, UsageError
from evenhand.measure.checks import floats, integer, whole
from evenhand.measure.order import kendall_distance
from evenhand.measure.stats import estimate
from evenhand.present.orders import canonical
from evenhand.present.surface import texts_hash
from evenhand.study.analysis import Cost
from evenhand.study.causes.donors import FILLER, Donors, filled
from evenhand.study.plain import plain
from evenhand.study.rows.ask import ask
from evenhand.study.rows.failures import Failures
from evenhand.study.rows.given import require_scorer, require_width, slates_of
from evenhand.study.rows.layout import Layout, layout
from evenhand.study.rows.run import Progress, describe
from evenhand.types import Estimate, FloatArray, Presentation, Scored, Scorer, Shown, Slate, Surface

__all__ = ["CONDITIONS", "FILLER", "STEPS", "Width", "contrast", "require_width_effect", "width_effect"]

CONDITIONS = ("alone", "slot", "unrelated", "real")
STEPS: Mapping[str, tuple[str, str]] = {
    "slot": ("alone", "slot"),
    "length": ("slot", "unrelated"),
    "content": ("unrelated", "real"),
    "all": ("alone", "real"),
}


@dataclass(frozen=True, slots=True)
class Contrast:
    """How far two readings of the same candidates differ, over slates.

    Attributes:
        difference: mean absolute difference of a candidate's two scores.
        kendall: Kendall distance of the two rankings.
        correlation: Pearson's, between the two scores of the candidates.
    """

    difference: Estimate
    kendall: Estimate
    correlation: Estimate


@dataclass(frozen=True, slots=True)
class Width:
    """The width decomposition of a scorer.

    Attributes:
        steps: by name, what the change of one thing does (`STEPS`; "all" is the
            whole way from alone to the real companions).
        to_alone: by condition, how far it is from each candidate alone.
        scores: by condition, (n,) canonical scores of each slate.
        length_ratio: mean length of a stand-in over that of the companion it
            replaces; 1 when they match.
        missing: scores that did not come.
    """

    scorer: Mapping[str, Any]
    settings: Mapping[str, Any]
    slate_ids: tuple[str, ...]
    steps: Mapping[str, Contrast]
    to_alone: Mapping[str, Contrast]
    scores: Mapping[str, tuple[FloatArray, ...]]
    length_ratio: float
    missing: int
    cost: Cost

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values; undefined is null."""
        found: dict[str, Any] = plain(self)
        return found


def contrast(a: ArrayLike, b: ArrayLike) -> tuple[float, float, float]:
    """Return mean absolute difference, Kendall distance and correlation of two readings.

    Args:
        a: (n,) scores, NaN = missing.
        b: (n,) scores of the same candidates. A candidate that either lacks is
            left out.

    Returns:
        Difference: 0 upwards, in units of the score; NaN without candidates.
        Kendall distance: 0 to 1; NaN with fewer than 2. Correlation: -1 to 1; NaN
        with fewer than 2, or when either reading is constant.

    Raises:
        UsageError: they are no (n,) numbers of the same candidates.
    """
    first, second = floats("scores", a), floats("scores", b)
    if first.ndim != 1 or first.shape != second.shape:
        raise UsageError(
            f"two readings of the same candidates are needed, got {first.shape} and {second.shape}"
        )
    known = ~(np.isnan(first) | np.isnan(second))
    first, second = first[known], second[known]
    if not len(first):
        return float("nan"), float("nan"), float("nan")
    difference = float(np.abs(first - second).mean())
    if len(first) < 2:
        return difference, float("nan"), float("nan")
    still = np.ptp(first) == 0 or np.ptp(second) == 0
    correlation = float("nan") if still else float(np.corrcoef(first, second)[0, 1])
    return difference, kendall_distance(first, second), correlation


def require_width_effect(
    scorer: Scorer,
    slates: Sequence[Slate],
    *,
    width: int | None = None,
    rule: str = "contiguous",
    seed: int = 0,
    surface: Surface | None = None,
) -> Layout:
    """Return the layout of a `width_effect`, after checking all that could be wrong with it.

    Args:
        scorer, slates, width, rule, seed, surface: as in `width_effect`.

    Raises:
        UsageError: something is of the wrong kind, the scorer cannot show the windows, or
            the other slates do not hold enough candidates to stand in.
        InputError: two slates have one id.
    """
    require_scorer(scorer)
    require_width(width)
    found, seed = slates_of(slates), integer("seed", seed)
    shape = layout(
        scorer, found, width=width, rule=rule, surface=surface,
        channels=frozenset({"companions", "window"}),
    )  # fmt: skip
    widths = [len(slate) if shape.width is None else min(shape.width, len(slate)) for slate in found]
    Donors(found, seed).require_enough(found, widths)
    return shape


def width_effect(
    scorer: Scorer,
    slates: Iterable[Slate],
    *,
    width: int | None = None,
    rule: str = "contiguous",
    seed: int = 0,
    surface: Surface | None = None,
    part_size: int = 4,
    progress: Progress | None = None,
) -> Width:
    """Read each candidate in the four ways of the module, and compare them.

    It costs about three prompts per candidate, one for each of `alone`, `slot` and
    `unrelated`, beside the windows of `real`.

    Args:
        scorer: what is studied.
        slates: at least two, ids unique; they lend each other candidates.
        width: B; None = the scorer's default.
        rule: window rule. seed: of the stand-ins and the bootstrap.
        surface: None = the scorer's own.
        part_size: slates scored in one call.
        progress: called with (slates done, slates in all).

    Raises:
        UsageError: as `require_width_effect`; nothing has been scored then.
        NothingMeasuredError: no slate has a candidate scored both alone and in company.
        ScorerError: the scorer failed, gave something that is no scores, or no score at
            all; its first failure is quoted.
    """
    found, part_size = slates_of(slates), whole("part_size", part_size)
    shape = require_width_effect(scorer, found, width=width, rule=rule, seed=seed, surface=surface)
    donors, failures = Donors(found, seed), Failures(scorer.name)
    scores: dict[str, list[FloatArray]] = {name: [] for name in CONDITIONS}
    prompts = tokens = 0
    for start in range(0, len(found), part_size):
        part = found[start : start + part_size]
        for name, readings, cost, reasons in _read(scorer, part, shape, donors):
            scores[name] += readings
            failures.add(np.concatenate(readings), reasons)
            prompts, tokens = prompts + cost[0], tokens + cost[1]
        if progress is not None:
            progress(start + len(part), len(found))
    failures.require_a_score()
    steps = {name: _contrast(scores[a], scores[b], seed) for name, (a, b) in STEPS.items()}
    if not steps["all"].difference.n:
        raise NothingMeasuredError("no candidate has a score both alone and with its companions")
    settings = {
        "width": shape.width, "rule": rule, "seed": seed, "surface": shape.surface,
        "surface_texts": texts_hash(shape.surface), "filler": FILLER,
    }  # fmt: skip
    return Width(
        describe(scorer),
        settings,
        tuple(slate.id for slate in found),
        steps,
        {name: _contrast(scores["alone"], scores[name], seed) for name in CONDITIONS[1:]},
        {name: tuple(values) for name, values in scores.items()},
        donors.length_ratio,
        int(sum(np.isnan(one).sum() for values in scores.values() for one in values)),
        Cost(prompts / len(found), tokens / len(found)),
    )


def _contrast(first: Sequence[FloatArray], second: Sequence[FloatArray], seed: int) -> Contrast:
    values = np.array([contrast(a, b) for a, b in zip(first, second, strict=True)]).reshape(-1, 3)
    return Contrast(*(estimate(column, seed=seed) for column in values.T))


def _read(
    scorer: Scorer, slates: Sequence[Slate], shape: Layout, donors: Donors
) -> list[tuple[str, list[FloatArray], tuple[int, int], list[str | None]]]:
    """Return, by condition, (n,) scores of each slate, prompts and tokens spent, and failures."""
    apart = Layout(1, "contiguous", shape.surface)
    whole = [
        ("alone", [Shown(one, apart.present(canonical(len(one)))) for one in slates]),
        ("real", [Shown(one, shape.present(canonical(len(one)))) for one in slates]),
    ]
    results = []
    for name, shown in whole:
        scored = ask(scorer, shown)
        results.append((name, [one.scores for one in scored], _cost(scored), _reasons(scored)))
    others: list[tuple[str, Callable[..., Slate]]] = [("slot", filled), ("unrelated", donors.unrelated)]
    for name, companions in others:
        shown, places = [], []
        for number, slate in enumerate(slates):
            for window in shape.present(canonical(len(slate))).windows:
                for slot in range(len(window)):
                    shown.append(_shown(companions(slate, window, slot), shape.surface))
                    places.append((number, window[slot], slot))
        scored = ask(scorer, shown)
        read = [np.full(len(slate), np.nan) for slate in slates]
        for (number, candidate, slot), one in zip(places, scored, strict=True):
            read[number][candidate] = one.scores[slot]
        results.append((name, read, _cost(scored), _reasons(scored)))
    return results


def _shown(slate: Slate, surface: Surface) -> Shown:
    order = canonical(len(slate))
    return Shown(slate, Presentation(order, (order,), surface))


def _reasons(scored: Sequence[Scored]) -> list[str | None]:
    return [one.failure for one in scored]


def _cost(scored: Sequence[Scored]) -> tuple[int, int]:
    return sum(one.prompts for one in scored), sum(one.tokens for one in scored)
