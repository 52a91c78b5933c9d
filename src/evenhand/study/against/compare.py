"""Systems compared over the same slates: paired differences and how sure they are."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from evenhand.errors import NothingMeasuredError
from evenhand.measure.checks import choice
from evenhand.measure.family import holm
from evenhand.measure.paired import Paired, PairedOptions, paired, require_options
from evenhand.study.against.contenders import Contender, Source, contenders, differing
from evenhand.study.against.lines import Line, Studied, choose_lines
from evenhand.study.counted import counted
from evenhand.study.found.cuts import require_one_rule, studied_systems
from evenhand.types import BoolArray, FloatArray

Pairs = Literal["baseline", "all"]
Verdict = Literal["differs", "within noise", "not shown", "withheld"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One measure of two systems.

    Attributes:
        baseline, other: names; the difference is other - baseline.
        measure: its label; quality says whether served or shuffled.
        paired: means, difference, interval, p-values, effect sizes, pairs.
        undefined: slates where the measure is undefined for both, and not for
            want of scores; they are no pairs.
        adjusted: p-value corrected over the family by Holm; NaN = withheld.
        floors: noise floor of baseline and other; NaN where there is none.
    """

    baseline: str
    other: str
    measure: str
    paired: Paired
    undefined: int
    adjusted: float
    floors: tuple[float, float]

    @property
    def exceeds_noise(self) -> bool | None:
        """Whether the difference is larger than both noise floors; None where there is none."""
        known = [floor for floor in self.floors if not math.isnan(floor)]
        if not known or math.isnan(self.paired.difference):
            return None
        return abs(self.paired.difference) > max(known)

    @property
    def verdict(self) -> Verdict:
        """What may be said, at alpha = 1 - level."""
        if math.isnan(self.adjusted):
            return "withheld"
        if self.adjusted > round(1 - self.paired.level, 12):
            return "not shown"
        return "within noise" if self.exceeds_noise is False else "differs"


@dataclass(frozen=True, slots=True)
class System:
    """One of the compared: its name, its scorers, and by collection the folders of its runs."""

    name: str
    scorers: tuple[str, ...]
    runs: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Compared:
    """A family of comparisons.

    Attributes:
        systems: the baseline first.
        rows: the comparisons. family: how many of them have a p-value.
        slates: in each collection.
        settings: what all runs share, of the first run. differing: settings in
            which they differ, beside the scorer.
        matched: retained sets are cut at the share that the baseline keeps.
        notes: what to know before reading the numbers.
        missing_scores: scores missing in all runs together.
    """

    systems: tuple[System, ...]
    rows: tuple[Comparison, ...]
    family: int
    slates: tuple[int, ...]
    settings: Mapping[str, Any]
    differing: tuple[str, ...]
    matched: bool
    notes: tuple[str, ...]
    missing_scores: int
    options: PairedOptions


def compare(
    groups: Mapping[str, Sequence[Source]],
    *,
    measures: Sequence[str] | None = None,
    pairs: Pairs = "baseline",
    vary: Sequence[str] = (),
    match_retention: bool = False,
    options: PairedOptions = PairedOptions(),  # noqa: B008
) -> Compared:
    """Compare finished runs of two or more systems, slate by slate.

    A system's runs over the same slates are training seeds, those over other
    slates are further collections. A slate that lacks any score in a system is no
    complete pair for any measure; see `PairedOptions.max_missing`.

    Args:
        groups: by name of the system, its run folders; the first is the baseline.
        measures: names as in `choose_lines`; None = the usual ones, without those that
            no slate defines, or that read scores as numbers where a system's are places.
        pairs: "baseline" (every other with the first) or "all".
        vary: settings that are the thing compared, and so may differ.
        match_retention: cut the others' retained sets where they keep the share
            that the baseline keeps.
        options: draws, seed, level, power, missing share.

    Raises:
        UsageError: the runs differ in slates or settings, or a name or kind of value is wrong.
        NothingMeasuredError: no comparison has a complete pair.
        ResumeError: a folder holds no finished run.
    """
    choice("pairs", pairs, ("baseline", "all"))
    require_options(options)
    lines = choose_lines(measures)
    found = contenders(groups, vary)
    studied = studied_systems(found, lines, match_retention, options.seed)
    if measures is None:
        lines = _usable(lines, studied)
    if not match_retention:
        require_one_rule(studied, lines)
    chosen = [
        pair for pair in itertools.combinations(studied, 2) if pairs == "all" or pair[0] is studied[0]
    ]
    named = measures is not None
    asked = [
        (line, *pair)
        for pair in chosen
        for line in lines
        if all(one.compares(line, named=named) for one in pair)
    ]
    rows = [_comparison(*each, options) for each in asked]
    if not any(row.paired.n for row in rows):
        raise NothingMeasuredError(_nothing(rows))
    adjusted = holm([row.paired.p for row in rows])
    rows = [replace(row, adjusted=float(p)) for row, p in zip(rows, adjusted, strict=True)]
    return Compared(
        systems=tuple(_system(each.contender) for each in studied),
        rows=tuple(rows),
        family=int((~np.isnan(adjusted)).sum()),
        slates=tuple(len(runs[0].parts) for runs in found[0].runs),
        settings=found[0].runs[0][0].folder.settings,
        differing=differing(found),
        matched=match_retention,
        notes=_notes(studied, lines, rows, match_retention),
        missing_scores=sum(a.counts.get("missing_scores", 0) for s in studied for a in s.every()),
        options=options,
    )


def _system(contender: Contender) -> System:
    scorers = dict.fromkeys(run.scorer for runs in contender.runs for run in runs)
    return System(
        contender.name,
        tuple(scorers),
        tuple(tuple(run.path for run in runs) for runs in contender.runs),
    )


def _nothing(rows: Sequence[Comparison]) -> str:
    names = ", ".join(dict.fromkeys(row.measure for row in rows))
    return f"nothing can be compared: no slate has a value of {names or 'any measure'} in both systems"


def _usable(lines: Sequence[Line], studied: Sequence[Studied]) -> tuple[Line, ...]:
    """Return the usual lines that some slate defines and two systems can be compared by."""
    return tuple(
        line
        for line in lines
        if any(not np.isnan(a.per_slate[line.key]).all() for each in studied for a in each.every())
        and sum(each.compares(line) for each in studied) >= 2
    )


def _comparison(line: Line, one: Studied, other: Studied, options: PairedOptions) -> Comparison:
    firsts, seconds, codes, undefined = [], [], [], 0
    for at, runs in enumerate(one.contender.runs):
        order = list(runs[0].parts)
        a, b, empty = _complete(line, one, other, at, order)
        firsts.append(a[:, ~empty])
        seconds.append(b[:, ~empty])
        codes += [at] * int((~empty).sum())
        undefined += int(empty.sum())
    found = paired(
        np.concatenate(firsts, axis=1),
        np.concatenate(seconds, axis=1),
        np.array(codes, dtype=int),
        options,
    )
    return Comparison(
        baseline=one.contender.name,
        other=other.contender.name,
        measure=line.label,
        paired=found,
        undefined=undefined,
        adjusted=math.nan,
        floors=(one.floor(line), other.floor(line)),
    )


def _complete(
    line: Line, one: Studied, other: Studied, at: int, order: Sequence[str]
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return both systems' (seeds, slates) values and which slates are undefined for both.

    A slate that lacks a score is missing, whatever its value from the scores that
    are there.
    """
    a, b = one.values(line, at, order), other.values(line, at, order)
    a[:, one.lacking(at, order)] = np.nan
    b[:, other.lacking(at, order)] = np.nan
    lost = one.lacking(at, order) | other.lacking(at, order)
    undefined = np.isnan(a).all(axis=0) & np.isnan(b).all(axis=0) & ~lost
    return a, b, undefined


def _notes(
    studied: Sequence[Studied], lines: Sequence[Line], rows: Sequence[Comparison], matched: bool
) -> tuple[str, ...]:
    notes = []
    for each in studied:
        slates = sum(int(flags.any(axis=0).sum()) for flags in each.incomplete)
        if slates:
            notes.append(
                f"{each.contender.name}: {counted(slates, 'slate')} without all scores, in no pair"
            )
        if each.by_construction:
            notes.append(f"{each.contender.name}: stable by construction, agreement is not compared")
        if each.order_only:
            notes.append(
                f"{each.contender.name}: its scores are places, so measures that read them as numbers, "
                "such as Overlap, are compared only where asked for by name"
            )
        loud = [f for a in each.every() for f in a.findings if f.severity != "note"]
        notes += [f"{each.contender.name}: {f.message} ({f.code})" for f in dict.fromkeys(loud)]
    if matched:
        notes.append("retained sets of the others are cut at the share that the baseline keeps")
    return tuple(dict.fromkeys([*notes, *_lacking(rows)]))


def _lacking(rows: Sequence[Comparison]) -> list[str]:
    """Return why numbers are lacking, measures of a pair that lack them for one reason together."""
    measures: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        of = f"{row.baseline} and {row.other}"
        found = row.paired
        reasons = [f"no p-value, {found.withheld}"] if found.withheld else []
        reasons += [f"no detectable difference, {found.undetectable}"] if found.undetectable else []
        for reason in reasons:
            measures.setdefault((of, reason), []).append(row.measure)
    return [
        f"{', '.join(dict.fromkeys(names))} of {of}: {reason}"
        for (of, reason), names in measures.items()
    ]
