"""Calibration by a content-free probe (CapCal): the slot's prior is taken out of the grades."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice

import numpy as np
from scipy.special import entr

from evenhand.errors import UsageError
from evenhand.remedy.base import Remedied, ask
from evenhand.seeds import content_hash
from evenhand.types import Candidate, FloatArray, Presentation, Scored, Scorer, Shown, Slate, Surface

# Probes that one scorer remembers; the oldest is forgotten first.
MOST_PROBES = 1024
# Characters of a hash: no shorter query can be one.
_LONG = 64

# What a probe depends on: query, width, surface; and whether a repeat row asks, which is to
# show how steady the engine is and so takes nothing from memory.
Probe = tuple[str, int, Surface, bool]


@dataclass(frozen=True, slots=True)
class Calibrate:
    """Grades are corrected by those of a content-free probe; see `calibrate`."""

    text: str = "N/A"

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or not self.text.strip():
            raise UsageError(f"calibrate: text must be a text that is not empty, got {self.text!r}")

    @property
    def name(self) -> str:
        """Text that `parse` reads."""
        return "calibrate" if self.text == "N/A" else f"calibrate:text={self.text}"

    def __call__(self, scorer: Scorer) -> Scorer:
        """Return the calibrated scorer."""
        return Calibrated(scorer, self)


class Calibrated(Remedied):
    """A scorer whose grades are corrected slot by slot; it remembers its probes."""

    draws = False

    def __init__(self, inner: Scorer, remedy: Calibrate) -> None:
        """Wrap a scorer; see `calibrate`."""
        if not inner.order_free:
            _require_slots(inner)
        super().__init__(inner, remedy.name, asdict(remedy))
        self.text = remedy.text
        self._known: dict[Probe, FloatArray] = {}

    def _score(self, shown: Sequence[Shown]) -> list[Scored]:
        # Each probe that has to be read, and the Shown that pays for it.
        payers: dict[Probe, int] = {}
        known: dict[Probe, FloatArray] = {}
        remembered = self._known
        for place, one in enumerate(shown):
            for probe in _probes(one):
                found = remembered.get(_key(probe))
                if found is not None:
                    known[probe] = found
                else:
                    payers.setdefault(probe, place)
        # Before the slates, so that a scorer without grades is refused at once.
        read = dict(zip(payers, self._ask([_shown(probe, self.text) for probe in payers]), strict=True))
        known |= {probe: _prior(scored) for probe, scored in read.items()}
        answers = self._ask(shown)
        self._remember(read, known)
        return [
            _with_cost(
                calibrated(one.presentation, answer, [known[probe] for probe in _probes(one)]),
                [read[probe] for probe, payer in payers.items() if payer == place],
            )
            for place, (one, answer) in enumerate(zip(shown, answers, strict=True))
        ]

    def _ask(self, shown: Sequence[Shown]) -> list[Scored]:
        answers = ask(self.inner, shown)
        for answer in answers:
            _require_grades(self.inner, answer)
        return answers

    def _remember(self, read: Mapping[Probe, Scored], known: Mapping[Probe, FloatArray]) -> None:
        new = {_key(probe): known[probe] for probe in read if not probe[-1] and known[probe].size}
        if new:
            every = {**self._known, **new}
            # Another dict each time: threads that share the scorer never see one being changed,
            # and a probe that two of them read is at worst paid for twice.
            self._known = dict(islice(every.items(), max(0, len(every) - MOST_PROBES), None))


def calibrate(text: str = "N/A") -> Calibrate:
    """Return the remedy that takes each slot's prior out of the grade probabilities (CapCal).

    For every query, width and surface, one window of content-free candidates is read. With
    p the grades of a candidate and p_probe those of the probe at its slot, over G grades,

        p' = normalise(clip(p - a (p_probe - 1/G))),  a = entropy of p in nats,

    clipped at 0 from below; the score is the expected grade of p' over the highest.
    Because p and p_probe sum to 1, what is clipped does too: something is always left.
    Where an engine's numbers do not and nothing is left, the score is missing.

    Probes are remembered by the scorer (at most `MOST_PROBES`); the row that needs one
    first pays for it, and repeat rows read their own. Cost: one prompt more per query and
    width. Candidates of a window whose probe failed are missing.

    Args:
        text: the content-free text that stands at every slot.

    Raises:
        UsageError: text is empty; when applied, the scorer's numbers are no expected grades
            or a remedy under it moves slots; when scoring, it gives no grade probabilities.
    """
    return Calibrate(text)


def corrected(grades: FloatArray, priors: FloatArray) -> FloatArray:
    """Return (B, G) grade probabilities without the slot's prior; see `calibrate`.

    Args:
        grades: (B, G) probabilities of the candidates, by slot.
        priors: (B, G) probabilities of the probe, by slot.

    Returns:
        (B, G), rows sum to 1; NaN rows where either is NaN or nothing is left.
    """
    certainty = entr(grades).sum(axis=1, keepdims=True)
    left = np.clip(grades - certainty * (priors - 1 / grades.shape[1]), 0, None)
    total = left.sum(axis=1, keepdims=True)
    result: FloatArray = left / np.where(total > 0, total, np.nan)
    return result


def calibrated(presentation: Presentation, answer: Scored, priors: Sequence[FloatArray]) -> Scored:
    """Return an answer with corrected grades and scores, at the cost of the answer alone.

    Args:
        priors: for each window, (B, G) grade probabilities of its probe by slot, or an
            empty array where the probe failed.
    """
    if answer.grades is None:
        return answer
    grades: FloatArray = np.full_like(answer.grades, np.nan, dtype=np.float64)
    for window, prior in zip(presentation.windows, priors, strict=True):
        if prior.size:
            grades[list(window)] = corrected(answer.grades[list(window)], prior)
    scores = grades @ np.linspace(0, 1, grades.shape[1])
    lost = int((np.isnan(scores) & ~np.isnan(answer.scores)).sum())
    failure = answer.failure
    if failure is None and lost:
        failure = f"the probe gave no grades to calibrate {lost} candidates by"
    return replace(answer, scores=scores, grades=grades, failure=failure)


def _probes(one: Shown) -> list[Probe]:
    """Return the probe of each window."""
    shown, again = one.presentation, one.kind == "repeat"
    return [(one.slate.query, len(window), shown.surface, again) for window in shown.windows]


def _key(probe: Probe) -> Probe:
    """Return a probe with a hash in the place of a long query: it is remembered for long."""
    query = probe[0]
    return probe if len(query) < _LONG else (content_hash([query]), *probe[1:])


def _shown(probe: Probe, text: str) -> Shown:
    """Return a window of content-free candidates; the same for every slate with this query."""
    query, width, surface, again = probe
    order = tuple(range(width))
    name = content_hash([query, text])[:12]
    slate = Slate(f"probe {name} of {width}", query, tuple(Candidate(f"{i}", text) for i in order))
    presentation = Presentation(order, (order,), surface)
    return Shown(slate, presentation, int(again), "repeat" if again else "canonical")


def _prior(scored: Scored) -> FloatArray:
    """Return (B, G) grades of a probe, or an empty array where one is missing."""
    if scored.grades is None or np.isnan(scored.grades).any():
        return np.empty((0, 0))
    return np.asarray(scored.grades, dtype=np.float64)


def _with_cost(scored: Scored, probes: Sequence[Scored]) -> Scored:
    return replace(
        scored,
        prompts=scored.prompts + sum(probe.prompts for probe in probes),
        tokens=scored.tokens + sum(probe.tokens for probe in probes),
    )


def _require_grades(inner: Scorer, answer: Scored) -> None:
    # A slate that failed as a whole has no grades either: its reason stands.
    if answer.grades is None and answer.failure is None and len(answer.scores):
        raise UsageError(
            f"calibrate corrects grade probabilities, and {inner.name} gives scores alone. Use a "
            "scorer that grades (hf:MODEL, smollm2-135m, openai:MODEL), or another remedy."
        )


def _require_slots(inner: Scorer) -> None:
    if inner.scale != "unit":
        raise UsageError(
            f"calibrate makes expected grades in [0, 1], and the scores of {inner.name} are "
            f"{inner.scale}. Use a scorer that grades (hf:MODEL, smollm2-135m, openai:MODEL)."
        )
    under = tuple(getattr(inner, "remedies", ()))
    if under:
        raise UsageError(
            f"calibrate corrects what a slot does, and {', '.join(under)} under it moves candidates "
            "to other slots. Name calibrate first."
        )
