"""What a run would take, counted by hand and held against the run itself."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("peft")

from train_help import make_slate

from evenhand.errors import UsageError
from evenhand.models.load import load
from evenhand.train.forecast import counted, forecast, measured_rate, memory, outlined
from evenhand.train.labels import Labelled
from evenhand.train.loop import train
from evenhand.train.settings import Run, Training, Weights
from evenhand.train.views import Views
from evenhand.train.weights import prepare, trained

FULL = Weights(method="full")


@pytest.fixture
def base(tiny_loaded, tmp_path):
    """The spec of a tiny model in a folder."""
    from evenhand.models.quiet import quiet

    loaded = tiny_loaded("llama")
    with quiet():
        loaded.model.save_pretrained(tmp_path / "base")
    loaded.tokenizer.save_pretrained(tmp_path / "base")
    return f"hf:{tmp_path / 'base'}"


def labelled(count=5):
    return [Labelled(make_slate(f"s{i}", n=7), np.linspace(0, 1, 7)) for i in range(count)]


def settings_of(base, **run):
    return Training(base=base, views=Views(widths=(3,)), weights=FULL, run=Run(**{"windows": 6, **run}))


def test_counts_by_hand(base):
    # 5 slates of 7 at B = 3: 3 windows each, two slates a step, twice as many prompts in two views.
    found = forecast(settings_of(base), labelled())
    assert (found.slates, found.steps, found.windows, found.prompts, found.candidates) == (
        5,
        3,
        15,
        30,
        35,
    )
    assert (found.rate, found.hours) == (None, None)


def test_tokens_are_those_of_the_run(base, tmp_path):
    settings = settings_of(base, epochs=2)
    outcome = train(load(base, device="cpu"), labelled(), settings, tmp_path / "out")
    found = forecast(settings, labelled())
    assert found.sampled == found.steps == len(outcome.log)
    assert found.tokens == sum(record["tokens"] for record in outcome.log)


def test_a_long_run_is_sampled(base):
    settings = settings_of(base, windows=3, epochs=8)
    found = forecast(settings, labelled())
    assert (found.steps, found.sampled) == (40, 8)
    exact = forecast(settings_of(base, windows=99, epochs=8), labelled()).tokens
    assert found.tokens == pytest.approx(exact, rel=0.05)


def test_hours_are_tokens_over_the_rate(base):
    found = forecast(settings_of(base), labelled(), rate=100.0)
    assert found.hours == pytest.approx(found.tokens / 360_000)
    with pytest.raises(UsageError, match="above 0"):
        forecast(settings_of(base), labelled(), rate=0)


@pytest.mark.parametrize("weights", [FULL, Weights(rank=3)])
def test_weights_are_counted_without_loading_them(base, tiny_loaded, weights):
    outline = outlined(base)
    assert outline.device.type == "meta"
    settings = replace(settings_of(base), weights=weights)
    loaded = tiny_loaded("llama")
    parameters = sum(value.numel() for value in loaded.model.parameters())
    wanted = sum(value.numel() for value in trained(prepare(loaded, weights, 0)).values())
    assert counted(outline.model, settings) == (parameters, wanted)


def test_memory_by_hand(base):
    config = SimpleNamespace(hidden_size=8, intermediate_size=16, num_hidden_layers=3)
    # 1000 weights at 4 bytes, 100 trained at 12 more; a token keeps 3 x (80 + 64) numbers of 4.
    settings = settings_of(base)
    assert memory(config, 1000, 100, 50, settings) == 4000 + 1200 + 50 * 432 * 4
    # Recomputed, in half precision: 3 inputs of 8 and one block of 144, of 2 bytes.
    small = settings_of(base, checkpointing=True, half=True)
    assert memory(config, 1000, 100, 50, small) == 4000 + 1200 + 50 * (24 + 144) * 2


def test_a_rate_is_measured_on_a_copy(base, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    assert measured_rate(settings_of(base), labelled(), device="cpu") > 0
    assert sorted(tmp_path.rglob("*")) == before
