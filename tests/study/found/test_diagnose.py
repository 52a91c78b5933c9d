import math

import pytest

from evenhand.study.analysis import ThresholdFit
from evenhand.study.found.diagnose import diagnose
from evenhand.study.found.facts import Facts
from evenhand.types import Estimate


def an_estimate(mean, half=0.01, n=50, undefined=0):
    return Estimate(mean, mean - half, mean + half, n, undefined)


def found(**facts):
    base = {
        "scorer": {"scale": "unit", "order_free": False},
        "stability": {"tauPSI": an_estimate(0.2), "ScoreSpread": an_estimate(0.3)},
        "floor": {"tauPSI": an_estimate(0.0)},
        "repeat_difference": 0.0,
    }
    return {one.code: one for one in diagnose(Facts(**{**base, **facts}))}


def tau(mean, **more):
    return {"tauPSI": an_estimate(mean, **more), "ScoreSpread": an_estimate(0.3)}


def test_a_sound_run_has_nothing_to_say():
    assert found() == {}


@pytest.mark.parametrize(
    ("difference", "floor", "severity"),
    [
        (1e-5, 0.0, None),
        (1e-5, 4e-4, None),
        (2e-5, 0.0, "note"),
        (1e-3, 0.0, "warning"),
        (1e-5, 0.05, "warning"),
        (0.3, 0.1, "error"),
    ],
)
def test_unsteady(difference, floor, severity):
    one = found(repeat_difference=difference, floor={"tauPSI": an_estimate(floor)}).get("unsteady")
    assert (one and one.severity) == severity
    if one:
        assert f"{floor:.4f} beside 0.2000" in one.message


def test_without_a_repeat_row_the_floor_is_missing():
    assert found(repeat_difference=math.nan)["no_noise_floor"].severity == "note"


def test_order_free_is_verified():
    scorer = {"scale": "unit", "order_free": True}
    stability = tau(0.0)
    assert (
        found(scorer=scorer, stability=stability, random_difference=0.0)["order_free"].severity
        == "note"
    )
    lie = found(scorer=scorer, stability=stability, random_difference=0.4)
    assert lie["not_order_free"].severity == "error"
    assert "order_free" not in lie
    # Movement within the noise of the repeat row is no lie.
    noisy = found(scorer=scorer, stability=stability, random_difference=0.15, repeat_difference=0.1)
    assert "not_order_free" not in noisy


@pytest.mark.parametrize(
    ("mean", "half", "seen"),
    # The mean decides: an interval over few slates reaches .45 whatever the scorer.
    [(0.44, 0.005, False), (0.1, 0.4, False), (0.45, 0.1, True), (0.5, 0.01, True), (0.9, 0.0, True)],
)
def test_near_random(mean, half, seen):
    one = found(stability=tau(mean, half=half)).get("near_random")
    assert (one is not None) == seen
    if one:
        assert "ranks at random with respect to presentation" in one.message


def test_near_random_without_an_interval():
    single = {"tauPSI": Estimate(0.5, math.nan, math.nan, 1, 0)}
    assert "near_random" in found(stability=single)


def test_collapse_is_judged_on_the_unit_scale_only():
    narrow = {"tauPSI": an_estimate(0.2), "ScoreSpread": an_estimate(0.019)}
    assert found(stability=narrow)["collapse"].severity == "warning"
    assert "collapse" not in found(stability=narrow, scorer={"scale": "raw"})
    assert "3 of 9 slates" in found(counts={"degenerate_slates": 3, "slates": 9})["degenerate"].message


@pytest.mark.parametrize(
    ("mass", "share", "seen"),
    [(0.49, 0.05, True), (0.9, 0.11, True), (0.9, 0.1, False), (math.nan, math.nan, False)],
)
def test_low_label_mass(mass, share, seen):
    assert ("low_label_mass" in found(label_mass=mass, low_mass_share=share)) == seen


def test_missing_scores_and_failures():
    few = found(
        counts={"missing_scores": 10, "scores": 100, "failed_rows": 2, "rows": 9}, reasons=("a", "b")
    )
    assert few["missing_scores"].severity == "warning"
    assert "10.0% of 100" in few["missing_scores"].message
    assert "2 of 9 rows" in few["failures"].message
    assert "a; b" in few["failures"].message
    many = found(counts={"missing_scores": 11, "scores": 100})
    assert many["missing_scores"].severity == "error"
    assert "failures" not in many


def test_texts():
    counts = {"truncated_tokens": 7, "truncated_candidates": 1, "candidates": 10}
    assert found(counts=counts)["truncated"].severity == "note"
    assert found(counts={**counts, "truncated_candidates": 2})["truncated"].severity == "warning"
    odd = found(counts={"escaped_places": 2, "empty_texts": 3, "equal_texts": 4})
    assert [odd[code].message.split()[0] for code in ("escaped", "empty_texts", "equal_texts")] == [
        "2",
        "3",
        "4",
    ]


def test_escaped_places_of_queries_are_told_as_well():
    both = found(counts={"escaped_places": 2, "query_escaped": 5})["escaped"].message
    assert both.startswith("2 places in candidate texts and 5 places in queries look like")
    assert found(counts={"query_escaped": 5})["escaped"].message.startswith("5 places in queries look")


def test_size_of_the_study():
    assert "few_slates" not in found(stability=tau(0.2, n=10))
    assert "Only 9 slates" in found(stability=tau(0.2, n=9))["few_slates"].message
    assert "2 of 52 slates" in found(stability=tau(0.2, undefined=2))["undefined"].message
    assert found(counts={"exhaustive_slates": 4})["exhaustive"].message.startswith("4 slates")


def test_threshold_by_quantile_says_why():
    fit = ThresholdFit("quantile", (0.5,), None, "r")
    message = found(threshold=fit)["threshold_by_quantile"].message
    assert "because no slate has grades:" in message
    assert "Give grades, or give" in message
    other = found(threshold=fit, threshold_reason="why")["threshold_by_quantile"].message
    assert "because why:" in other
    assert "Give grades" not in other
    assert "threshold_by_quantile" not in found(threshold=ThresholdFit("f1", (0.5, 0.5), 1, "r"))


def test_the_gravest_comes_first():
    facts = Facts(
        counts={"missing_scores": 50, "scores": 100, "empty_texts": 1},
        stability=tau(0.5),
        repeat_difference=0.0,
    )
    assert [one.severity for one in diagnose(facts)] == ["error", "warning", "note"]
