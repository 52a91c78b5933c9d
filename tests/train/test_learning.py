"""A small model learns a task, and OC-SFT makes it steadier than single-order training does."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from train_help import WORDS

from evenhand.models.load import Loaded
from evenhand.score.local import LocalOptions, LocalScorer
from evenhand.seeds import generator
from evenhand.train.evaluate import guard, hold_out
from evenhand.train.labels import Labelled
from evenhand.train.loop import train
from evenhand.train.settings import Descent, Run, Training, Weights
from evenhand.train.step import Objective
from evenhand.train.views import Views
from evenhand.types import Candidate, Slate, Surface

SURFACE = Surface(markers="single", enclose=True)


def worded(name, n=8):
    """A slate whose words each have a worth; a candidate's label is the mean worth of its two."""
    rng = generator(0, name, "words")
    worth = np.linspace(0, 1, len(WORDS))
    drawn = [rng.choice(len(WORDS), size=2, replace=False) for _ in range(n)]
    labels = np.array([worth[pair].mean() for pair in drawn])
    candidates = tuple(
        Candidate(f"c{i}", " ".join(WORDS[j] for j in pair)) for i, pair in enumerate(drawn)
    )
    grades = {f"c{i}": round(3 * label) for i, label in enumerate(labels)}
    return Labelled(Slate(name, "egg", candidates, grades), labels)


def settings_of(objective, *, steps, rate, count, seed):
    return Training(
        views=Views(widths=(4,), count=count, surface=SURFACE),
        objective=objective,
        weights=Weights(method="full"),
        descent=Descent(rate=rate),
        run=Run(windows=16, steps=steps, epochs=1000, seed=seed),
    )


@pytest.fixture(scope="module")
def started(word_tokenizer, tmp_path_factory):
    """Weights of a model that grades well, and not yet steadily; a function gives a copy."""
    import transformers

    torch.set_num_threads(1)
    config = transformers.LlamaConfig(
        vocab_size=400, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=2048,
        initializer_range=0.08, pad_token_id=word_tokenizer.pad_token_id,
        bos_token_id=word_tokenizer.bos_token_id, eos_token_id=word_tokenizer.eos_token_id,
    )  # fmt: skip

    def build(weights=None):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(1)
            model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        if weights is not None:
            model.load_state_dict(weights)
        model.eval().requires_grad_(False)
        return Loaded(model, word_tokenizer, "toy", "r1", torch.device("cpu"), "float32")

    first = build()
    settings = settings_of(Objective(error="soft_grade"), steps=50, rate=3e-3, count=1, seed=1)
    train(first, [worded(f"t{i}") for i in range(300)], settings, tmp_path_factory.mktemp("first"))
    weights = {name: value.clone() for name, value in first.model.state_dict().items()}
    return lambda: build(weights)


def looked(loaded):
    scorer = LocalScorer(loaded, LocalOptions(), SURFACE)
    return hold_out(scorer, [worded(f"h{i}").slate for i in range(30)], rows=5, width=4).means()


@pytest.mark.slow
def test_oc_sft_is_steadier_than_single_order_at_equal_quality(started, tmp_path):
    before, found = looked(started()), {}
    for name, objective in (("single", Objective()), ("oc_sft", Objective(consistency=30.0))):
        loaded = started()
        settings = settings_of(objective, steps=40, rate=2e-3, count=2, seed=11)
        train(loaded, [worded(f"t{i}") for i in range(300)], settings, tmp_path / name)
        found[name] = looked(loaded)
    single, steady = found["single"], found["oc_sft"]
    assert before["psi"] > 0.1
    assert steady["psi"] < 0.75 * single["psi"] < 0.75 * before["psi"]
    assert steady["residual"] < 0.5 * single["residual"]
    assert steady["overlap"] > single["overlap"]
    assert steady["shuffled"] > max(0.95, single["shuffled"] - 0.02)
    assert guard(steady) is None
