"""Average over orders (batched self-consistency): K times the cost, steadier scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise

import numpy as np
from scipy.stats import rankdata

from evenhand.errors import UsageError, require_count
from evenhand.remedy.base import (
    Remedied,
    ask_groups,
    merged,
    require_movable,
    require_seed,
    reshown,
    stream,
)
from evenhand.types import FloatArray, Presentation, Scale, Scored, Scorer, Shown

# Reciprocal rank fusion: 1 / (RRF_K + rank), with the constant of its authors.
RRF_K = 60

# Orders are all held at once, and the gain of a thousandth is under a thousandth of the variance.
MOST_ORDERS = 1000

Order = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Average:
    """Scores are means over K orders of the whole slate; see `average`."""

    k: int
    latin: bool = False
    fuse: str = "mean"
    seed: int = 0

    def __post_init__(self) -> None:
        require_count("average: k", self.k)
        if self.k > MOST_ORDERS:
            raise UsageError(
                f"average: k must be at most {MOST_ORDERS}, got {self.k}; the variance falls as 1/K, "
                "and the cost grows as K"
            )
        if not isinstance(self.latin, bool):
            raise UsageError(f"average: latin must be true or false, got {self.latin!r}")
        if self.fuse not in FUSIONS:
            raise UsageError(f"average: unknown fuse {self.fuse!r}; known are {sorted(FUSIONS)}")
        require_seed("average", self.seed)

    @property
    def name(self) -> str:
        """Text that `parse` reads, without the seed."""
        latin = ",latin=true" if self.latin else ""
        fuse = f",fuse={self.fuse}" if self.fuse != "mean" else ""
        return f"average:{self.k}{latin}{fuse}"

    def __call__(self, scorer: Scorer) -> Scorer:
        """Return the averaged scorer."""
        return Averaged(scorer, self)


class Averaged(Remedied):
    """A scorer whose answers are fused over K orders."""

    def __init__(self, inner: Scorer, average: Average) -> None:
        """Wrap a scorer; see `average`."""
        require_movable(inner, average.name)
        super().__init__(inner, average.name, asdict(average))
        self.average = average
        if not inner.order_free:
            self.scale: Scale = SCALES.get(average.fuse, inner.scale)

    def _score(self, shown: Sequence[Shown]) -> list[Scored]:
        groups = [[reshown(one, order) for order in self._orders(one)] for one in shown]
        answers = ask_groups(self.inner, groups)
        return [
            fused(one.presentation, parts, self.average.fuse)
            for one, parts in zip(shown, answers, strict=True)
        ]

    def _orders(self, one: Shown) -> list[Order]:
        own = self.average
        rng = stream(own.seed, one, "average")
        draw = latin_orders if own.latin else random_orders
        return draw(self.cut(one.presentation), own.k, rng)


def average(k: int, latin: bool = False, fuse: str = "mean", seed: int = 0) -> Average:
    """Return the remedy that averages scores over K orders.

    Every row draws its own K orders of the whole slate, whatever the order it was
    handed, and cuts them as the row is cut. Each is uniform over all orders, so a score's
    variance over orders falls to 1/K, and no further. Cost: K times the prompts and tokens.

    A candidate that is missing in any of the K is missing. Grade probabilities and
    label mass are averaged where all K give them; fused ranks carry no grades.

    Args:
        k: orders per row, from 1 to `MOST_ORDERS`.
        latin: balance slots over the K orders, see `latin_orders`; else independent orders.
        fuse: "mean" of the scores, which are places where a scorer gives rankings only; or
            of ranks: "borda" (share of the other candidates beaten, in [0, 1]) or "rrf"
            (reciprocal rank fusion, the mean of 1 / (60 + rank)), both with the mean rank
            for tied candidates.
        seed: of the orders.

    Raises:
        UsageError: an option is out of its range, or (when applied) the scorer is behind
            `sorted`, which would make one order of the K.
    """
    return Average(k, latin, fuse, seed)


def random_orders(presentation: Presentation, k: int, rng: np.random.Generator) -> list[Order]:
    """Return K independent uniform orders of the candidates shown."""
    # From rising indices: the draw must not depend on the order that was handed over.
    shown = np.sort(np.array(presentation.order, dtype=np.int64))
    return [tuple(shown[rng.permutation(len(shown))].tolist()) for _ in range(k)]


def latin_orders(presentation: Presentation, k: int, rng: np.random.Generator) -> list[Order]:
    """Return K orders in which candidates take turns in the slots of their windows.

    The orders come in sets of S <= n (K = 10 over 4 candidates: sets of 4, 4 and 2). For a
    set, the presented positions are sorted by slot and cut into S blocks of neighbours.
    Each candidate stands in every block exactly once over the set when S divides n. When
    it does not, blocks hold floor(n/S) or ceil(n/S) positions, and a candidate stands in
    a block at most twice, once on average. Inside a block places are drawn anew for each
    order, so companions change. Sets are independent; each single order is uniform.
    """
    positions = _by_slot(presentation)
    orders: list[Order] = []
    while len(orders) < k:
        orders += _latin_set(presentation, positions, min(k - len(orders), max(1, len(positions))), rng)
    return orders


def _by_slot(presentation: Presentation) -> list[int]:
    """Return the presented positions, those of the first slots first."""
    position, slot, window = (
        presentation.positions(), presentation.slots(), presentation.window_of(),
    )  # fmt: skip
    shown = sorted(presentation.order, key=lambda i: (slot[i], window[i]))
    return [int(position[i]) for i in shown]


def _latin_set(
    presentation: Presentation, positions: Sequence[int], size: int, rng: np.random.Generator
) -> list[Order]:
    n = len(positions)
    edges = [block * n // size for block in range(size + 1)]
    blocks = [positions[low:high] for low, high in pairwise(edges)]
    # Blocks follow each other in a drawn order, or a candidate would always come after the same ones.
    blocks = [blocks[b] for b in rng.permutation(size)]
    base = np.sort(np.array(presentation.order, dtype=np.int64))[rng.permutation(n)]
    orders = []
    shift = 0
    for own in blocks:
        moved, start, order = np.roll(base, shift), 0, np.zeros(n, dtype=np.int64)
        for block in blocks:
            order[list(block)] = rng.permutation(moved[start : start + len(block)])
            start += len(block)
        orders.append(tuple(order.tolist()))
        shift += len(own)
    return orders


def fused(presentation: Presentation, parts: Sequence[Scored], fuse: str) -> Scored:
    """Return the answers to several orders of one slate as one answer.

    Args:
        presentation: the outer presentation; candidates it does not show have no score.
        parts: one answer per order.
        fuse: a key of `FUSIONS`.
    """
    scores = FUSIONS[fuse](np.array([part.scores for part in parts]))
    grades = [part.grades for part in parts if part.grades is not None]
    masses = [part.label_mass for part in parts if part.label_mass is not None]
    whole = len(parts)
    return merged(
        parts,
        scores,
        grades=np.mean(grades, axis=0) if fuse == "mean" and len(grades) == whole else None,
        label_mass=np.mean(masses, axis=0) if len(masses) == whole else None,
        failure=_failure(presentation, parts),
    )


def _failure(presentation: Presentation, parts: Sequence[Scored]) -> str | None:
    shown = presentation.included()
    broken = [part for part in parts if part.failure is not None or np.isnan(part.scores[shown]).any()]
    if not broken:
        return None
    reason = next((part.failure for part in broken if part.failure is not None), "scores are missing")
    return f"{reason} (in {len(broken)} of {len(parts)} orders)"


def _mean(scores: FloatArray) -> FloatArray:
    """Return the (n,) means of (K, n) scores; NaN where one is."""
    means: FloatArray = scores.mean(axis=0)
    return means


def _ranks(scores: FloatArray) -> FloatArray:
    """Return (K, n) ranks of each order's known scores from 1, the best; ties share their mean."""
    ranks: FloatArray = rankdata(-scores, axis=1, nan_policy="omit")
    return ranks


def _borda(scores: FloatArray) -> FloatArray:
    """Return the (n,) mean share of the other candidates beaten; a lone candidate has 1."""
    known = (~np.isnan(scores)).sum(axis=1, keepdims=True)
    return _mean(
        np.where(known > 1, (known - _ranks(scores)) / np.maximum(1, known - 1), scores * 0 + 1)
    )


def _reciprocal(scores: FloatArray) -> FloatArray:
    """Return the (n,) means of 1 / (60 + rank)."""
    return _mean(1 / (RRF_K + _ranks(scores)))


FUSIONS: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "mean": _mean,
    "borda": _borda,
    "rrf": _reciprocal,
}

# What fused numbers are, where they are not what was fused.
SCALES: Mapping[str, Scale] = {"borda": "unit", "rrf": "raw"}
