"""When a threshold keeps nearly everything or nearly nothing, and where to look then."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evenhand.study.analysis import Curve, Finding, mean_of
from evenhand.types import Estimate

# Mean share of candidates at or above the threshold, over random rows.
NEARLY_ALL = 0.95
NEARLY_NONE = 0.02


def keeps(decisions: Mapping[str, Estimate], curve: Curve | None) -> Finding | None:
    """Return what to know of a threshold whose retained sets are alike whatever the scorer.

    Args:
        decisions: estimates by measure name; "Retained", "Overlap", "BothEmpty" are read.
        curve: overlap and retained share by threshold, or None.
    """
    share = mean_of(decisions, "Retained")
    if share > NEARLY_ALL:
        code, why = "keeps_all", "sets of nearly everything are alike whatever the scorer"
    elif share < NEARLY_NONE:
        empty = mean_of(decisions, "BothEmpty")
        code, why = "keeps_none", f"{100 * empty:.1f}% of the pairs of sets are both empty"
    else:
        return None
    return Finding(
        code,
        "warning",
        f"The threshold keeps {100 * share:.1f}% of the candidates over random rows: "
        f"{why}, so an overlap of {mean_of(decisions, 'Overlap'):.3f} says little. "
        f"{_elsewhere(curve)}",
    )


def _elsewhere(curve: Curve | None) -> str:
    """Return overlap where the curve keeps about half, the most telling place."""
    usual = "Look at overlap at other thresholds (the curve of the report)"
    if curve is None or not np.isfinite(curve.y["retained"]).any():
        return f"{usual}."
    at = int(np.nanargmin(np.abs(curve.y["retained"] - 0.5)))
    overlap, retained = curve.y["overlap"][at], curve.y["retained"][at]
    return (
        f"{usual}: at {curve.x[at]:.4g}, which keeps {100 * retained:.1f}%, it is {overlap:.3f}. "
        "Give a threshold of your own."
    )
