"""How the retained sets of compared systems are cut: at one share, or by one rule."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenhand.decide.matching import match_share, share_retained
from evenhand.errors import UsageError
from evenhand.study.against.contenders import Contender
from evenhand.study.against.lines import Line, Studied, study_contender
from evenhand.study.analysis import Analysis, ThresholdFit
from evenhand.types import FloatArray


def studied_systems(
    found: Sequence[Contender], lines: Sequence[Line], matched: bool, seed: int
) -> tuple[Studied, ...]:
    """Return all systems with the analyses of their runs.

    Args:
        found: the baseline first.
        lines: what will be asked of them.
        matched: cut the others' retained sets where they keep the share that the baseline
            keeps on the canonical rows; else as each run was cut.
        seed: of the folds that thresholds are fitted on.

    Raises:
        ScorerError, NothingMeasuredError, ResumeError, UsageError: as `analyse`.
    """
    first = study_contender(found[0], lines, seed=seed)
    shares = [_share_kept(first, at) for at in range(len(found[0].runs))] if matched else None
    others = []
    for each in found[1:]:
        cuts = None if shares is None else [_cuts(each, at, share) for at, share in enumerate(shares)]
        others.append(study_contender(each, lines, seed=seed, thresholds=cuts))
    return (first, *others)


def _canonical(contender: Contender, collection: int) -> list[list[FloatArray]]:
    """Return the canonical scores of each seed, one array per slate."""
    runs = contender.runs[collection]
    return [[record.matrix.canonical for record in run.folder.recorded()] for run in runs]


def _share_kept(studied: Studied, collection: int) -> float:
    seeds = zip(_canonical(studied.contender, collection), studied.analyses[collection], strict=True)
    return float(np.mean([share_retained(rows, a.per_slate["threshold"]) for rows, a in seeds]))


def _cuts(contender: Contender, collection: int, share: float) -> list[float]:
    return [match_share(rows, share).threshold for rows in _canonical(contender, collection)]


def require_one_rule(studied: Sequence[Studied], lines: Sequence[Line]) -> None:
    """Refuse measures of retained sets that are cut by different rules.

    Raises:
        UsageError: names measures and rules.
    """
    needing = [line.label for line in lines if line.measure.needs_threshold]
    if not needing:
        return
    rules = {each.contender.name: list(dict.fromkeys(map(_rule, each.every()))) for each in studied}
    if len({rule for found in rules.values() for rule in found}) > 1:
        each = "; ".join(f"{name!r}: {', '.join(found)}" for name, found in rules.items())
        raise UsageError(
            f"{', '.join(needing)} would compare retained sets cut by different rules ({each}). "
            "Match the retained share (match_retention), give a threshold as in Overlap(t=0.5), "
            "or leave them out."
        )


def _rule(analysis: Analysis) -> str:
    fit: ThresholdFit | None = analysis.threshold
    if fit is None:
        return "none"
    return fit.rule if fit.min_grade is None else f"{fit.rule} at grade >= {fit.min_grade}"
