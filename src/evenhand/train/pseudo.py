"""Pseudo-queries: questions made out of the texts they are asked of.

Where there are texts and no questions, a sentence of a text, or a few of its rare
words, stands for a question that the text answers.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping

import numpy as np

from evenhand.errors import UsageError
from evenhand.seeds import generator

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"'(])")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9'-]+")
# A sentence shorter than this says little, a longer one is no question.
SENTENCE_WORDS = (5, 24)
RARE_WORDS = (2, 6)


def rarity(texts: Mapping[str, str]) -> dict[str, float]:
    """Return log(N / document frequency) of every lower-case word of a collection of N texts.

    Raises:
        UsageError: there are no texts.
    """
    if not texts:
        raise UsageError("rarity of words needs at least one text")
    counts = Counter(word for text in texts.values() for word in set(_words(text)))
    return {word: math.log(len(texts) / count) for word, count in counts.items()}


def pseudo_query(key: str, text: str, rare: Mapping[str, float], *, seed: int = 0) -> str | None:
    """Return a question made of a text, or None when it is too short for one.

    Half of the draws take a sentence of 5 to 24 words, the other half 2 to 6 words
    drawn with a weight of their rarity, in the order of the text; a text without such
    a sentence gives words.

    Args:
        key: id of the text; with the seed it decides the draw.
        rare: of the words, from `rarity`; unknown words are left out.
    """
    rng = generator(seed, key, "pseudo-query")
    low, high = SENTENCE_WORDS
    sentences = [s.strip() for s in _SENTENCE.split(text) if low <= len(s.split()) <= high]
    if sentences and rng.random() < 0.5:
        return sentences[int(rng.integers(len(sentences)))]
    found = list(dict.fromkeys(word for word in _words(text) if rare.get(word, 0) > 0))
    if len(found) < RARE_WORDS[0]:
        return None
    weights = np.array([rare[word] for word in found]) ** 2
    count = min(len(found), int(rng.integers(RARE_WORDS[0], RARE_WORDS[1] + 1)))
    drawn = rng.choice(len(found), size=count, replace=False, p=weights / weights.sum())
    return " ".join(found[i] for i in sorted(drawn))


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]
