"""Verdicts on a claim: the allowed labels, and how they are read and counted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from evenhand.errors import UsageError

# By label, the words that stand for it in a prompt.
LABELS: dict[str, str] = {
    "SUPPORTS": "SUPPORTS",
    "REFUTES": "REFUTES",
    "NOT_ENOUGH_INFO": "NOT ENOUGH INFO",
}

_SEPARATORS = re.compile(r"[\s_-]+")


def as_label(text: str) -> str | None:
    """Return the label that a text spells, whatever its case and separators; None for none.

    The whole text must be the label, but for a final full stop or quotes.
    """
    spelled = _SEPARATORS.sub("_", text.strip().strip(".\"'`* ")).upper()
    return spelled if spelled in LABELS else None


def find_label(text: str) -> str | None:
    """Return the one label that a free text names, None where it names none or several."""
    spelled = f"_{re.sub(r'[^A-Z]+', '_', text.upper())}_"
    found = [label for label in LABELS if f"_{label}_" in spelled]
    return found[0] if len(found) == 1 else None


def likeliest_label(tokens: Iterable[tuple[str, float]]) -> str | None:
    """Return the label that an answer most likely begins with, None where no token begins one.

    The probability of a label is that of all tokens that begin it, whatever their case.
    Of equally likely labels the first in `LABELS` is named.

    Args:
        tokens: (text, probability) of the likeliest first tokens of an answer.
    """
    found = dict.fromkeys(LABELS, 0.0)
    for text, probability in tokens:
        begun = _SEPARATORS.sub("_", text.strip().strip(".\"'`* ")).upper()
        for label in LABELS:
            found[label] += probability if begun and label.startswith(begun) else 0.0
    best = max(found, key=lambda label: found[label])
    return best if found[best] > 0 else None


def majority_class(labels: Iterable[str]) -> tuple[str, float]:
    """Return the most common label and its share: what a constant reader can reach.

    Of equally common labels the first in `LABELS` is named.

    Raises:
        UsageError: there are no labels.
    """
    counts = Counter(labels)
    if not counts:
        raise UsageError("no gold verdicts, so no majority class; give slates with a verdict")
    order = {label: place for place, label in enumerate(LABELS)}
    label = min(counts, key=lambda one: (-counts[one], order.get(one, len(order)), one))
    return label, counts[label] / counts.total()
