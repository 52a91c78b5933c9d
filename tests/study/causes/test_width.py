import json
import math

import numpy as np
import pytest

from evenhand.errors import NothingMeasuredError, ScorerError, UsageError
from evenhand.score.function import scorer
from evenhand.study.causes.donors import FILLER
from evenhand.study.causes.width import contrast, width_effect
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
        width_effect(
            scorer(lambda query, texts: [math.nan if len(texts) > 1 else 1.0] * len(texts)),
            SLATES,
            width=2,
        )


def test_one_slate_has_nobody_to_lend():
    with pytest.raises(UsageError, match="need more slates"):
        width_effect(effects(), SLATES[:1], width=2)
    with pytest.raises(UsageError, match="at most 2"):
        width_effect(scorer(lambda query, texts: [0] * len(texts), max_window=2), SLATES, width=3)


def test_too_few_texts_are_told_before_anything_is_scored():
    called = []

    def f(query, texts):
        called.append(texts)
        return [0.0] * len(texts)

    # Four texts of the other slate stand in for three companions, not for five.
    big = slate("r", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    with pytest.raises(UsageError, match="'r': its windows of 6 need 5 unrelated texts, .* hold 4"):
        width_effect(scorer(f), [SLATES[0], big], width=6)
    with pytest.raises(UsageError, match="need more slates"):
        width_effect(scorer(f), SLATES[:1])
    assert called == []
    width_effect(scorer(f), [SLATES[0], big], width=5)
    assert called


def test_a_scorer_that_always_fails_is_told_with_its_first_failure():
    def f(query, texts):
        raise RuntimeError("the model is gone")

    with pytest.raises(ScorerError, match="none of 32 scores, the first failure: .*model is gone"):
        width_effect(scorer(f), SLATES, width=2)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"width": 2.5}, "width must be at least 1, a whole number, got 2.5"),
        ({"width": "x"}, "width must be at least 1"),
        ({"seed": None}, "seed must be a whole number, got None"),
        ({"part_size": "x"}, "part_size must be at least 1"),
        ({"rule": None}, "unknown window rule None"),
    ],
)
def test_wrong_kinds_are_refused_by_name(given, said):
    with pytest.raises(UsageError, match=said):
        width_effect(effects(), SLATES, **given)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: width_effect(None, SLATES), "a scorer is needed, got None"),
        (lambda: width_effect(effects(), "ab"), "slates must be a list of Slate"),
        (lambda: contrast("abc", [1.0]), "scores must be numbers"),
        (lambda: contrast([1.0, 2.0], [1.0]), "two readings of the same candidates"),
        (lambda: contrast(None, None), "two readings of the same candidates"),
    ],
)
def test_what_is_no_scorer_slates_or_scores_is_refused(call, said):
    with pytest.raises(UsageError, match=said):
        call()


def test_no_slates_is_nothing_measured():
    with pytest.raises(NothingMeasuredError):
        width_effect(effects(), [])
