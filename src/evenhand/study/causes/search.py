"""One slate's search for its worst order: what is spent, what is tried, what is confirmed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenhand.errors import UsageError
from evenhand.measure.decision import choices
from evenhand.present.orders import Order, canonical, shuffled
from evenhand.seeds import generator, tie_ranks
from evenhand.study.causes.climb import Climb, Evaluate
from evenhand.study.causes.objectives import Reference, Value, most, value_of
from evenhand.study.rows.ask import ask
from evenhand.study.rows.layout import Layout
from evenhand.types import FloatArray, RowKind, Scored, Scorer, Shown, Slate

EXACT = 6
BUDGET = 400
_CHUNK = 64


@dataclass(frozen=True, slots=True)
class Worst:
    """What was found for one slate; the objective's value is 0 where nothing changes.

    Attributes:
        order: canonical indices by presented position. value: the objective there.
        confirmed: its value when the order is scored once more.
        floor: the value between two readings of the canonical presentation.
        random_mean, random_max: over random orders, in an exact search over all.
        orders: tried by the search. random_orders: drawn beside it.
        prompts: all that were spent on the slate, never above the budget.
        exact: all orders were tried. failed: orders that lacked a score.
        threshold: of the retained set, NaN where none is needed.
    """

    slate_id: str
    order: tuple[int, ...]
    value: float
    confirmed: float
    floor: float
    random_mean: float
    random_max: float
    orders: int
    random_orders: int
    prompts: int
    exact: bool
    failed: int
    threshold: float


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is searched for.

    Attributes:
        objective: a key of `objectives.OBJECTIVES`.
        threshold: of the retained set, or NaN.
        candidate: id whose rank is watched; None = the best of the canonical row.
        budget: most prompts a slate; None = as in `worst.worst_order`.
        seed: of all draws.
    """

    objective: str
    threshold: float = math.nan
    candidate: str | None = None
    budget: int | None = None
    seed: int = 0


class Meter:
    """Scores orders of one slate and counts what it costs."""

    def __init__(self, scorer: Scorer, slate: Slate, shape: Layout, spent: Scored) -> None:
        self.scorer, self.slate, self.shape = scorer, slate, shape
        self.prompts = spent.prompts
        # A failed reading may cost nothing; the next one will.
        self.cost = max(spent.prompts, len(shape.present(canonical(len(slate))).windows), 1)
        self._row = 0

    def read(self, orders: Sequence[Order], kind: RowKind = "random") -> list[FloatArray]:
        """Return the (n,) scores of each order."""
        found: list[FloatArray] = []
        for start in range(0, len(orders), _CHUNK):
            shown = []
            for order in orders[start : start + _CHUNK]:
                self._row += 1
                shown.append(Shown(self.slate, self.shape.present(order), self._row, kind))
            for scored in ask(self.scorer, shown):
                self.prompts += scored.prompts
                self.cost = max(self.cost, scored.prompts)
                found.append(scored.scores)
        return found

    def affordable(self, budget: int) -> int:
        """Return how many more orders a budget of prompts pays for."""
        return max(0, (budget - self.prompts) // self.cost)


def search(scorer: Scorer, slate: Slate, shape: Layout, first: Scored, wanted: Wanted) -> Worst:
    """Search one slate for its worst order.

    Args:
        scorer: what is studied. slate: the slate. shape: of every order.
        first: the canonical row, already paid for.
        wanted: what is searched for.

    Returns:
        The worst order found; see `worst.worst_order`.

    Raises:
        UsageError: unknown candidate, or a budget under four presentations.
    """
    n = len(slate)
    known = ~np.isnan(first.scores)
    watched = _watched(slate, first.scores, wanted.candidate)
    meter = Meter(scorer, slate, shape, first)
    allowed, exact = _allowance(n, meter.cost, wanted.budget)
    if known.sum() < 2 or not known[watched]:
        return _nothing(slate, meter, wanted)
    ties = tie_ranks(slate.id, slate.ids)[known]
    reference = Reference(first.scores[known], ties, wanted.threshold, int(known[:watched].sum()))

    def evaluate(orders: Sequence[Order]) -> list[Value]:
        return [value_of(wanted.objective, reference, s[known]) for s in meter.read(orders)]

    base = value_of(wanted.objective, reference, reference.scores)
    if exact:
        found = _enumerated(_nothing(slate, meter, wanted), evaluate, base)
    else:
        # From the worst candidate to the best, those without a score in front.
        ascending = tuple(int(i) for i in np.argsort(np.where(known, first.scores, -np.inf)))
        climb = Climb(
            evaluate, ascending, (canonical(n), base),
            generator(wanted.seed, slate.id, "worst order"), enough=most(wanted.objective, reference),
        )  # fmt: skip
        rng = generator(wanted.seed, slate.id, "random orders")
        orders = meter.affordable(allowed) - 2
        found = _climbed(_nothing(slate, meter, wanted), climb, evaluate, orders, rng)
    (again,) = meter.read([found.order], "repeat")
    (repeat,) = meter.read([canonical(n)], "repeat")
    return replace(
        found,
        confirmed=value_of(wanted.objective, reference, again[known])[0],
        floor=value_of(wanted.objective, reference, repeat[known])[0],
        prompts=meter.prompts,
    )


def _nothing(slate: Slate, meter: Meter, wanted: Wanted) -> Worst:
    nan = math.nan
    return Worst(
        slate.id, canonical(len(slate)), nan, nan, nan, nan, nan, 0, 0, meter.prompts, False, 0,
        wanted.threshold,
    )  # fmt: skip


def _enumerated(empty: Worst, evaluate: Evaluate, base: Value) -> Worst:
    """Try all orders; their mean is that of random ones. The canonical one is known."""
    others = list(itertools.permutations(empty.order))[1:]
    values = [base[0], *(value for value, _ in evaluate(others))]
    best = max(range(len(values)), key=lambda i: (not math.isnan(values[i]), values[i]))
    mean, largest, failed = _spread(values)
    return replace(
        empty, order=[empty.order, *others][best], value=values[best], random_mean=mean,
        random_max=largest, orders=len(values), random_orders=len(values), exact=True, failed=failed,
    )  # fmt: skip


def _climbed(
    empty: Worst, climb: Climb, evaluate: Evaluate, orders: int, rng: np.random.Generator
) -> Worst:
    """Climb with one half of the orders that are paid for, draw random ones with the other."""
    climb.run((orders + 1) // 2)
    drawn = [shuffled(len(empty.order), rng) for _ in range(orders // 2)]
    mean, largest, failed = _spread([value for value, _ in evaluate(drawn)])
    return replace(
        empty, order=climb.best_order, value=climb.best[0], random_mean=mean, random_max=largest,
        orders=climb.tried + 1, random_orders=len(drawn), failed=failed + climb.failed,
    )  # fmt: skip


def _spread(values: Sequence[float]) -> tuple[float, float, int]:
    """Return mean and largest of the defined values, and how many are not."""
    defined = [value for value in values if not math.isnan(value)]
    failed = len(values) - len(defined)
    if not defined:
        return math.nan, math.nan, failed
    return float(np.mean(defined)), max(defined), failed


def _allowance(n: int, cost: int, budget: int | None) -> tuple[int, bool]:
    """Return the prompts that may be spent, and whether they pay for all orders."""
    every = (math.factorial(n) + 2) * cost if n <= EXACT else math.inf
    if budget is None:
        return (int(every), True) if n <= EXACT else (max(BUDGET, 20 * cost), False)
    if budget < 4 * cost:
        raise UsageError(
            f"a budget of {budget} prompts does not pay for four presentations of {cost} prompts: the "
            f"canonical row, another order, its confirmation and the repeat; give at least {4 * cost}"
        )
    return budget, every <= budget


def _watched(slate: Slate, scores: FloatArray, candidate: str | None) -> int:
    if candidate is None:
        known = np.flatnonzero(~np.isnan(scores))
        if not len(known):
            return 0
        ties = tie_ranks(slate.id, slate.ids)[known]
        return int(known[choices(scores[known][None], ties)[0]])
    if candidate not in slate.ids:
        raise UsageError(f"slate {slate.id!r} has no candidate {candidate!r}")
    return slate.ids.index(candidate)
