"""From the signs of a scorer's channels to the kind of scorer it most likely is.

Each rule names one kind and says what it saw. Nothing is held against a scorer
whose scores move with the candidate alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

from evenhand.study.analysis import Finding, gravest_first
from evenhand.study.causes.signs import Signs

# In spreads: below it is float noise of one prompt in another batch.
MOVED_SPREADS = 1e-3
# A channel moves an unsteady scorer only where it moves it this much more than noise.
ABOVE_NOISE = 3.0
ALL = 0.99
MOST = 0.9
HALF = 0.5
SOME = 0.2
REST = 0.1
FEW_LEVELS = 11
TELLING_SLATES = 3
COARSE_TIES = 0.05
EVEN = 1e-6

Channels = Mapping[str, Signs]
Rule = Callable[["Evidence"], Iterator[Finding]]

SURFACE_CHANNELS = ("marker", "skeleton", "rubric", "window")


class Evidence:
    """The signs of all channels, the noise of one presentation, and what rules ask of them."""

    def __init__(self, channels: Channels) -> None:
        self.channels = channels
        self.noise = _largest(signs.repeat_change for signs in channels.values())

    def largest(self, name: str) -> float:
        """Return the largest value of a sign over the channels, NaN where none has it."""
        return _largest(getattr(signs, name) for signs in self.channels.values())

    def least(self, name: str) -> float:
        """Return the least value of a sign over the channels; NaN where none has it."""
        return -_largest(-getattr(signs, name) for signs in self.channels.values())

    def moves(self, change: float) -> bool:
        """Return whether a change is more than float error and the scorer's own noise."""
        floor = 0.0 if math.isnan(self.noise) else self.noise
        return change > max(MOVED_SPREADS, ABOVE_NOISE * floor if floor > MOVED_SPREADS else 0.0)

    @property
    def constant(self) -> bool:
        """Whether no slate's candidates ever differ."""
        return self.least("constant") == 1

    @property
    def unsteady(self) -> bool:
        """Whether the same presentation scored twice differs."""
        return self.noise > MOVED_SPREADS

    @property
    def coarse(self) -> bool:
        """Whether there are only a few different scores, and ties because of it."""
        levels = self.largest("levels")
        few = levels <= FEW_LEVELS and 4 * levels <= self.largest("scores")
        return few and not self.constant and self.largest("tied") >= COARSE_TIES

    @property
    def by_position(self) -> bool:
        """Whether the place alone decides the score."""
        return self.moves(self.largest("slot_change")) and self._order.by_slot >= ALL

    @property
    def min_max(self) -> bool:
        """Whether every window runs from 0 to 1, of many values or with companions that matter."""
        telling = not self.coarse and self.largest("slates") >= TELLING_SLATES
        return self.least("ends") >= ALL and (telling or self.moves(self.largest("companion_change")))

    @property
    def normalised(self) -> bool:
        """Whether companions matter and every window has the same ends or the same sum."""
        even = self.min_max or self.largest("uneven") <= EVEN
        return even and self.moves(self.largest("companion_change"))

    @property
    def _order(self) -> Signs:
        return self.channels.get("order", Signs())


def _largest(values: Iterator[float]) -> float:
    return max((value for value in values if not math.isnan(value)), default=math.nan)


def _constant(seen: Evidence) -> Iterator[Finding]:
    if seen.constant:
        yield Finding(
            "constant",
            "warning",
            "A constant scorer: in every slate and presentation all candidates score the same. It is "
            "perfectly stable and ranks nothing; every agreement here is one of ties.",
        )


def _unsteady(seen: Evidence) -> Iterator[Finding]:
    if not seen.unsteady:
        return
    returned, echoed = seen.largest("returned"), seen.largest("echoed")
    noise = f"The same presentation scored twice moves scores by {_number(seen.noise)} spreads"
    old = ""
    if not seen.coarse and (returned >= HALF or echoed >= SOME):
        old = (
            f"old values come back: {_percent(returned)} of the moved scores are ones that another "
            f"candidate had before, and {_percent(echoed)} of the windows repeat, slot by slot, the "
            "scores of an earlier window with other candidates"
        )
    elif seen.least("later_noise") <= REST * seen.noise:
        old = "only the first answer is apart: all later ones agree with each other"
    if old:
        yield Finding(
            "stale_cache",
            "error",
            f"Looks like a stale cache: {noise}, and {old}. Key the cache by the whole prompt, or "
            "switch it off.",
        )
        return
    kind = "a stale cache or noise of the call" if seen.coarse else "noise of the call"
    yield Finding(
        "call_noise",
        "error",
        f"Looks like {kind}: {noise}, to new values ({_percent(returned)} of them were seen before "
        "in the slate). The score depends on when or how often it is asked (sampling, a counter, what "
        "else is in a server's batch), not only on what is shown. Fix the seed and the temperature, "
        "or average.",
    )


def _position(seen: Evidence) -> Iterator[Finding]:
    order = seen.channels.get("order")
    if order is None or seen.constant or not seen.moves(order.slot_change):
        return
    moved = (
        f"changing only the slot moves scores by {_number(order.slot_change)} spreads, and the slot "
        f"explains {_percent(order.slot_share)} of the movement"
    )
    if order.by_slot >= ALL:
        yield Finding(
            "position_only",
            "error",
            "A position-only scorer: within a window the slot alone explains "
            f"{_percent(order.by_slot)} of the scores, whatever stands there. It repeats the order it "
            "is given and reads nothing.",
        )
    elif order.first_share >= MOST:
        likes = "likes" if order.first_gain > 0 else "dislikes"
        yield Finding(
            "first_slot",
            "error",
            f"{likes.capitalize()} the first slot: {moved}; standing first or not explains "
            f"{_percent(order.first_share)} alone, {_number(order.first_gain, sign=True)} spreads.",
        )
    elif order.slot_share >= MOST:
        yield Finding("slot_bias", "warning", f"A slot bias: {moved}. Average over orders, or isolate.")
    else:
        yield Finding(
            "order_dependent",
            "warning",
            f"Depends on the order: {moved}; the rest depends on what stands where.",
        )


def _companions(seen: Evidence) -> Iterator[Finding]:
    change = seen.largest("companion_change")
    moving = seen.moves(change)
    if seen.constant or seen.by_position or not (moving or seen.min_max):
        return
    where = [name for name, signs in seen.channels.items() if seen.moves(signs.companion_change)]
    moved = (
        f"other companions at the same slot move scores by {_number(change)} spreads "
        f"({', '.join(where)})"
    )
    if not moving:
        moved = "no exchange here touched the best or the worst, so nothing moved yet"
    if seen.min_max:
        yield Finding(
            "min_max",
            "error",
            f"Min-max-normalised over the candidates given: {moved}, and in "
            f"{_percent(seen.least('ends'))} of the windows the lowest score is 0 and the highest 1. "
            "A score says where a candidate stands among its companions, so no threshold holds. Use "
            "the raw scores.",
        )
    elif seen.normalised:
        yield Finding(
            "batch_normalised",
            "error",
            f"Normalised over the batch: {moved}, and the scores of every window add up to the same, "
            "as after a softmax or centring over what one call is given. No threshold holds over "
            "windows. Use the raw scores.",
        )
    else:
        yield Finding(
            "companion_coupled",
            "warning",
            f"Coupled to its companions: {moved}. What a candidate scores depends on who else is in "
            "the prompt; smaller windows or isolated candidates remove it.",
        )


def _levels(seen: Evidence) -> Iterator[Finding]:
    tied = seen.largest("tied")
    if seen.constant or seen.by_position or not tied > 0:
        return
    levels, scores = int(seen.largest("levels")), int(seen.largest("scores"))
    if seen.coarse and not seen.normalised:
        yield Finding(
            "coarse",
            "warning",
            f"Coarse grades: {levels} different values among {scores} scores, {_percent(tied)} of the "
            "pairs tied. Ties count as agreement, so stability here is partly rounding; read tied "
            "pairs beside it.",
        )
    elif not seen.unsteady and not seen.normalised:
        # Noise, old values and normalised windows make ties of their own.
        yield Finding(
            "ties",
            "note",
            f"{_percent(tied)} of the pairs of candidates are tied; ties are broken by a hash of "
            "the ids, never by place, and move nothing.",
        )


def _surface(seen: Evidence) -> Iterator[Finding]:
    moved = {
        name: seen.channels[name].change
        for name in SURFACE_CHANNELS
        if name in seen.channels and seen.moves(seen.channels[name].change)
    }
    if moved and not seen.constant:
        said = ", ".join(f"{name} {_number(change)}" for name, change in moved.items())
        yield Finding(
            "form_dependent",
            "note",
            f"Depends on the form of the prompt: scores move by (spreads) {said}.",
        )


def _steady(seen: Evidence) -> Iterator[Finding]:
    varied = [name for name, signs in seen.channels.items() if signs.rows]
    changes = [seen.channels[name].change for name in varied]
    if seen.constant or seen.unsteady or seen.min_max or not varied or any(map(seen.moves, changes)):
        return
    placed = "order" in varied and ("companions" in varied or "membership" in varied)
    kind = "Looks order-free" if placed else "Not moved so far"
    yield Finding(
        "order_free" if placed else "unmoved",
        "note",
        f"{kind}: nothing that was varied ({', '.join(varied)}) moves a score.",
    )


RULES: tuple[Rule, ...] = (
    _constant,
    _unsteady,
    _position,
    _companions,
    _levels,
    _surface,
    _steady,
)


def _number(value: float, *, sign: bool = False) -> str:
    return f"{value:+.2f}" if sign else f"{value:.2g}"


def _percent(share: float) -> str:
    return "an unknown share" if math.isnan(share) else f"{100 * share:.0f}%"


def fingerprint(channels: Channels) -> tuple[Finding, ...]:
    """Return the kinds of scorer that the channels of a study point to.

    Args:
        channels: signs by channel name, of runs of one scorer on the same slates.

    Returns:
        Findings, the gravest first; their codes name the kinds, as the rules above
        and docs/measures/channels.md do. An honest scorer gives notes only.
    """
    evidence = Evidence(channels)
    return gravest_first(finding for rule in RULES for finding in rule(evidence))
