"""What is counted over the records of a run, one slate at a time."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from evenhand.decide.preference import JudgeSummary, PairVerdict, summarise_judge
from evenhand.decide.threshold import relevant
from evenhand.measure.order import is_constant
from evenhand.records import Recorded
from evenhand.study.analysis import LOW_MASS, Cost, Curve
from evenhand.study.found.judges import pair_verdict
from evenhand.types import BoolArray, FloatArray, ScoreMatrix, Slate

# Graded collections are also judged with this grade as the lowest relevant one.
HIGH = 2
# Slates of responses hold 2 to 8; a question's passages are more.
MOST_PICKS = 8
_REASONS = 3

_COUNTED = (
    "slates",
    "empty_slates",
    "single_candidate_slates",
    "slates_without_grades",
    "slates_without_relevant",
    "exhaustive_slates",
    "degenerate_slates",
    "candidates",
    "empty_texts",
    "equal_texts",
    "rows",
    "scores",
    "failed_rows",
    "remarked_rows",
    "remarked_slates",
    "missing_scores",
    "truncated_candidates",
    "truncated_tokens",
    "truncated_further",
    "escaped_places",
    "query_escaped",
    "low_label_mass",
)


def slate_counts(slate: Slate, min_grade: int = 1) -> Counter[str]:
    """Return what a slate brings whatever its scores: sizes, grades, odd texts.

    `equal_texts` counts the candidates whose title and text another candidate
    before them has; `empty_texts` those with nothing but whitespace.
    """
    shown = [(candidate.title, candidate.text) for candidate in slate.candidates]
    relevance = relevant(slate, min_grade)
    return Counter(
        slates=1,
        empty_slates=int(len(slate) == 0),
        single_candidate_slates=int(len(slate) == 1),
        slates_without_grades=int(relevance is None),
        slates_without_relevant=int(relevance is not None and len(slate) > 0 and not relevance.any()),
        candidates=len(slate),
        empty_texts=sum(not (title + text).strip() for title, text in shown),
        equal_texts=len(shown) - len(set(shown)),
    )


def score_counts(record: Recorded) -> Counter[str]:
    """Return what the rows of one slate show: failures, missing scores, cut and escaped text.

    Cut tokens and escaped places are those of the canonical row, which is what
    serving would show; `truncated_further` is what the row that cuts most (of wider
    windows, say) cuts beyond it. Scores, rows and label mass are counted over all rows.
    """
    plan = record.matrix.plan
    served = plan.rows("canonical")[:1]
    mass = record.label_mass
    cut = record.truncated.sum(axis=1)
    read = [row for row, kind in enumerate(plan.kinds) if kind != "repeat"]
    return Counter(
        rows=len(plan),
        scores=int(plan.included().sum()),
        exhaustive_slates=int(plan.exhaustive and len(record.slate) > 1),
        degenerate_slates=int(is_constant(record.matrix.scores[read])),
        failed_rows=len(_said(record, missing=True)),
        remarked_rows=len(_said(record, missing=False)),
        remarked_slates=int(bool(_said(record, missing=False))),
        missing_scores=int(record.missing.sum()),
        truncated_candidates=int((record.truncated[served] > 0).sum()),
        truncated_tokens=int(cut[served].sum()),
        truncated_further=max(0, int(cut.max(initial=0) - cut[served].sum())),
        escaped_places=int(record.escaped[served].sum()),
        query_escaped=int(record.query_escaped[served].sum()),
        low_label_mass=0 if mass is None else int((mass < LOW_MASS).sum()),
    )


def _said(record: Recorded, *, missing: bool) -> list[str]:
    """Return what rows say went wrong: those that lack scores, or those that have them all."""
    lacks = [bool(row.any()) for row in record.missing]
    return [
        failure
        for failure, lack in zip(record.failures, lacks, strict=True)
        if failure is not None and lack is missing
    ]


def _served_relevance(record: Recorded, min_grade: int) -> BoolArray | None:
    """Return which candidates are relevant and shown in the canonical row."""
    found, rows = relevant(record.slate, min_grade), record.matrix.plan.rows("canonical")
    if found is None or not rows:
        return found
    return found & record.matrix.plan.presentations[rows[0]].included()


def largest_difference(rows: FloatArray, reference: FloatArray) -> float:
    """Return the largest distance of (k, n) scores from (n,) others; NaN when none can be told."""
    differences = np.abs(rows - reference)
    known = differences[~np.isnan(differences)]
    return float(known.max()) if known.size else math.nan


def _larger(a: float, b: float) -> float:
    return b if math.isnan(a) or b > a else a


@dataclass(slots=True)
class Tally:
    """Counts, costs and extremes of a run; memory holds one number per score of the canonical row.

    Attributes:
        slate_ids: in slate order.
        canonical: (n,) scores of the canonical row of each slate.
        relevance: (n,) booleans of each slate, None without grades. high: the same
            for grade `HIGH` and above.
        counts: by name.
        reasons: the first few distinct failures of rows that lack scores. remarks: what
            rows that have all scores say was mended or dropped.
        repeat_difference: largest |canonical - repeat|; NaN when there is none.
        random_difference: largest |canonical - random| over rows with the canonical surface.
        judged: the verdict on each slate of two, and its better candidate.
    """

    min_grade: int = 1
    slate_ids: list[str] = field(default_factory=list)
    canonical: list[FloatArray] = field(default_factory=list)
    relevance: list[BoolArray | None] = field(default_factory=list)
    high: list[BoolArray | None] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(_COUNTED, 0)))
    reasons: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    repeat_difference: float = math.nan
    random_difference: float = math.nan
    judged: list[tuple[PairVerdict, int | None]] = field(default_factory=list)
    _largest: int = 0
    _levels: int = 0
    _read: bool = False
    _mass: list[float] = field(default_factory=lambda: [0.0, 0.0])
    _cost: list[float] = field(default_factory=lambda: [0.0, 0.0])
    _slot_sums: FloatArray = field(default_factory=lambda: np.zeros((2, 0)))

    def add(self, record: Recorded) -> None:
        """Count one slate."""
        matrix = record.matrix
        self.slate_ids.append(record.slate.id)
        # A copy: the row alone, where a view would keep all rows of the slate in memory.
        self.canonical.append(matrix.canonical.copy())
        self.relevance.append(_served_relevance(record, self.min_grade))
        self.high.append(_served_relevance(record, HIGH))
        # `update` adds and keeps zeros, so that every name stays listed.
        self.counts.update(slate_counts(record.slate, self.min_grade))
        self.counts.update(score_counts(record))
        for known, missing in ((self.reasons, True), (self.remarks, False)):
            for said in _said(record, missing=missing):
                if said not in known and len(known) < _REASONS:
                    known.append(said)
        self.repeat_difference = _larger(
            self.repeat_difference, largest_difference(matrix.repeat[None], matrix.canonical)
        )
        self.random_difference = _larger(
            self.random_difference,
            largest_difference(matrix.random[_same_surface(matrix)], matrix.canonical),
        )
        self._add_gold(record.slate)
        self._add_judge(record)
        self._add_mass(record)
        self._add_cost(record)
        self._add_slots(record)

    def _add_gold(self, slate: Slate) -> None:
        self._largest = max(self._largest, len(slate))
        self._read |= bool(slate.answers) or slate.verdict is not None
        if slate.grades is not None and len(slate):
            self._levels = max(self._levels, len(np.unique(slate.gains())))

    @property
    def picks(self) -> bool:
        """Whether the slates ask for the best of a few, and a pick is right or wrong.

        No slate has more than `MOST_PICKS` candidates or gold for a reader, no slate's
        grades take more than two values, and those of some slate take two.
        """
        return self._largest <= MOST_PICKS and not self._read and self._levels == 2

    def _add_judge(self, record: Recorded) -> None:
        found = pair_verdict(record)
        if found is not None:
            self.judged.append(found)

    @property
    def judge(self) -> JudgeSummary | None:
        """What the scorer makes of slates of two in both orders; None without such slates."""
        return summarise_judge(self.judged) if self.judged else None

    def _add_mass(self, record: Recorded) -> None:
        if record.label_mass is not None:
            known = record.label_mass[~np.isnan(record.label_mass)]
            self._mass[0] += float(known.sum())
            self._mass[1] += known.size

    def _add_cost(self, record: Recorded) -> None:
        # Rows whose scores were reused cost nothing and say nothing of the price of a row.
        paid = record.prompts > 0
        if paid.any():
            self._cost[0] += float(record.prompts[paid].mean())
            self._cost[1] += float(record.tokens[paid].mean())

    def _add_slots(self, record: Recorded) -> None:
        for row, shown in zip(record.matrix.random, record.matrix.random_presentations, strict=True):
            known = ~np.isnan(row)
            slots = shown.slots()[known]
            width = int(slots.max(initial=-1)) + 1
            if width > self._slot_sums.shape[1]:
                grown = np.zeros((2, width))
                grown[:, : self._slot_sums.shape[1]] = self._slot_sums
                self._slot_sums = grown
            np.add.at(self._slot_sums[0], slots, row[known])
            np.add.at(self._slot_sums[1], slots, 1)

    @property
    def label_mass(self) -> float:
        """Mean label mass over all scores that have one; NaN when none has."""
        return self._mass[0] / self._mass[1] if self._mass[1] else math.nan

    @property
    def low_mass_share(self) -> float:
        """Share of those scores with a label mass under `LOW_MASS`; NaN when none has one."""
        return self.counts["low_label_mass"] / self._mass[1] if self._mass[1] else math.nan

    @property
    def cost(self) -> Cost:
        """Mean price of one presentation of a slate; NaN without slates."""
        slates = len(self.slate_ids)
        prompts, tokens = ((total / slates if slates else math.nan) for total in self._cost)
        return Cost(prompts, tokens)

    @property
    def slot_curve(self) -> Curve:
        """Mean score of what stands in each slot over the random rows."""
        sums, counts = self._slot_sums
        mean = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
        return Curve(np.arange(len(sums), dtype=np.float64), {"score": mean})

    @property
    def score_range(self) -> tuple[float, float]:
        """Lowest and highest score of the canonical rows; NaN when there is none."""
        known = [row[~np.isnan(row)] for row in self.canonical]
        known = [row for row in known if row.size]
        if not known:
            return math.nan, math.nan
        return min(float(row.min()) for row in known), max(float(row.max()) for row in known)


def _same_surface(matrix: ScoreMatrix) -> BoolArray:
    """Return for each random row whether only its placement differs from the canonical row."""
    surfaces = [one.surface for one in matrix.plan.presentations]
    rows = matrix.plan.rows("canonical")
    same = [bool(rows) and surfaces[row] == surfaces[rows[0]] for row in matrix.plan.rows("random")]
    return np.array(same, dtype=np.bool_)
