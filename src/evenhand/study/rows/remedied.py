"""What a study must know of a scorer behind remedies: its draws, and what it is by construction."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from evenhand.study.analysis import Finding, ThresholdFit
from evenhand.study.rows.protocol import StudyDesign
from evenhand.types import Plan, Presentation, RowKind, Scorer, Slate

# Each random row is one ensemble of the orders a remedy draws; fewer say little of the next.
LEAST_ENSEMBLES = 4

_FACTS = ("remedies", "draws", "settles_at", "by_construction")


def remedy_facts(scorer: Scorer) -> dict[str, Any]:
    """Return what records say of a scorer's remedies, {} when it has none.

    Keys: remedies (names, innermost first), draws (each row has draws of its own) and, where
    there is one, settles_at (the threshold that `adaptive` spends its orders on) and
    by_construction (a sentence on why no order can move the scores).
    """
    facts = getattr(scorer, "facts", None)
    if not isinstance(facts, Mapping) or "remedies" not in facts:
        return {}
    return {name: facts[name] for name in _FACTS if name in facts}


def drawn_plan(scorer: Scorer, design: StudyDesign, slate: Slate) -> Plan:
    """Return the plan of a slate for a scorer that may have draws of its own.

    Where a small slate has fewer orders than M, a plan lists each once and means over pairs
    of rows include each row with itself. With a remedy that draws for every row that would be
    stability for nothing: the rows are then no list of all there is. Its orders are shown in
    turn until there are M rows, and pairs are of distinct rows.
    """
    plan = design.draw(slate)
    if not (plan.exhaustive and getattr(scorer, "draws", False)):
        return plan
    random = [plan.presentations[row] for row in plan.rows("random")]
    count = max(design.rows, len(random)) if len(slate) > 1 else len(random)
    drawn = itertools.islice(itertools.cycle(random), count)
    rows: list[tuple[Presentation, RowKind]] = [(shown, "random") for shown in drawn]
    every = list(zip(plan.presentations, plan.kinds, strict=True))
    rows = [*every[:1], *rows, *every[1 + len(random) :]]
    return Plan(tuple(shown for shown, _ in rows), tuple(kind for _, kind in rows))


def by_construction(scorer: Mapping[str, Any]) -> Finding | None:
    """Return the finding that says why a scorer is stable, or None.

    Args:
        scorer: its description in the records.
    """
    sentence = scorer.get("by_construction")
    if not sentence:
        return None
    return Finding(
        "by_construction",
        "note",
        f"Stable by construction: {sentence}. Agreement is shown under other salts, which is what "
        "another arbitrary order would have decided; judge it by that and by the design membership, "
        "and do not rank it among scorers that see the order.",
    )


def probes_shared(scorer: Mapping[str, Any]) -> Finding | None:
    """Return the finding that rows share the probes of `calibrate`, so that each looks cheap.

    Args:
        scorer: its description in the records.
    """
    heads = [str(name).partition(":")[0] for name in scorer.get("remedies", ())]
    if "calibrate" not in heads or scorer.get("order_free"):
        return None
    return Finding(
        "probes_shared",
        "note",
        "Probes of calibrate are read once a query and shared by its rows, and the cost is the mean "
        "over rows. A query that is served once pays for its probes alone: one prompt for each width "
        "of its windows.",
    )


def settled_elsewhere(scorer: Mapping[str, Any], threshold: ThresholdFit | None) -> Finding | None:
    """Return the finding that retained sets are not cut where `adaptive` settles, or None.

    Args:
        scorer: its description in the records.
        threshold: how retained sets were cut, or None.
    """
    at = scorer.get("settles_at")
    if at is None or threshold is None or all(fold == at for fold in threshold.folds):
        return None
    cut = " / ".join(f"{fold:.3g}" for fold in threshold.folds)
    return Finding(
        "settled_elsewhere",
        "note",
        f"adaptive spends its orders on the decision at {at:.6g}, and retained sets are cut at {cut}: "
        "their overlap says little of what it settles. Give the audit the same threshold.",
    )


def too_few_ensembles(settings: Mapping[str, Any]) -> str | None:
    """Return why a run is too short to compare what a remedy draws, or None.

    Args:
        settings: of the run.
    """
    scorer, rows = settings.get("scorer", {}), settings.get("rows", LEAST_ENSEMBLES)
    if not scorer.get("draws") or rows >= LEAST_ENSEMBLES:
        return None
    return (
        f"{scorer.get('name')} draws orders for every row, and M = {rows} random rows are fewer than "
        f"{LEAST_ENSEMBLES} disjoint ensembles; run it with --rows {LEAST_ENSEMBLES} or more"
    )
