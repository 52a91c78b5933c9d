"""All measures by name: the names they print as, parse from, and compute.

The grammar is that of ir-measures: `Head`, `Head(option=value)`, `Head@cutoff`,
`Head(option=value)@cutoff`. A new measure is a function and a line in MEASURES.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.errors import UsageError
from evenhand.measure import compute, decision, order, pool, quality, selection, spread
from evenhand.measure.checks import came, choice, cut_value
from evenhand.measure.entry import Entry, Kind
from evenhand.measure.grammar import Option, check_options, split, written
from evenhand.measure.rows import defined_mean
from evenhand.measure.task import Rows, Task
from evenhand.types import FloatArray, Plan, RowKind, ScoreMatrix, Slate

_T = {"t": Option("number", None)}
_CORRECT = {"kind": Option(("any", "pairwise", "modal"), "any")}
_KIND = {"kind": Option(("pairwise", "modal"), "pairwise")}
_REL = {"rel": Option("count", 1)}
_TAU = {"ties": Option(("half", "strict"), "half"), "pairs": Option(("auto", "distinct"), "auto")}
_POOL = {"kind": Option(("both", "replaced", "dropped"), "both")}
_DF = {"df": Option(("corrected", "raw"), "corrected")}
_RBO = {"p": Option("share", 0.9)}
_SETS = {**_T, **_REL}

# fmt: off
MEASURES: dict[str, Entry] = {
    "tauPSI": Entry("stability", compute.tau_psi, "share of candidate pairs that swap", 0.0, _TAU),
    "TopInstability": Entry(
        "stability", compute.top_instability, "1 - rank-biased overlap of the tops", 0.0, _RBO,
        "optional"),
    "TiedPairs": Entry(
        "stability", lambda t: order.tied_pairs(t.random, exhaustive=t.exhaustive),
        "share of candidate pairs tied in both rows"),
    "ExactTies": Entry(
        "stability", lambda t: order.exact_ties(t.random), "share of adjacent score gaps that are 0"),
    "ScoreSpread": Entry(
        "stability", lambda t: spread.score_spread(t.random), "sd of the scores within a row"),
    "OrderSD": Entry(
        "stability", lambda t: spread.order_sd(t.random, exhaustive=t.exhaustive),
        "sd of a candidate's score over rows", 0.0),
    "RankSpread": Entry(
        "stability", lambda t: spread.rank_spread(t.random, exhaustive=t.exhaustive),
        "sd of a candidate's rank over rows", 0.0),
    "Residual": Entry(
        "stability", lambda t: spread.normalised_residual(t.random, exhaustive=t.exhaustive),
        "order sd over within-row sd", 0.0),
    "SlotShare": Entry(
        "stability", compute.share("slot"), "share of movement from the slot", None, _DF),
    "WindowShare": Entry(
        "stability", compute.share("window"), "share of movement from the window index", None, _DF),
    "ResidualShare": Entry(
        "stability", compute.share("residual"), "share of movement from neither", None, _DF),
    "Overlap": Entry(
        "decision", lambda t: decision.overlap(t.retained, exhaustive=t.exhaustive),
        "Jaccard overlap of retained sets", 1.0, _T),
    "OverlapNonEmpty": Entry(
        "decision", lambda t: decision.overlap_without_empty(t.retained, exhaustive=t.exhaustive),
        "overlap without pairs of empty sets", 1.0, _T),
    "BothEmpty": Entry(
        "decision", lambda t: decision.both_empty(t.retained, exhaustive=t.exhaustive),
        "share of pairs of rows that retain nothing", None, _T),
    "SetFlip": Entry(
        "decision", lambda t: decision.set_flip(t.retained),
        "ever retained, but not in every row", 0.0, _T),
    "Retained": Entry(
        "decision", lambda t: decision.retained_share(t.retained), "share retained", None, _T),
    "Top1Flip": Entry("decision", compute.flip(decision.top1_flip), "the best changes", 0.0, _KIND),
    "PairFlip": Entry(
        "decision", compute.flip(decision.pair_flip), "(best, worst) changes", 0.0, _KIND),
    "FirstSlot": Entry(
        "decision", lambda t: decision.first_slot(t.random, t.placed("slots"), t.ties),
        "the best stands in slot 0"),
    "CanonicalPSI": Entry(
        "stability", lambda t: pool.canonical_psi(t.random, t.matrix.canonical),
        "share of candidate pairs that swap against the canonical row", 0.0, canonical=True),
    "ScoreChange": Entry(
        "stability", lambda t: pool.score_change(t.random, t.matrix.canonical),
        "mean distance of a score from its canonical one", 0.0, canonical=True),
    "PoolPSI": Entry(
        "stability", compute.pool_psi, "pairs of survivors that swap when one member is exchanged",
        0.0, _POOL, canonical=True),
    "TopSetFlip": Entry(
        "decision", compute.top_set, "the top set is not the canonical one", 0.0, {}, "required", True),
    "RetainedDelta": Entry(
        "decision", lambda t: pool.retained_delta(t.random, t.matrix.canonical, t.cut),
        "distance of a retained score from its canonical one", 0.0, _T, canonical=True),
    "CorrectFlip": Entry(
        "decision", compute.correct_flip, "right or wrong changes", 0.0, _CORRECT),
    "Margin": Entry("decision", lambda t: selection.margin(t.random), "best minus second score"),
    "GoldAccuracy": Entry("quality", compute.gold_accuracy, "the best has the top grade"),
    "nDCG": Entry("quality", compute.ranking, "linear gain, as trec_eval", None, {}, "optional"),
    "AP": Entry("quality", compute.ranking, "average precision", None, _REL, "optional"),
    "RR": Entry("quality", compute.ranking, "reciprocal rank", None, _REL, "optional"),
    "P": Entry("quality", compute.ranking, "precision at k", None, _REL, "required"),
    "R": Entry("quality", compute.ranking, "recall at k", None, _REL, "required"),
    "F1": Entry("quality", compute.set_values("F1"), "set-F1 of the retained", None, _SETS),
    "SetP": Entry("quality", compute.set_values("SetP"), "precision of the retained", None, _SETS),
    "SetR": Entry("quality", compute.set_values("SetR"), "recall of the retained", None, _SETS),
}
# fmt: on


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure with its options; prints as, and equals, what `parse` reads.

    Attributes:
        head: a key of MEASURES.
        params: the options that differ from their defaults, in declared order.
        cutoff: the k of `@k`, or None.
    """

    head: str
    params: tuple[tuple[str, str | int | float], ...] = ()
    cutoff: int | None = None

    def __str__(self) -> str:
        return written(self.head, self.params, self.cutoff)

    @property
    def entry(self) -> Entry:
        """Its line in MEASURES."""
        return MEASURES[self.head]

    @property
    def kind(self) -> Kind:
        """What sort of number it is: stability, decision or quality."""
        return self.entry.kind

    @property
    def needs_threshold(self) -> bool:
        """Whether a threshold must be handed over."""
        return "t" in self.entry.options and "t" not in dict(self.params)

    def __call__(
        self,
        matrix: ScoreMatrix,
        slate: Slate,
        threshold: float | None = None,
        *,
        rows: Rows = "served",
    ) -> float:
        """Return the value of one slate; NaN where it is undefined.

        Args:
            matrix: the scores; stability and decisions read its random rows.
            slate: the slate they are of.
            threshold: for measures of retained sets; an option `t` overrides it.
            rows: which rows quality is of: "served" (the canonical row) or
                "shuffled" (mean over the random rows). Other kinds ignore it.

        Raises:
            UsageError: no threshold where one is needed, unknown `rows`, or a
                matrix that does not fit the slate.
        """
        choice("rows", rows, ("served", "shuffled"))
        _require_pair(matrix, slate)
        if threshold is not None:
            cut_value("threshold", threshold)
        if matrix.scores.shape[1] != len(slate):
            raise UsageError(
                f"{matrix.scores.shape[1]} columns of scores for the {len(slate)} candidates "
                f"of slate {slate.id!r}"
            )
        options = {name: option.default for name, option in self.entry.options.items()}
        options.update(self.params)
        return self.entry.compute(Task(matrix, slate, threshold, rows, str(self), self.cutoff, options))


def _require_pair(matrix: object, slate: object) -> None:
    """Refuse anything but a matrix and a slate."""
    for value, kind in ((matrix, ScoreMatrix), (slate, Slate)):
        if not isinstance(value, kind):
            raise UsageError(f"a measure is of a ScoreMatrix and its Slate, got {came(value)}")


_OF_READER = ("AnswerFlip", "VerdictFlip")


def parse(text: str) -> Measure:
    """Return the measure that a text names, e.g. "nDCG@10" or "Overlap(t=0.5)".

    Raises:
        UsageError: the text is no measure name, or head, option, value or
            cutoff are unknown or wrong; the known ones are listed. Flips of a
            reader are no measures of scores; where they stand is told.
    """
    head, given, cutoff = split(text)
    if head in _OF_READER:
        raise UsageError(
            f"{head} is measured of what a reader makes of a run, not of scores alone: let one read, "
            "evenhand audit ... --reader MODEL, or evenhand report RUN --reader MODEL; the flip stands "
            "under Reader in the report, and in Python in `Result.read(...).estimates['flip']`"
        )
    if head not in MEASURES:
        raise UsageError(f"unknown measure {head!r} in {text!r}; known are {sorted(MEASURES)}")
    entry = MEASURES[head]
    if cutoff is None and entry.cutoff == "required":
        raise UsageError(f"{head} needs a cutoff: write {head}@10")
    if cutoff is not None and entry.cutoff == "none":
        raise UsageError(f"{head} takes no cutoff, got {text!r}: write {head}")
    if cutoff is None and head == "TopInstability":
        cutoff = 10
    return Measure(head, check_options(head, given, entry.options), cutoff)


_FLOOR_OF = {"PoolPSI": "CanonicalPSI"}


def between(
    measure: Measure, matrix: ScoreMatrix, slate: Slate, threshold: float | None = None
) -> float:
    """Return a stability or decision measure of just the canonical and the repeat row.

    The two rows show the same presentation, so what is left is the noise floor.

    Args:
        measure: a measure of rows; quality has no floor.
        matrix: scores with a canonical and a repeat row.
        slate: the slate they are of.
        threshold: as in a call of the measure.

    Returns:
        The value; NaN where one of the two rows is missing or without scores.

    Raises:
        UsageError: the measure is one of quality, or its call is refused.
    """
    # Between two readings of one presentation no member is exchanged: the survivors are all.
    if measure.head in _FLOOR_OF:
        measure = Measure(_FLOOR_OF[measure.head])
    if measure.kind == "quality":
        raise UsageError(
            f"{measure} is a measure of quality; a noise floor is of stability or decisions"
        )
    rows = [row for kind in ("canonical", "repeat") for row in matrix.plan.rows(kind)[:1]]
    shown = tuple(matrix.plan.presentations[row] for row in rows)
    first: RowKind = "canonical" if measure.entry.canonical else "random"
    kinds: tuple[RowKind, ...] = (first, "random")
    both = ScoreMatrix(matrix.scores[rows], Plan(shown, kinds[: len(rows)]))
    if len(rows) < 2 or np.isnan(both.scores).all(axis=1).any():
        return float("nan")
    return measure(both, slate, threshold)


def ranking_values(
    measures: list[Measure], matrices: list[ScoreMatrix], slates: list[Slate], rows: Rows = "served"
) -> dict[Measure, FloatArray]:
    """Return ranking measures of many slates in one evaluation: much faster.

    Args:
        measures: of nDCG, AP, RR, P, R.
        matrices: one per slate.
        slates: the slates.
        rows: as in a call of a measure.

    Returns:
        By measure, (slates,) the values that calls of it would give.

    Raises:
        UsageError: a measure that is not one of rankings.
    """
    for measure in measures:
        if measure.entry.compute is not compute.ranking:
            raise UsageError(f"{measure} is not a measure of rankings by grades")
    judged = [m.canonical[None] if rows == "served" else m.random for m in matrices]
    found = quality.ranking_quality([str(m) for m in measures], slates, judged)
    return {m: np.array([defined_mean(values) for values in found[str(m)]]) for m in measures}
