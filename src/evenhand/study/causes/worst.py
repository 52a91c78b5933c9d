"""The worst case: the order of a slate that changes its decision most.

A mean over random orders says what usually happens; whoever can choose the order
gets more. The search is a lower bound of what they get; up to `EXACT` candidates
all orders are scored and the bound is the truth. The largest of many noisy
values is partly noise, so the order found is scored once more, and that second
value (`confirmed`) and the canonical row's own (`floor`) stand beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.decide.threshold import check_threshold, cross_fit, relevant
from evenhand.errors import NothingMeasuredError, UsageError
from evenhand.measure.checks import came, finite, integer, known_names, whole
from evenhand.measure.stats import estimate
from evenhand.present.orders import canonical
from evenhand.present.surface import texts_hash
from evenhand.study.causes.objectives import require_objective
from evenhand.study.causes.search import Wanted, Worst, search
from evenhand.study.plain import plain
from evenhand.study.rows.ask import ask
from evenhand.study.rows.failures import Failures
from evenhand.study.rows.given import require_scorer, require_width, slates_of
from evenhand.study.rows.layout import layout
from evenhand.study.rows.run import Progress, describe
from evenhand.types import Estimate, Scored, Scorer, Shown, Slate, Surface

_CHUNK = 64


@dataclass(frozen=True, slots=True)
class WorstCases:
    """Worst cases over slates.

    Attributes:
        value, confirmed, floor, random_mean: means over slates with intervals.
        exact: slates whose worst order is known for certain.
        prompts: spent on all slates together.
    """

    scorer: Mapping[str, Any]
    settings: Mapping[str, Any]
    slates: tuple[Worst, ...]
    value: Estimate
    confirmed: Estimate
    floor: Estimate
    random_mean: Estimate
    exact: int
    prompts: int

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values; undefined is null."""
        found: dict[str, Any] = plain(self)
        return found


def worst_order(
    scorer: Scorer,
    slate: Slate,
    *,
    objective: str = "overlap",
    threshold: float | None = None,
    candidate: str | None = None,
    budget: int | None = None,
    width: int | None = None,
    rule: str = "contiguous",
    surface: Surface | None = None,
    seed: int = 0,
) -> Worst:
    """Search one slate for the order that changes the decision most.

    Args:
        scorer: what is studied.
        slate: the slate.
        objective: "overlap", "kendall", "rank_drop" or "top1"; see `objectives.value_of`.
        threshold: of the retained set; "overlap" needs it.
        candidate: id whose rank is watched; None = the best of the canonical row.
        budget: most prompts to spend on the slate. Three presentations are for the
            canonical row, its repeat and the confirmation; the rest goes in equal
            parts to the search and to random orders, unless all orders can be
            scored instead. None = all orders up to `EXACT` candidates, else `BUDGET`.
            A scorer whose price varies by order may overdraw it by one call.
        width: B; None = the scorer's default.
        rule: window rule. surface: None = the scorer's own. seed: of all draws.

    Returns:
        The worst order found; values are NaN with fewer than 2 scored candidates, and
        where the one that is watched has no score in the canonical row.

    Raises:
        UsageError: unknown objective or candidate, no threshold where one is
            needed, something of the wrong kind, or a budget under four presentations.
        ScorerError: the scorer failed, gave something that is no scores, or no score
            for the canonical row; its failure is quoted.
    """
    _check(scorer, objective, threshold, budget, width, seed)
    slates_of([slate])
    if candidate is not None:
        known_names("candidate", [candidate], slate.ids, f"candidate of slate {slate.id!r}")
    if objective == "overlap" and threshold is None:
        raise UsageError('objective "overlap" needs a threshold; worst_orders fits one over slates')
    shape = layout(
        scorer, [slate], width=width, rule=rule, surface=surface, channels=frozenset({"order"})
    )
    (first,) = ask(scorer, [Shown(slate, shape.present(canonical(len(slate))))])
    _require_a_score(scorer, [first])
    cut = math.nan if threshold is None else threshold
    return search(scorer, slate, shape, first, Wanted(objective, cut, candidate, budget, seed))


def worst_orders(
    scorer: Scorer,
    slates: Iterable[Slate],
    *,
    objective: str = "overlap",
    threshold: float | None = None,
    candidates: Mapping[str, str] | None = None,
    budget: int | None = None,
    width: int | None = None,
    rule: str = "contiguous",
    surface: Surface | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> WorstCases:
    """Search every slate for the order that changes its decision most.

    Args:
        scorer, objective, width, rule, surface, seed: as in `worst_order`.
        slates: the input, ids unique.
        threshold: of the retained sets; None = fitted on the canonical rows as in
            an audit, where the objective needs one.
        candidates: slate id to the id of the candidate watched there.
        budget: of each slate, as in `worst_order`.
        progress: called with (slates done, slates in all).

    Raises:
        UsageError: as `worst_order`; `candidates` names a slate or a candidate that is
            not there.
        NothingMeasuredError: no slate has two candidates with scores.
        ScorerError: the scorer failed, gave something that is no scores, or no score at
            all; its first failure is quoted.
    """
    _check(scorer, objective, threshold, budget, width, seed)
    found = slates_of(slates)
    watch = _watched(candidates, found)
    shape = layout(
        scorer, found, width=width, rule=rule, surface=surface, channels=frozenset({"order"})
    )
    firsts: list[Scored] = []
    for start in range(0, len(found), _CHUNK):
        part = found[start : start + _CHUNK]
        firsts += ask(scorer, [Shown(one, shape.present(canonical(len(one)))) for one in part])
    _require_a_score(scorer, firsts)
    cuts = _thresholds(objective, threshold, found, firsts)
    worst = []
    for done, (slate, first, cut) in enumerate(zip(found, firsts, cuts, strict=True), 1):
        wanted = Wanted(objective, cut, watch.get(slate.id), budget, seed)
        worst.append(search(scorer, slate, shape, first, wanted))
        if progress is not None:
            progress(done, len(found))
    settings = {
        "objective": objective, "budget": budget, "width": shape.width, "rule": rule,
        "seed": seed, "surface": shape.surface, "surface_texts": texts_hash(shape.surface),
    }  # fmt: skip
    return _gathered(describe(scorer), settings, worst, seed)


def _check(
    scorer: Scorer,
    objective: str,
    threshold: float | None,
    budget: int | None,
    width: int | None,
    seed: int,
) -> None:
    require_scorer(scorer)
    require_objective(objective)
    if threshold is not None:
        finite("threshold", threshold)
    if budget is not None:
        whole("budget", budget)
    require_width(width)
    integer("seed", seed)


def _watched(candidates: Mapping[str, str] | None, slates: Sequence[Slate]) -> Mapping[str, str]:
    """Return the watched candidate by slate id, all of them known."""
    if candidates is None:
        return {}
    if not isinstance(candidates, Mapping):
        raise UsageError(f"candidates maps slate ids to candidate ids, got {came(candidates)}")
    known = {slate.id: slate.ids for slate in slates}
    known_names("candidates", candidates, known, "slate")
    for slate_id, candidate in candidates.items():
        known_names("candidates", [candidate], known[slate_id], f"candidate of slate {slate_id!r}")
    return candidates


def _require_a_score(scorer: Scorer, scored: Sequence[Scored]) -> None:
    failures = Failures(scorer.name)
    failures.add_all(scored)
    failures.require_a_score()


def _gathered(
    scorer: Mapping[str, Any], settings: Mapping[str, Any], worst: Sequence[Worst], seed: int
) -> WorstCases:
    estimates = {
        name: estimate([getattr(one, name) for one in worst], seed=seed)
        for name in ("value", "confirmed", "floor", "random_mean")
    }
    if not estimates["value"].n:
        raise NothingMeasuredError("no slate has two candidates with scores, so no order can be worse")
    exact, prompts = sum(one.exact for one in worst), sum(one.prompts for one in worst)
    return WorstCases(scorer, settings, tuple(worst), **estimates, exact=exact, prompts=prompts)


def _thresholds(
    objective: str, threshold: float | None, slates: Sequence[Slate], firsts: Sequence[Scored]
) -> Sequence[float]:
    scores, relevance = [one.scores for one in firsts], [relevant(slate) for slate in slates]
    if threshold is not None:
        return [check_threshold(threshold, scores)] * len(slates)
    if objective != "overlap":
        return [math.nan] * len(slates)
    fit = cross_fit([slate.id for slate in slates], scores, relevance)
    return [float(cut) for cut in fit.thresholds]
