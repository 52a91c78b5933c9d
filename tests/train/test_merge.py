"""A merged adapter scores as it did beside its base, or nothing is kept."""

from __future__ import annotations

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("peft")

from train_help import make_slate

from evenhand.errors import InputError, ScorerError, UsageError
from evenhand.models.load import load
from evenhand.models.quiet import quiet
from evenhand.score import open_scorer
from evenhand.score.shipped import NAME
from evenhand.train import merge as module
from evenhand.train.artifact import Provenance, write_artifact
from evenhand.train.labels import Labelled
from evenhand.train.loop import train
from evenhand.train.merge import TOLERANCE, largest_gap, merge
from evenhand.train.settings import Descent, Run, Training, Weights
from evenhand.train.views import Views
from evenhand.types import Presentation, Shown, Surface

SURFACE = Surface(markers="single", enclose=True)
PROBE = [make_slate(f"p{i}", n=5) for i in range(3)]


@pytest.fixture
def adapter(tiny_loaded, tmp_path):
    """Base and trained adapter of a tiny model, as a spec."""
    loaded = tiny_loaded("llama")
    with quiet():
        loaded.model.save_pretrained(tmp_path / "base")
    loaded.tokenizer.save_pretrained(tmp_path / "base")
    settings = Training(
        base=f"hf:{tmp_path / 'base'}", views=Views(widths=(3,), surface=SURFACE),
        weights=Weights(rank=2, alpha=4), descent=Descent(rate=5e-2), run=Run(windows=4),
    )  # fmt: skip
    loaded = load(settings.base, device="cpu")
    slates = [Labelled(make_slate(f"s{i}", n=5), np.linspace(0, 1, 5)) for i in range(4)]
    outcome = train(loaded, slates, settings, tmp_path / "run")
    folder = write_artifact(
        tmp_path / "run", outcome.model, loaded, settings, Provenance(outcome.steps)
    )
    return f"{settings.base}+{folder}"


def scores(spec, surface=None):
    scorer = open_scorer(spec, device="cpu")
    shown = [
        Shown(one, Presentation((4, 3, 2, 1, 0), ((4, 3, 2), (1, 0)), scorer.surface), 0, "canonical")
        for one in PROBE
    ]
    return np.concatenate([one.scores for one in scorer.score(shown)]), scorer


def test_it_opens_as_one_folder_with_the_same_scores_and_form(adapter, tmp_path):
    wanted, before = scores(adapter)
    plain, _ = scores(adapter.partition("+")[0])
    assert np.abs(wanted - plain).max() > 1e-3
    done = merge(adapter, tmp_path / "merged", PROBE, device="cpu")
    assert done.open_as == f"hf:{tmp_path / 'merged'}"
    # Three slates of 5, each in canonical order and in another.
    assert (done.slates, done.scores, done.form) == (3, 30, True)
    assert done.gap < TOLERANCE
    found, after = scores(done.open_as)
    assert np.abs(found - wanted).max() < 1e-5
    assert after.surface == before.surface == SURFACE
    assert after.default_window == 3
    names = {path.name for path in done.folder.iterdir()}
    assert {"model.safetensors", "config.json", "tokenizer.json", NAME, "README.md"} <= names
    assert not [name for name in names if name.startswith("adapter")]
    record = json.loads((done.folder / NAME).read_text())
    assert record["merged"]["from"] == "hf:base"
    assert str(tmp_path) not in (done.folder / NAME).read_text()
    assert "Weights of a model" in (done.folder / "README.md").read_text()
    assert not (tmp_path / "merged.partial").exists()


def test_an_adapter_without_a_form_is_merged_without_one(adapter, tmp_path):
    from pathlib import Path

    (Path(adapter.partition("+")[2]) / NAME).unlink()
    done = merge(adapter, tmp_path / "merged", PROBE[:1], device="cpu")
    assert not done.form
    assert not (done.folder / NAME).exists()


def test_scores_that_differ_leave_nothing(adapter, tmp_path, monkeypatch):
    real = module.load

    def spoiled(spec, **options):
        loaded = real(spec, **options)
        if "merged" in spec:
            loaded.model.get_input_embeddings().weight.data *= 1.5
        return loaded

    monkeypatch.setattr(module, "load", spoiled)
    with pytest.raises(ScorerError, match=r"differ from the unmerged one's by up to .*not kept"):
        merge(adapter, tmp_path / "merged", PROBE, device="cpu")
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("merged")]


def test_gaps_by_hand():
    nan = float("nan")
    wanted, found = np.array([0.5, nan, 0.25]), np.array([0.500004, nan, 0.25])
    gap, known = largest_gap(wanted, found)
    assert (round(gap, 9), known) == (4e-6, 2)
    with pytest.raises(ScorerError, match=r"by up to 2e-05, more than 1e-05"):
        largest_gap(wanted, wanted + 2e-5)
    with pytest.raises(ScorerError, match="lacks other scores"):
        largest_gap(wanted, np.array([0.5, 0.5, 0.25]))
    with pytest.raises(ScorerError, match="no score on the probe slates"):
        largest_gap(np.full(2, nan), np.full(2, nan))


def test_what_is_refused_before_a_model_is_loaded(adapter, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "load", lambda *_, **__: pytest.fail("a model was loaded"))
    base = adapter.partition("+")[0]
    with pytest.raises(UsageError, match="has no adapter"):
        merge(base, tmp_path / "merged", PROBE)
    with pytest.raises(UsageError, match="no probe slates"):
        merge(adapter, tmp_path / "merged", [])
    (tmp_path / "held").mkdir()
    (tmp_path / "held" / "file").write_text("x")
    for taken in ("held", "held/file"):
        with pytest.raises(InputError, match="is there already"):
            merge(adapter, tmp_path / taken, PROBE)


def test_an_empty_folder_may_be_filled(adapter, tmp_path):
    (tmp_path / "merged").mkdir()
    assert merge(adapter, tmp_path / "merged", PROBE[:1], device="cpu").gap < TOLERANCE
