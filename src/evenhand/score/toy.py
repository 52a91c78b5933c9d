"""A scorer whose scores are known in closed form, for docs, tests and laws."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

import numpy as np

from evenhand.errors import UsageError
from evenhand.seeds import content_hash, generator
from evenhand.types import FloatArray, IntArray, Presentation, Scale, Scored, Shown, Slate, Surface

Relevance = Literal["grades", "hash", "position", "slot"]

_PARSERS: Mapping[str, Callable[[str], Any]] = {
    "relevance": str,
    "spread": float,
    "slot_bias": float,
    "coupling": float,
    "first_slot": float,
    "noise": float,
    "grid": int,
    "seed": int,
}


@dataclass(frozen=True, slots=True)
class Toy:
    """A known relevance, moved by dials that each stand for one fault of a scorer.

    The score of candidate i at slot s (from 0) of a window of B is

        r_i - slot_bias * s / (B - 1) - coupling * mean(r of its companions)
            + first_slot * [s = 0] + noise * N(0, 1)

    then rounded to the grid. In a window of one the slot bias and the coupling
    are 0. Exact answers that follow:

    - All dials 0: every row is the same; tau-PSI 0, overlap 1.
    - Two candidates in one window: each order wins in turn when their gap in r is
      under slot_bias + first_slot (tau-PSI .5 over both orders), the better one
      always wins when it is over (tau-PSI 0).
    - Coupling alone, one window of n: scores are r_i (1 + c/(n-1)) - c sum(r)/(n-1),
      so tau-PSI is 0; once the windows change, scores move with the companions.
    - relevance="position": tau-PSI .5 over all n! orders; over the four rotations
      of four candidates .5556 (distinct pairs), overlap at t=.5 is .5, and the mean
      over the rotations is .625 for all.

    Cost: one prompt a window; tokens are the whitespace-separated words of query
    and candidates (title and text) of every prompt. Texts never move a score.

    Attributes:
        relevance: where r comes from. "grades": (1 - spread) * grade/3 + spread * u,
            grades clipped to 0..3, u in [0, 1) a hash of query and candidate id, so
            that equal grades differ a little and unequal ones keep their order while
            spread < .25; slates without grades use "hash". "hash": u itself.
            "position": 1 - position/n, by presented position. "slot": 1 - slot/B.
        spread: weight of u, in [0, 1]; 0 leaves equal grades tied.
        slot_bias: loss from the first to the last slot, linear in the slot.
        coupling: weight of the companions' mean relevance.
        first_slot: bonus of slot 0, also in a window of one.
        noise: sd of normal noise drawn for (seed, slate id, candidates of each
            window in order, row): the same call gives the same noise, and the repeat
            row, being another row, differs from the canonical one.
        grid: levels between 0 and 1 to round to, halves up (the spacing continues
            outside); 0 = no rounding.
        seed: of the noise.

    Raises:
        UsageError: a dial is out of its range.
    """

    relevance: Relevance = "grades"
    spread: float = 0.1
    slot_bias: float = 0.0
    coupling: float = 0.0
    first_slot: float = 0.0
    noise: float = 0.0
    grid: int = 0
    seed: int = 0
    channels: frozenset[str] = field(
        default=frozenset({"order", "companions", "window", "membership"}), init=False, repr=False
    )
    max_window: int | None = field(default=None, init=False, repr=False)
    default_window: int | None = field(default=None, init=False, repr=False)
    surface: Surface = field(default=Surface(), init=False, repr=False)

    def __post_init__(self) -> None:
        if self.relevance not in get_args(Relevance):
            raise UsageError(
                f"toy: relevance {self.relevance!r} is unknown; known are {get_args(Relevance)}"
            )
        for name, parser in _PARSERS.items():
            if parser is float:
                object.__setattr__(self, name, _finite(name, getattr(self, name)))
            elif parser is int:
                _require_int(name, getattr(self, name))
        if not 0 <= self.spread <= 1:
            raise UsageError(f"toy: spread must be in [0, 1], got {self.spread}")
        if self.noise < 0:
            raise UsageError(f"toy: noise is a standard deviation and must be >= 0, got {self.noise}")
        if self.grid < 0 or self.grid == 1:
            raise UsageError(f"toy: grid must be 0 (no rounding) or at least 2 levels, got {self.grid}")

    @property
    def name(self) -> str:
        """The spec that opens this toy: "toy" and the dials that were turned."""
        turned = [f"{key}={value}" for key, value in self.dials.items() if value != _DEFAULTS[key]]
        return "toy:" + ",".join(turned) if turned else "toy"

    @property
    def dials(self) -> dict[str, Any]:
        """The dials by name."""
        return {name: getattr(self, name) for name in _PARSERS}

    @property
    def revision(self) -> str:
        """SHA-256 of the dials."""
        return content_hash({"toy": self.dials})

    @property
    def order_free(self) -> bool:
        """Whether a score depends on candidate and query alone."""
        return self.relevance in ("grades", "hash") and not self._moved

    @property
    def scale(self) -> Scale:
        """Unit while no dial can push a score out of [0, 1], else raw."""
        return "raw" if self._moved else "unit"

    @property
    def _moved(self) -> bool:
        return any((self.slot_bias, self.coupling, self.first_slot, self.noise))

    def score(self, shown: Sequence[Shown]) -> list[Scored]:
        """Score each Shown on its own; nothing is remembered between calls."""
        # Keyed by object: the slates live as long as this call.
        facts: dict[int, tuple[FloatArray, IntArray]] = {}
        for item in shown:
            if id(item.slate) not in facts:
                facts[id(item.slate)] = (self._known(item.slate), _words(item.slate))
        return [self._score_one(item, *facts[id(item.slate)]) for item in shown]

    def _score_one(self, shown: Shown, known: FloatArray, words: IntArray) -> Scored:
        presentation = shown.presentation
        seen = presentation.included()
        if self.relevance in ("position", "slot"):
            known = _by_place(presentation, whole=self.relevance == "position")
        scores = known + self._shifts(known, presentation)
        if self.noise:
            scores = scores + self.noise * _noise(shown, self.seed)
        if self.grid:
            scores = np.floor(scores * (self.grid - 1) + 0.5) / (self.grid - 1)
        prompts = len(presentation.windows)
        tokens = prompts * _count(shown.slate.query) + int(words[seen].sum())
        return Scored(np.where(seen, scores, np.nan), prompts=prompts, tokens=tokens)

    def _known(self, slate: Slate) -> FloatArray:
        drawn = np.array([_unit_hash(slate.query, key) for key in slate.ids], dtype=np.float64)
        if self.relevance != "grades" or slate.grades is None:
            return drawn
        return (1 - self.spread) * np.minimum(slate.gains(), 3) / 3 + self.spread * drawn

    def _shifts(self, known: FloatArray, presentation: Presentation) -> FloatArray:
        shifts = np.zeros(len(presentation))
        for window in presentation.windows:
            members, slots, width = list(window), np.arange(len(window)), len(window)
            shift = self.first_slot * (slots == 0)
            if width > 1:
                # fsum: the mean of the companions must not depend on their order.
                companions = (math.fsum(known[members]) - known[members]) / (width - 1)
                shift = shift - self.slot_bias * slots / (width - 1) - self.coupling * companions
            shifts[members] = shift
        return shifts


_DEFAULTS: Mapping[str, Any] = {
    entry.name: entry.default for entry in fields(Toy) if entry.name in _PARSERS
}


def open_toy(spec: str, **options: object) -> Toy:
    """Return the toy that a spec such as "toy:slot_bias=.3,noise=.05" names.

    Args:
        spec: "toy", or "toy:" and dials as name=value, separated by commas.
        options: further dials; one may stand in the spec or here, not in both.

    Raises:
        UsageError: a dial is unknown, given twice, or its value cannot be read.
    """
    head, colon, rest = spec.partition(":")
    if head != "toy":
        raise UsageError(f"{spec!r} is not a toy; write 'toy' or 'toy:dial=value,...'")
    dials: dict[str, Any] = {}
    for part in rest.split(",") if colon else []:
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value:
            raise UsageError(f"{spec!r}: {part!r} is not dial=value; dials are {sorted(_PARSERS)}")
        _require_new(name, dials)
        dials[name] = _read(name, value)
    for name, given in options.items():
        _require_new(name, dials)
        dials[name] = given
    return Toy(**dials)


def _require_new(name: str, dials: Mapping[str, Any]) -> None:
    if name not in _PARSERS:
        raise UsageError(f"toy: unknown dial {name!r}; known are {sorted(_PARSERS)}")
    if name in dials:
        raise UsageError(f"toy: dial {name!r} is given twice")


def _read(name: str, value: str) -> object:
    parser = _PARSERS[name]
    try:
        return parser(value)
    except ValueError:
        raise UsageError(f"toy: {name}={value!r} cannot be read as {parser.__name__}") from None


def _finite(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise UsageError(f"toy: {name} must be a number, got {value!r}")
    if not math.isfinite(value):
        raise UsageError(f"toy: {name} must be finite, got {value!r}")
    return float(value)


def _require_int(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise UsageError(f"toy: {name} must be an integer, got {value!r}")


def _unit_hash(query: str, candidate_id: str) -> float:
    """Return a number in [0, 1): 52 bits of a hash, which a float holds exactly."""
    return int(content_hash([query, candidate_id])[:13], 16) / 16**13


def _by_place(presentation: Presentation, *, whole: bool) -> FloatArray:
    """Return (n,) 1 - position/n of the whole order, or 1 - slot/B of each window."""
    scores = np.full(len(presentation), np.nan)
    for group in (presentation.order,) if whole else presentation.windows:
        scores[list(group)] = 1 - np.arange(len(group)) / max(1, len(group))
    return scores


def _noise(shown: Shown, seed: int) -> FloatArray:
    """Return (n,) standard normal draws that follow the candidates, not their indices."""
    ids = shown.slate.ids
    seen = content_hash([[ids[i] for i in window] for window in shown.presentation.windows])
    order = sorted(shown.presentation.order, key=ids.__getitem__)
    by_candidate = np.zeros(len(ids))
    by_candidate[order] = generator(seed, shown.slate.id, f"noise {seen}", shown.row).standard_normal(
        len(order)
    )
    return by_candidate


def _count(text: str) -> int:
    return len(text.split())


def _words(slate: Slate) -> IntArray:
    """Return the (n,) words of each candidate, title and text."""
    counts = [_count(candidate.title) + _count(candidate.text) for candidate in slate.candidates]
    return np.array(counts, dtype=np.int64)
