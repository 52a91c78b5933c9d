"""Quality and stability of a scorer on held-out slates, as training needs them.

Not an audit: no records, no intervals. Both numbers of a selection come from here,
so that quality is never chosen without stability beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.decide.threshold import quantile, retained
from evenhand.measure.decision import overlap
from evenhand.measure.order import tau_psi
from evenhand.measure.quality import quality
from evenhand.measure.spread import normalised_residual, score_spread
from evenhand.present.design import design
from evenhand.types import FloatArray, ScoreMatrix, Scorer, Slate

# A scorer whose scores of one slate spread less than this has collapsed (DESIGN 6.4).
COLLAPSED = 0.02


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """What one look at held-out slates gave, a value a slate.

    Attributes:
        served: quality of the canonical row. shuffled: mean over the random rows.
        psi: tau-PSI. overlap: of the sets above the 80% quantile of all canonical scores.
        spread: score spread within rows. residual: order sd over it.
        missing: scores that are not there.
    """

    served: FloatArray
    shuffled: FloatArray
    psi: FloatArray
    overlap: FloatArray
    spread: FloatArray
    residual: FloatArray
    missing: int

    def means(self) -> dict[str, float]:
        """Return the mean of each over the slates where it is defined."""
        names = ("served", "shuffled", "psi", "overlap", "spread", "residual")
        return {name: _mean(getattr(self, name)) for name in names} | {"missing": float(self.missing)}


def hold_out(
    scorer: Scorer, slates: Sequence[Slate], *, rows: int = 5, width: int = 10,
    rule: str = "contiguous", measure: str = "nDCG@10", seed: int = 0,
) -> HeldOut:  # fmt: skip
    """Score held-out slates in random presentations and return what came out."""
    shown = matrices(scorer, slates, rows=rows, width=width, rule=rule, seed=seed)
    return judged(slates, shown, measure)


def matrices(
    scorer: Scorer, slates: Sequence[Slate], *, name: str = "reorder", rows: int = 5,
    width: int = 10, rule: str = "contiguous", seed: int = 0,
) -> list[ScoreMatrix]:  # fmt: skip
    """Return the scores of slates in the canonical and random presentations of a design.

    Args:
        scorer: what is looked at, under its own surface. slates: what it is shown.
        name: of the design. rows: M. width, rule: of its windows. seed: of its draws.
    """
    drawn = design(
        name, rows=rows, width=width, rule=rule, seed=seed, surface=scorer.surface, repeat=False
    )
    plans = [drawn.draw(slate) for slate in slates]
    shown = [one for slate, plan in zip(slates, plans, strict=True) for one in plan.shown(slate)]
    scored = iter(scorer.score(shown))
    return [ScoreMatrix(np.array([next(scored).scores for _ in plan.kinds]), plan) for plan in plans]


def judged(slates: Sequence[Slate], shown: Sequence[ScoreMatrix], measure: str = "nDCG@10") -> HeldOut:
    """Return quality and stability of score matrices, one for each slate."""
    cut = quantile([matrix.canonical for matrix in shown])
    pairs = list(zip(slates, shown, strict=True))
    kept = [np.array([retained(row, cut) for row in matrix.random]) for matrix in shown]
    return HeldOut(
        np.array([quality(measure, slate, m.canonical[None])[0] for slate, m in pairs]),
        np.array([_mean(quality(measure, slate, m.random)) for slate, m in pairs]),
        np.array([tau_psi(m.random, exhaustive=m.plan.exhaustive) for m in shown]),
        np.array([overlap(s, exhaustive=m.plan.exhaustive) for s, m in zip(kept, shown, strict=True)]),
        np.array([score_spread(matrix.random) for matrix in shown]),
        np.array([normalised_residual(m.random, exhaustive=m.plan.exhaustive) for m in shown]),
        int(sum(np.isnan(matrix.scores).sum() for matrix in shown)),
    )


def guard(found: Mapping[str, Any]) -> str | None:
    """Return why a run must stop after this look, or None."""
    if not np.isfinite(found["psi"]):
        return "no held-out slate has a defined tau-PSI"
    if found["spread"] < COLLAPSED:
        return (
            f"collapsed: scores of a slate spread {found['spread']:.4f}, under {COLLAPSED}; lower "
            "lambda or the learning rate"
        )
    return None


def _mean(values: FloatArray) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else float("nan")
