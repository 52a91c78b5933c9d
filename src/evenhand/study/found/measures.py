"""The measures of a study, and their values slate by slate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenhand.errors import UsageError
from evenhand.measure.registry import Measure, between, parse, ranking_values
from evenhand.measure.task import Rows
from evenhand.records import Recorded
from evenhand.study.found.tally import HIGH
from evenhand.types import FloatArray

# The F1 of retained sets comes on top, at the grade that thresholds are fitted for.
USUAL: tuple[str, ...] = (
    "tauPSI",
    "tauPSI(ties='strict')",
    "TiedPairs",
    "ExactTies",
    "TopInstability@10",
    "ScoreSpread",
    "RankSpread",
    "Residual",
    "Overlap",
    "OverlapNonEmpty",
    "BothEmpty",
    "SetFlip",
    "Retained",
    "Top1Flip",
    "PairFlip",
    "PairFlip(kind='modal')",
    "FirstSlot",
    "nDCG@10",
    "nDCG@1",
    "AP",
    "RR",
)

# Of slates that ask for the best of a few (`Tally.picks`).
OF_PICKS: tuple[str, ...] = ("CorrectFlip", "Margin", "GoldAccuracy")

# What a design is about stands in its report unasked.
OF_DESIGN: dict[str, tuple[str, ...]] = {
    "membership": (
        "PoolPSI",
        "PoolPSI(kind='replaced')",
        "PoolPSI(kind='dropped')",
        "TopSetFlip@10",
        "RetainedDelta",
    ),
}

_RANKING = ("nDCG", "AP", "RR", "P", "R")
# What reads scores as numbers, by head: sets cut at a number, and differences of scores.
BY_VALUE = frozenset(
    {
        "Margin",
        "ScoreSpread",
        "Residual",
        "Overlap",
        "OverlapNonEmpty",
        "BothEmpty",
        "SetFlip",
        "Retained",
        "RetainedDelta",
        "F1",
    }
)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The measures of a study by what they are about.

    Attributes:
        stability, decisions: of the random rows. floored: those of them that say
            how far two rows agree, and so have a noise floor.
        ranking: quality of the ranking. sets: quality of the retained set.
    """

    stability: tuple[Measure, ...]
    decisions: tuple[Measure, ...]
    floored: tuple[Measure, ...]
    ranking: tuple[Measure, ...]
    sets: tuple[Measure, ...]

    @property
    def quality(self) -> tuple[Measure, ...]:
        """All measures of quality."""
        return self.ranking + self.sets


def choose(
    names: Sequence[str] | None = None,
    min_grade: int = 1,
    *,
    order_only: bool = False,
    design: str = "",
    picks: bool = False,
) -> Chosen:
    """Return the usual measures and those asked for besides.

    Args:
        names: further measures, in the grammar of `measure.registry`.
        min_grade: lowest grade that counts as relevant in the F1 of retained sets.
        order_only: of the usual ones, leave out those that read scores as numbers.
        design: its own measures join the usual ones (`OF_DESIGN`).
        picks: so do those of a pick that is right or wrong (`OF_PICKS`).

    Raises:
        UsageError: a name is no measure; the known ones are listed.
    """
    if isinstance(names, str):
        raise UsageError(f"measures must be a list of names, got the string {names!r}")
    further = (*OF_DESIGN.get(design, ()), *(OF_PICKS if picks else ()), f"F1(rel={min_grade})")
    usual = [parse(name) for name in (*USUAL, *further)]
    if order_only:
        usual = [one for one in usual if one.head not in BY_VALUE]
    every = list(dict.fromkeys([*usual, *(parse(name) for name in names or ())]))
    stability = tuple(one for one in every if one.kind == "stability")
    decisions = tuple(one for one in every if one.kind == "decision")
    quality = [one for one in every if one.kind == "quality"]
    return Chosen(
        stability,
        decisions,
        tuple(one for one in stability + decisions if one.entry.stable is not None),
        tuple(one for one in quality if one.head in _RANKING),
        tuple(one for one in quality if one.head not in _RANKING),
    )


@dataclass(frozen=True, slots=True)
class Values:
    """Values by measure name, one per slate in slate order; NaN = undefined."""

    stability: dict[str, FloatArray]
    decisions: dict[str, FloatArray]
    floor: dict[str, FloatArray]
    served: dict[str, FloatArray]
    shuffled: dict[str, FloatArray]


def measure_batch(chosen: Chosen, records: Sequence[Recorded], thresholds: FloatArray) -> Values:
    """Return all values of some slates.

    Args:
        chosen: the measures.
        records: of the slates.
        thresholds: (slates,) the threshold of each.
    """
    return Values(
        _by_slate(chosen.stability, records, thresholds),
        _by_slate(chosen.decisions, records, thresholds),
        {
            str(one): np.array(
                [
                    between(one, record.matrix, record.slate, threshold)
                    for record, threshold in zip(records, thresholds, strict=True)
                ]
            )
            for one in chosen.floored
        },
        _quality(chosen, records, thresholds, "served"),
        _quality(chosen, records, thresholds, "shuffled"),
    )


def _by_slate(
    measures: Iterable[Measure],
    records: Sequence[Recorded],
    thresholds: FloatArray,
    rows: Rows = "served",
) -> dict[str, FloatArray]:
    return {
        str(one): np.array(
            [
                one(record.matrix, record.slate, threshold, rows=rows)
                for record, threshold in zip(records, thresholds, strict=True)
            ]
        )
        for one in measures
    }


def _quality(
    chosen: Chosen, records: Sequence[Recorded], thresholds: FloatArray, rows: Rows
) -> dict[str, FloatArray]:
    matrices = [record.matrix for record in records]
    slates = [record.slate for record in records]
    ranking = ranking_values(list(chosen.ranking), matrices, slates, rows)
    found = {str(one): values for one, values in ranking.items()}
    return {**found, **_by_slate(chosen.sets, records, thresholds, rows)}


def with_high(values: Values, records: Sequence[Recorded], thresholds: FloatArray) -> Values:
    """Return values with those of sets that were cut for the high grades.

    Args:
        values: of the same slates.
        records: of the slates.
        thresholds: (slates,) the threshold of each, fitted for grade `HIGH`.
    """
    f1, overlap = (parse(f"F1(rel={HIGH})"),), (parse("Overlap"),)
    [found] = _by_slate(overlap, records, thresholds).values()
    return replace(
        values,
        decisions={**values.decisions, f"Overlap(rel={HIGH})": found},
        served={**values.served, **_by_slate(f1, records, thresholds, "served")},
        shuffled={**values.shuffled, **_by_slate(f1, records, thresholds, "shuffled")},
    )


def join(batches: Sequence[Values]) -> Values:
    """Return the values of all batches, one after the other."""

    def joined(part: str) -> dict[str, FloatArray]:
        first: dict[str, FloatArray] = getattr(batches[0], part)
        return {
            name: np.concatenate([getattr(batch, part)[name] for batch in batches]) for name in first
        }

    return Values(*(joined(name) for name in ("stability", "decisions", "floor", "served", "shuffled")))
