"""What a test may set, by the names that audit and gate have for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from evenhand.errors import UsageError
from evenhand.gate.options import KNOWN

MARKER = "evenhand"
# Settings of `evenhand.audit` that a test may give.
AUDIT = frozenset(
    (
        "design",
        "measures",
        "part_size",
        "remedies",
        "repeat",
        "rows",
        "rule",
        "seed",
        "surface",
        "threshold",
        "width",
    )
)
# Settings of the gate, as keywords; `threshold` is the audit's, and pytest writes its own JUnit file.
BOUNDS = frozenset(name.replace("-", "_") for name in KNOWN) - {"junit", "threshold"}
NAMES = AUDIT | BOUNDS | {"slates"}


def marked(item: pytest.Item) -> dict[str, Any]:
    """Return the settings of a test's markers; the closest wins.

    Args:
        item: the test.

    Raises:
        UsageError: a marker names what is unknown, or has a value without a name.
    """
    found: dict[str, Any] = {}
    for marker in item.iter_markers(MARKER):
        if marker.args:
            shown = ", ".join(map(repr, marker.args))
            raise UsageError(f"@pytest.mark.{MARKER}({shown}): name each value, for example rows=6")
        require_known(marker.kwargs, f"@pytest.mark.{MARKER}")
        found = {**marker.kwargs, **found}
    return found


def require_known(given: Iterable[str], where: str, known: frozenset[str] = NAMES) -> None:
    """Refuse settings by names that there are not.

    Args:
        given: the names. where: who gave them.
        known: those there are.

    Raises:
        UsageError: lists the unknown names and the known ones.
    """
    __tracebackhide__ = True
    if unknown := sorted(set(given) - known):
        raise UsageError(
            f"{where}: unknown setting {', '.join(unknown)}; known are {', '.join(sorted(known))}"
        )
