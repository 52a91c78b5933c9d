"""What adaptive is for, on toys; benchmarks/adaptive.py shows the same on many more slates."""

import math

import numpy as np
import pytest

from evenhand.measure.decision import overlap, retained_sets
from evenhand.present.design import design
from evenhand.remedy import parse
from evenhand.remedy.adaptive import adaptive
from evenhand.score.toy import Toy
from evenhand.types import Candidate, Slate


def slate(n, name):
    return Slate(name, f"query {name}", tuple(Candidate(f"c{i}", f"text {i}") for i in range(n)))


TOYS = {
    "noise": (Toy(relevance="hash", noise=0.02), 0.5),
    "slot bias": (Toy(relevance="hash", slot_bias=0.06), 0.47),
    "coupling": (Toy(relevance="hash", coupling=0.3, noise=0.01), 0.35),
}


@pytest.fixture(scope="module")
def observed():
    """By toy: runs of bare, averaged and adaptive scorer over 10 slates of 100, 4 rows each."""
    found = {}
    for name, (toy, threshold) in TOYS.items():
        rows = design(rows=4, width=10, repeat=False)
        slates = [slate(100, f"{name} {i}") for i in range(10)]
        shown = [one for s in slates for one in rows.draw(s).shown(s) if one.kind == "random"]
        explained = adaptive(threshold=threshold)(toy).explain(shown)
        runs = {
            "bare": toy.score(shown),
            "average": parse("average:10")(toy).score(shown),
            "adaptive": [scored for scored, _ in explained],
        }
        found[name] = runs, [doubt for _, doubt in explained]
    return found


def _sets(runs, threshold):
    return np.array([retained_sets([one.scores], threshold)[0] for one in runs]).reshape(10, 4, 100)


@pytest.mark.parametrize("name", sorted(TOYS))
def test_overlap_of_average_10_at_3_times_the_cost(observed, name):
    runs, _ = observed[name]
    found = {
        what: np.array([overlap(rows) for rows in _sets(given, TOYS[name][1])])
        for what, given in runs.items()
    }
    apart = found["adaptive"] - found["average"]
    # A mean of 10 slates: two standard errors of the paired difference.
    assert apart.mean() > -2 * apart.std(ddof=1) / math.sqrt(len(apart))
    assert found["adaptive"].mean() > found["bare"].mean() + 0.015
    prompts = {what: np.mean([one.prompts for one in given]) for what, given in runs.items()}
    # Over many more slates it is under 3 (see the benchmark); 10 slates are within .15 of it.
    assert prompts["adaptive"] / prompts["bare"] < 3.15


@pytest.mark.parametrize(("what", "other"), [("flip_again", "adaptive"), ("flip_single", "bare")])
def test_stated_flips_come_true(observed, what, other):
    stated, flips = [], []
    for name, (runs, doubts) in observed.items():
        own, others = (_sets(runs[which], TOYS[name][1]) for which in ("adaptive", other))
        stated += [getattr(doubt, what) for doubt in doubts]
        # Of the three other rows of a slate, the share that decides otherwise.
        flips.append(np.mean([np.roll(others, by, axis=1) != own for by in (1, 2, 3)], axis=0))
    stated, flips = np.array(stated).ravel(), np.array(flips).ravel()
    skill = 1 - ((stated - flips) ** 2).mean() / ((flips.mean() - flips) ** 2).mean()
    assert skill > 0.2
    inside = (stated >= 0.05) & (stated <= 0.95)
    # 30 slates: some 400 and 1,500 stated, not independent within a slate. In the large, and
    # on both sides of .25, within what so few can tell; .05 takes the benchmark's numbers.
    assert inside.sum() > 250
    assert stated[inside].mean() == pytest.approx(flips[inside].mean(), abs=0.05)
    for part in (inside & (stated < 0.25), inside & (stated >= 0.25)):
        assert stated[part].mean() == pytest.approx(flips[part].mean(), abs=0.08)
