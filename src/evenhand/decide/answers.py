"""Short answers against gold: SQuAD's normalisation, exact match and token F1."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalise(answer: str) -> str:
    """Return an answer without what SQuAD's evaluation overlooks.

    Lower case, no ASCII punctuation, no articles (a, an, the), single spaces;
    in this order, so that "U.S.A." is "usa" and "the-end" is "theend".
    """
    bare = answer.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def first_line(text: str) -> str:
    """Return the first line that is not empty, stripped; "" where there is none."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def exact_match(answer: str, gold: Sequence[str]) -> float:
    """Return 1 if the normalised answer equals a normalised gold answer, else 0.

    Args:
        answer: what was given; an empty one is right only where an empty gold answer is.
        gold: the gold answer and its aliases.

    Returns:
        0 or 1; NaN without gold answers.
    """
    return _best(answer, gold, lambda given, wanted: float(given == wanted))


def token_f1(answer: str, gold: Sequence[str]) -> float:
    """Return the best F1 over gold answers of the words shared after normalisation.

    Words are counted as often as both hold them. Where either side has no words
    F1 is 1 if neither has, else 0.

    Args:
        answer: what was given.
        gold: the gold answer and its aliases.

    Returns:
        0 to 1; NaN without gold answers.
    """
    return _best(answer, gold, _f1)


def _best(answer: str, gold: Sequence[str], value: Callable[[str, str], float]) -> float:
    given = normalise(answer)
    return max((value(given, normalise(alias)) for alias in gold), default=float("nan"))


def _f1(given: str, wanted: str) -> float:
    ours, theirs = given.split(), wanted.split()
    if not ours or not theirs:
        return float(ours == theirs)
    shared = sum((Counter(ours) & Counter(theirs)).values())
    # 2 p r / (p + r) with p = shared / ours and r = shared / theirs.
    return 2 * shared / (len(ours) + len(theirs))
