"""The lines of a comparison: which measures, on which rows, and each system's values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.errors import UsageError
from evenhand.measure.checks import listed, of_kind
from evenhand.measure.registry import Measure, parse
from evenhand.study.against.contenders import Contender, Run
from evenhand.study.analysis import Analysis
from evenhand.study.found.analyse import analyse
from evenhand.study.found.measures import BY_VALUE
from evenhand.types import BoolArray, FloatArray

USUAL = ("tauPSI", "Overlap", "PairFlip", "nDCG@10")

_ROWS = re.compile(r",\s*(served|shuffled)\s*$")


@dataclass(frozen=True, slots=True)
class Line:
    """A measure of a comparison.

    Attributes:
        measure: what is computed. shuffled: quality over the random rows, not served.
    """

    measure: Measure
    shuffled: bool = False

    @property
    def key(self) -> str:
        """Its name among the values of an analysis."""
        return f"{self.measure}, shuffled" if self.shuffled else str(self.measure)

    @property
    def label(self) -> str:
        """Its name in a table: quality says of which rows it is."""
        served = self.measure.kind == "quality" and not self.shuffled
        return f"{self.measure}, served" if served else self.key


def choose_lines(names: Sequence[str] | None = None) -> tuple[Line, ...]:
    """Return the lines of a comparison.

    Args:
        names: measures in the grammar of `measure.registry`; quality gives a line
            served and one shuffled, unless the name ends in ", served" or
            ", shuffled". None = USUAL.

    Raises:
        UsageError: a name is no measure, or rows are named of what is not quality.
    """
    if names is not None:
        names = listed("measures", names, "names")
        of_kind("measures", names, str)
    found: list[Line] = []
    for name in USUAL if names is None else names:
        rows = _ROWS.search(name)
        measure = parse(_ROWS.sub("", name))
        if rows and measure.kind != "quality":
            raise UsageError(
                f"{measure} is of the random rows alone; write it without {rows.group()!r}"
            )
        wanted = [rows.group(1)] if rows else ["served"]
        if measure.kind == "quality" and not rows:
            wanted = ["served", "shuffled"]
        found += [Line(measure, which == "shuffled") for which in wanted]
    if not found:
        raise UsageError("no measures to compare; name some, or leave them out for the usual ones")
    return tuple(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class Studied:
    """A system with everything that is known of its runs.

    Attributes:
        contender: its name and runs.
        analyses: by collection, then by seed.
        incomplete: by collection, (seeds, slates) whether any score of a slate is missing.
    """

    contender: Contender
    analyses: tuple[tuple[Analysis, ...], ...]
    incomplete: tuple[BoolArray, ...]

    def values(self, line: Line, collection: int, order: Sequence[str]) -> FloatArray:
        """Return (seeds, slates) values on a collection, slates in a given order."""
        found = []
        for analysis in self.analyses[collection]:
            place = {key: at for at, key in enumerate(analysis.slate_ids)}
            found.append(analysis.per_slate[line.key][[place[key] for key in order]])
        return np.array(found, dtype=np.float64)

    def lacking(self, collection: int, order: Sequence[str]) -> BoolArray:
        """Return (slates,) whether any score of any seed is missing, slates in a given order."""
        flags = []
        seeds = zip(self.analyses[collection], self.incomplete[collection], strict=True)
        for analysis, row in seeds:
            place = {key: at for at, key in enumerate(analysis.slate_ids)}
            flags.append(row[[place[key] for key in order]])
        return np.asarray(np.any(flags, axis=0), dtype=bool)

    def floor(self, line: Line) -> float:
        """Return the noise floor: how far the same presentation scored twice is from agreement.

        The mean over runs; NaN where the measure has none.
        """
        stable = line.measure.entry.stable
        if stable is None:
            return math.nan
        found = [
            abs(analysis.floor[line.key].mean - stable)
            for analysis in self.every()
            if line.key in analysis.floor
        ]
        known = [value for value in found if not math.isnan(value)]
        return sum(known) / len(known) if known else math.nan

    @property
    def by_construction(self) -> bool:
        """Whether a scorer of its runs is stable by construction."""
        return self._declares("by_construction")

    @property
    def order_only(self) -> bool:
        """Whether the scores of a run are places in a ranking."""
        return self._declares("order_only")

    def _declares(self, fact: str) -> bool:
        runs = (run for group in self.contender.runs for run in group)
        return any(run.folder.settings.get("scorer", {}).get(fact) for run in runs)

    def compares(self, line: Line, *, named: bool = False) -> bool:
        """Return whether the system may be compared by a measure.

        Agreement of a scorer that is stable by construction is no merit to compare, and
        a set cut at a place of a ranking is none that a threshold keeps.

        Args:
            line: the measure.
            named: it was asked for by name; then sets may be cut at a place.
        """
        if self.order_only and not named and line.measure.head in BY_VALUE:
            return False
        return line.measure.kind == "quality" or not self.by_construction

    def every(self) -> Iterable[Analysis]:
        """Return the analyses of all runs."""
        return (analysis for group in self.analyses for analysis in group)


def study_contender(
    contender: Contender,
    lines: Sequence[Line],
    *,
    seed: int = 0,
    thresholds: Sequence[Sequence[float]] | None = None,
) -> Studied:
    """Analyse all runs of a system; nothing is written into their folders.

    Args:
        contender: the system.
        lines: what will be asked of it.
        seed: of the folds that thresholds are fitted on.
        thresholds: by collection, then by seed; None = fitted, as in the runs' own reports.

    Raises:
        NothingMeasuredError, ResumeError, UsageError: as in `analyse`.
    """
    names = list(dict.fromkeys(str(line.measure) for line in lines))
    analyses = tuple(
        tuple(
            analyse(
                run.folder,
                measures=names,
                threshold=None if thresholds is None else thresholds[at][nth],
                seed=seed,
                save=False,
            )
            for nth, run in enumerate(runs)
        )
        for at, runs in enumerate(contender.runs)
    )
    incomplete = tuple(np.array([_incomplete(run) for run in runs]) for runs in contender.runs)
    return Studied(contender, analyses, incomplete)


def _incomplete(run: Run) -> BoolArray:
    return np.array([bool(record.missing.any()) for record in run.folder.recorded()], dtype=bool)
