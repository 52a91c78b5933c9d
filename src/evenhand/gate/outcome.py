"""How a gate ends, and which of several ends stands: the one place that says so."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from evenhand.errors import UsageError


class Outcome(Enum):
    """How a criterion, a run or a whole gate ended: (word, exit code)."""

    PASSED = ("passed", 0)
    FAILED = ("failed", 1)
    UNMEASURED = ("nothing measured", 5)
    UNSCORED = ("nothing scored", 6)
    PARTLY = ("partly scored", 7)
    INCONCLUSIVE = ("inconclusive", 8)

    @property
    def word(self) -> str:
        """What a report prints."""
        return self.value[0]

    @property
    def exit_code(self) -> int:
        """What the process returns."""
        return self.value[1]


# A failed criterion first: it is known already, whatever else would be mended. Then what
# keeps numbers from being there at all, then from being complete, then from deciding.
PRECEDENCE = (
    Outcome.FAILED,
    Outcome.UNSCORED,
    Outcome.UNMEASURED,
    Outcome.PARTLY,
    Outcome.INCONCLUSIVE,
    Outcome.PASSED,
)


def gravest(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the one outcome that stands for several, by PRECEDENCE.

    Raises:
        UsageError: there are none; a gate that judged nothing has not passed.
    """
    found = set(outcomes)
    if not found:
        raise UsageError("nothing was judged; name a run and a criterion")
    return min(found, key=PRECEDENCE.index)
