"""What the names of measures and counts mean to a reader."""

from __future__ import annotations

import re
from collections.abc import Iterable

_BASE = re.compile(r"^[A-Za-z]\w*")
_CHOICE = re.compile(r"(\w+)='(\w+)'")

# In the order of the headline table: the measure's name, its label and how to read it.
WORDS: dict[str, tuple[str, str]] = {
    "nDCG": ("", "linear gain, as trec_eval"),
    "AP": ("", "average precision"),
    "RR": ("", "reciprocal rank of the first relevant candidate"),
    "F1": ("set F1", "F1 of the retained set"),
    "tauPSI": (
        "",
        "share of candidate pairs that swap; 0 stable, 0.5 unrelated",
    ),
    "TopInstability": ("top instability", "1 - rank-biased overlap of the tops of two presentations"),
    "RankSpread": ("rank spread", "sd of a candidate's rank over presentations, in ranks"),
    "OrderSD": ("score movement", "sd of a candidate's score over presentations"),
    "ScoreSpread": (
        "score spread",
        "sd of the scores within a row; under 0.02 is a collapse",
    ),
    "Residual": (
        "normalised residual",
        "movement over spread; at 1 order says as much as content",
    ),
    "CanonicalPSI": ("tauPSI from canonical", "the same between each row and the canonical one"),
    "ScoreChange": ("score change", "mean distance of a score from its canonical one"),
    "PoolPSI": ("Pool-PSI", "share of pairs of survivors that swap when one member is exchanged"),
    "TopSetFlip": ("top-set flip", "share of rows whose top set is not the canonical one"),
    "RetainedDelta": ("score change of the retained", "the same for what the canonical row retains"),
    "TiedPairs": ("pairs tied in both rows", "equal scores are no instability, but no ranking either"),
    "ExactTies": ("exact ties", "share of neighbours in the ranking whose scores are equal"),
    "Overlap": ("retained-set overlap", "Jaccard of the sets that two presentations retain"),
    "OverlapNonEmpty": (
        "overlap, empty pairs left out",
        "the same without pairs that both retain nothing",
    ),
    "BothEmpty": ("pairs that retain nothing", "they count as agreement in the overlap"),
    "SetFlip": ("set flip", "retained in some but not all presentations, of those retained in any"),
    "Top1Flip": ("top-1 flip", "share of pairs of presentations with another best candidate"),
    "PairFlip": ("pair flip", "share of pairs of presentations with another (best, worst) pair"),
    "CorrectFlip": ("best right or wrong", "slates where it depends on the order"),
    "Margin": ("margin", "best minus second score, in units of the scorer"),
    "GoldAccuracy": ("best has the top grade", "undefined where all grades are equal"),
    "FirstSlot": (
        "best stands in the first slot",
        "share of presentations won by what was shown first",
    ),
    "Retained": ("retained share", "share of candidates at or above the threshold"),
}
COUNTS: dict[str, str] = {
    "failed_rows": "rows that lack scores, with a reason in the records",
    "remarked_rows": "rows that have all scores after something was dropped or repaired",
    "remarked_slates": "slates with such rows",
    "missing_scores": "never counted as 0",
    "exhaustive_slates": "small slates whose every order was shown",
    "degenerate_slates": "slates whose candidates all score the same",
    "empty_texts": "kept and scored",
    "equal_texts": "candidates whose text another one of the slate has",
    "truncated_tokens": "cut from candidates, never from query or instructions",
    "truncated_further": "by the presentation of each slate that cuts most, beyond that",
    "escaped_places": "places in texts that looked like a marker or an answer line",
    "query_escaped": "places in queries that did",
    "low_label_mass": "scores whose grades held under half of the probability",
}
_RANK = {name: place for place, name in enumerate(WORDS)}


def base(name: str) -> str:
    """Return the head of a measure's name: "Overlap" of "Overlap(t=0.5)"."""
    found = _BASE.match(name)
    return found.group() if found else name


def describe(name: str) -> tuple[str, str]:
    """Return (label, how to read it) of a measure or count; a new name stands for itself."""
    head = base(name)
    label, hint = WORDS.get(head, ("", ""))
    if head in WORDS:
        rest = _plain(name[len(head) :]).replace("(", " (").replace("@", " @" if label else "@")
        return (label or head) + rest, hint
    return name.replace("_", " "), COUNTS.get(name, "")


def _plain(options: str) -> str:
    """Return the options of a measure in words: "strict ties" for ties='strict'."""
    return _CHOICE.sub(
        lambda found: found[2] if found[1] == "kind" else f"{found[2]} {found[1]}", options
    )


def in_order(names: Iterable[str]) -> list[str]:
    """Return measure names in the order of the headline table, unknown ones last."""
    return sorted(names, key=lambda name: _RANK.get(base(name), len(_RANK)))
