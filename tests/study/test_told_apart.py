"""Ten kinds of scorer, each a small function, are told apart by the channels' report."""

import hashlib
import math

import numpy as np
import pytest

from evenhand.report.channels import to_text
from evenhand.score.function import scorer
from evenhand.study.causes.channels import study_channels
from evenhand.types import Candidate, Slate

CHANNELS = ("order", "companions", "window", "membership")
WIDTH = 5


def merit(query, text):
    """A number in [0, 1) that depends on query and text alone."""
    return int(hashlib.sha256(f"{query} {text}".encode()).hexdigest()[:12], 16) / 16**12


def merits(query, texts):
    return [merit(query, text) for text in texts]


def constant(query, texts):
    return [0.5] * len(texts)


def with_ties(query, texts):
    # Candidates come in pairs of one quality: "3a" and "3b" score the same.
    return [merit(query, text[:-1]) for text in texts]


def position_only(query, texts):
    return [1 - place / len(texts) for place in range(len(texts))]


def first_slot_lover(query, texts):
    return [merit(query, text) + 0.4 * (place == 0) for place, text in enumerate(texts)]


def companion_coupled(query, texts):
    found = merits(query, texts)
    # fsum: float error must not depend on the order.
    return [m - 0.5 * (math.fsum(found) - m) / max(1, len(found) - 1) for m in found]


def min_max(query, texts):
    found = merits(query, texts)
    low, high = min(found), max(found)
    return [(m - low) / (high - low) if high > low else 0.0 for m in found]


def batch_normalising(query, texts):
    found = [math.exp(4 * m) for m in merits(query, texts)]
    return [m / math.fsum(found) for m in found]


class StaleByOne:
    """Keeps the answer to the last call of a query, and gives the one before."""

    def __init__(self):
        self.last = {}

    def __call__(self, query, texts):
        fresh = merits(query, texts)
        key = (query, len(texts))
        stale, self.last[key] = self.last.get(key, fresh), fresh
        return stale


class StalePrefix:
    """Remembers scores by the start of the prompt, and gives them back a call too late."""

    def __init__(self):
        self.last = {}

    def __call__(self, query, texts):
        fresh = merits(query, texts)
        key = (query, texts[0], len(texts))
        stale, self.last[key] = self.last.get(key, fresh), fresh
        return stale


class MixedAfterTheFirst:
    """Answers the first call of a query, and mixes that up with the place in all later ones."""

    def __init__(self):
        self.asked = set()

    def __call__(self, query, texts):
        later = (query, len(texts)) in self.asked
        self.asked.add((query, len(texts)))
        return [m + 0.3 * later * place for place, m in enumerate(merits(query, texts))]


def coarse_grade(query, texts):
    return [int(4 * m) for m in merits(query, texts)]


class CountsItsCalls:
    """Adds what depends on how often it was asked."""

    def __init__(self):
        self.calls = 0

    def __call__(self, query, texts):
        self.calls += 1
        noise = np.random.default_rng(self.calls).normal(0, 0.1, len(texts))
        return (np.array(merits(query, texts)) + noise).tolist()


class DriftsWithItsCalls(CountsItsCalls):
    """Shifts all scores of a call alike, in turn."""

    def __call__(self, query, texts):
        self.calls += 1
        return [m + 0.03 * (self.calls % 7) for m in merits(query, texts)]


KINDS = {
    "constant": (lambda: constant, {"constant"}),
    "order-free with ties": (lambda: with_ties, {"order_free", "ties"}),
    "position-only": (lambda: position_only, {"position_only"}),
    "first-slot-lover": (lambda: first_slot_lover, {"first_slot"}),
    "companion-coupled": (lambda: companion_coupled, {"companion_coupled"}),
    "min-max-normalising": (lambda: min_max, {"min_max"}),
    "batch-normalising": (lambda: batch_normalising, {"batch_normalised"}),
    "stale cache": (StaleByOne, {"stale_cache"}),
    "stale prefix cache": (StalePrefix, {"stale_cache"}),
    "stale after the first": (MixedAfterTheFirst, {"stale_cache"}),
    "coarse-grade": (lambda: coarse_grade, {"coarse", "order_free"}),
    "call-counter noise": (CountsItsCalls, {"call_noise"}),
    "call-counter drift": (DriftsWithItsCalls, {"call_noise"}),
}
HONEST = {"order_free"}


def slates(count=8, n=11):
    return [
        Slate(
            f"s{q}",
            f"query {q}",
            tuple(Candidate(f"{q}-{i}", f"{i // 2}{'ab'[i % 2]}") for i in range(n)),
        )
        for q in range(count)
    ]


@pytest.fixture(scope="module")
def studied(tmp_path_factory):
    """A function that studies a scoring function, each once."""
    known = {}

    def study(name, make, **settings):
        key = (name, *settings.items())
        if key not in known:
            out = tmp_path_factory.mktemp("study")
            wanted = {"channels": CHANNELS, "width": WIDTH, "rows": 6, **settings}
            known[key] = study_channels(scorer(make(), name=name), slates(), out=out, **wanted)
        return known[key]

    return study


def kinds(study):
    """Codes of the findings, what only says that windows matter left out."""
    return {finding.code for finding in study.findings} - {"form_dependent"}


@pytest.mark.parametrize("name", sorted(KINDS))
def test_each_kind_is_named(studied, name):
    make, expected = KINDS[name]
    study = studied(name, make)
    assert kinds(study) == expected, to_text(study)


@pytest.mark.parametrize("name", sorted(KINDS))
def test_the_evidence_stands_in_the_report(studied, name):
    make, expected = KINDS[name]
    text = to_text(studied(name, make))
    flat = " ".join(text.split())
    for code in expected:
        assert f"({code})" in flat


def test_an_honest_scorer_raises_no_alarm(studied):
    study = studied("honest", lambda: merits)
    assert kinds(study) == HONEST
    assert all(finding.severity == "note" for finding in study.findings)
    # The order channel and all others: nothing moves, to the last bit.
    for row in study.rows:
        assert row.value("tauPSI").mean == row.value("ScoreChange").mean == 0


def test_the_whole_slate_in_one_window_is_enough_with_membership(studied):
    # Companions cannot vary; who is exchanged still tells.
    for name in ("companion-coupled", "min-max-normalising", "batch-normalising", "position-only"):
        make, expected = KINDS[name]
        study = studied(name, make, width=None, channels=("order", "companions", "membership"))
        assert kinds(study) == expected, to_text(study)
        companions = next(row for row in study.rows if row.channel == "companions")
        assert (companions.variants, companions.analysis) == (0, None)
    honest = studied("honest", lambda: merits, width=None, channels=("order", "membership"))
    assert kinds(honest) == HONEST


def test_min_max_is_what_the_case_says(studied):
    # Order tau-PSI 0, and an overlap below 1 after replacements.
    study = studied("min-max-normalising", lambda: min_max, threshold=0.5)
    rows = {row.channel: row for row in study.rows}
    assert rows["order"].value("tauPSI").mean == 0
    assert rows["membership"].value("Overlap").mean < 1
