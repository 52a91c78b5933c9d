import json
import math

import numpy as np
import pytest

from evenhand.errors import NothingMeasuredError, UsageError
from evenhand.score.function import scorer
from evenhand.study.donors import FILLER
from evenhand.study.width import contrast, width_effect
from evenhand.types import Candidate, Slate


def slate(key, values):
    """Candidates of nine characters, "key:value.." each with its own value."""
    return Slate(
        key,
        f"about {key}",
        tuple(Candidate(f"{key}{i}", f"{key}:{v:.4f}x") for i, v in enumerate(values)),
    )


SLATES = [slate("p", [0.9, 0.5, 0.1, 0.3]), slate("q", [0.2, 0.4, 0.8, 0.6])]


def effects(slot=0.0, length=0.0, content=0.0):
    """A scorer whose three effects are known: slot, characters beside, companions of its slate."""

    def f(query, texts):
        about = query.removeprefix("about ")
        found = []
        for place, text in enumerate(texts):
            others = texts[:place] + texts[place + 1 :]
            value = 0.0 if text == FILLER else float(text[2:8])
            found.append(
                value
                - slot * place
                - length * sum(len(other) - len(FILLER) for other in others)
                - content * sum(other.startswith(about + ":") for other in others)
            )
        return found

    return scorer(f)


def test_contrast_by_hand():
    # Differences .2 and .4; both rankings alike; two points lie on a line.
    assert contrast([1.0, 0.5], [0.8, 0.1]) == pytest.approx((0.3, 0, 1))
    assert contrast([1.0, 0.5], [0.5, 1.0])[1:] == pytest.approx((1, -1))
    a, b = np.random.default_rng(0).random((2, 9))
    assert contrast(a, b)[2] == pytest.approx(np.corrcoef(a, b)[0, 1])
    assert contrast([1.0, math.nan, 0.5], [0.8, 3, 0.1]) == pytest.approx((0.3, 0, 1))
    assert math.isnan(contrast([1.0, 1.0], [0.8, 0.1])[2])
    assert contrast([1.0, math.nan], [0.8, 1.0])[0] == pytest.approx(0.2)
    assert math.isnan(contrast([math.nan], [1.0])[0])


@pytest.mark.parametrize(
    ("dials", "slot", "length", "content"),
    [
        # Width 2: slots 0 and 1, so half of the candidates lose .1.
        ({"slot": 0.1}, 0.05, 0, 0),
        # The one stand-in has 9 characters, the filler 7.
        ({"length": 0.01}, 0, 0.02, 0),
        ({"content": 0.3}, 0, 0, 0.3),
        ({"slot": 0.1, "length": 0.01, "content": 0.3}, 0.05, 0.02, 0.3),
    ],
)
def test_the_effects_are_told_apart(dials, slot, length, content):
    found = width_effect(effects(**dials), SLATES, width=2)
    assert found.steps["slot"].difference.mean == pytest.approx(slot, abs=1e-12)
    assert found.steps["length"].difference.mean == pytest.approx(length, abs=1e-12)
    assert found.steps["content"].difference.mean == pytest.approx(content, abs=1e-12)
    # All effects go down, so they add up.
    assert found.steps["all"].difference.mean == pytest.approx(slot + length + content)
    assert found.to_alone["real"] == found.steps["all"]
    assert found.to_alone["slot"] == found.steps["slot"]
    assert found.length_ratio == 1


def test_scores_are_those_of_each_candidate_in_canonical_order():
    found = width_effect(effects(slot=0.1), SLATES, width=2)
    np.testing.assert_allclose(found.scores["alone"][0], [0.9, 0.5, 0.1, 0.3])
    for name in ("slot", "unrelated", "real"):
        np.testing.assert_allclose(found.scores[name][0], [0.9, 0.4, 0.1, 0.2])
    # .9 > .5 > .3 > .1 became .9 > .4 > .2 > .1: nothing swaps.
    assert found.steps["slot"].kendall.mean == 0


def test_cost_and_json():
    found = width_effect(effects(), SLATES, width=2)
    # Four prompts each for alone, slot and unrelated, two windows for real.
    assert found.cost.prompts_per_slate == 14
    record = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert record["settings"]["filler"] == FILLER
    assert record["scores"]["alone"][1] == [0.2, 0.4, 0.8, 0.6]
    assert record["missing"] == 0


def test_an_order_free_scorer_does_not_move():
    found = width_effect(effects(), SLATES, width=4)
    assert all(step.difference.mean == 0 and step.kendall.mean == 0 for step in found.steps.values())


def test_missing_scores_are_counted_and_left_out():
    def f(query, texts):
        return [math.nan if len(texts) > 1 and text[2:5] == "0.9" else 1.0 for text in texts]

    found = width_effect(scorer(f), SLATES, width=2)
    # The one candidate in its three readings in company; as a stand-in it is not read.
    assert found.missing == 3
    with pytest.raises(NothingMeasuredError, match="alone and with its companions"):
        width_effect(scorer(lambda query, texts: [math.nan] * len(texts)), SLATES, width=2)


def test_one_slate_has_nobody_to_lend():
    with pytest.raises(UsageError, match="need more slates"):
        width_effect(effects(), SLATES[:1], width=2)
    with pytest.raises(UsageError, match="at most 2"):
        width_effect(scorer(lambda query, texts: [0] * len(texts), max_window=2), SLATES, width=3)
