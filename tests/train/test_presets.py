"""Presets: the published settings, and how a file is laid over them."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from evenhand.errors import UsageError
from evenhand.train.presets import PRESETS, preset, with_preset
from evenhand.train.settings import LORA_TARGETS, Training, training_from


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_every_preset_is_a_run(name):
    assert isinstance(training_from(preset(name)), Training)


@pytest.mark.parametrize(
    ("name", "weight", "width", "rubric"),
    [
        ("paper-passages", 5, 20, "relevance"),
        ("paper-qa", 3, 10, "answer_support"),
        ("paper-responses", 1, 4, "response_quality"),
    ],
)
def test_published_settings(name, weight, width, rubric):
    found = training_from(preset(name))
    assert found.objective.consistency == weight
    assert (found.views.mix, found.views.count, found.views.widths) == ("within", 2, (width,))
    assert (found.objective.anchor, found.views.first) == ("first", "shuffled")
    assert found.views.surface.rubric == rubric
    weights, descent = found.weights, found.descent
    assert (weights.method, weights.rank, weights.alpha, weights.dropout) == ("lora", 16, 32, 0.05)
    assert weights.targets == LORA_TARGETS
    assert (descent.rate, descent.betas, descent.decay) == (2e-4, (0.9, 0.95), 0.01)
    assert (descent.clip, descent.warmup) == (1.0, 0.1)
    assert (found.run.windows, found.run.epochs) == (64, 1)


def test_lambda_rises_over_500_steps_on_passages_and_over_a_share_elsewhere():
    ramps = {name: training_from(preset(name)).descent.ramp for name in PRESETS}
    assert ramps["paper-passages"] == 500
    assert all(0 < ramp < 1 for name, ramp in ramps.items() if name != "paper-passages")


def test_a_section_is_merged_name_by_name():
    merged = with_preset(
        {"preset": "paper-qa", "objective": {"consistency": 0}, "widths": [[0.5, [2]]]}
    )
    assert merged["objective"] == {"anchor": "first", "consistency": 0}
    assert merged["weights"] == PRESETS["paper-qa"]["weights"]
    assert merged["widths"] == [[0.5, [2]]]
    assert "preset" not in merged


def test_merging_leaves_the_preset_as_it_was():
    merged = with_preset({"preset": "small"})
    merged["views"]["count"] = 9
    assert PRESETS["small"]["views"]["count"] == 2


def test_without_a_preset_nothing_is_added():
    assert with_preset({"base": "x"}) == {"base": "x"}


def test_a_wrong_section_stays_wrong():
    with pytest.raises(UsageError, match="section views must hold"):
        training_from(with_preset({"preset": "small", "views": 3}))


@pytest.mark.parametrize("name", ["paper", 3])
def test_unknown_presets_list_the_known_ones(name):
    with pytest.raises(UsageError, match="known are paper-passages, paper-qa, paper-responses, small"):
        with_preset({"preset": name})
