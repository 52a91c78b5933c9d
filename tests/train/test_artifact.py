"""A trained scorer is written, opened by name, and scores as it did in training."""

from __future__ import annotations

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")
peft = pytest.importorskip("peft")

from train_help import make_slate

from evenhand.errors import InputError, ScorerError
from evenhand.models.load import load
from evenhand.present.surface import texts_hash
from evenhand.present.texts import RUBRICS
from evenhand.score import open_scorer
from evenhand.score.local import LocalOptions, LocalScorer
from evenhand.score.shipped import NAME
from evenhand.train.artifact import Provenance, scorer_record, write_artifact
from evenhand.train.card import card
from evenhand.train.labels import Labelled
from evenhand.train.loop import train
from evenhand.train.settings import Descent, Run, Training, Weights
from evenhand.train.step import Objective
from evenhand.train.views import Views
from evenhand.types import Presentation, Shown, Surface

SURFACE = Surface(rubric="answer_support", markers="single", enclose=True, visibility="parallel")


def settings_of(folder, method="lora"):
    return Training(
        base=f"hf:{folder}",
        views=Views(widths=(3, 4), surface=SURFACE),
        objective=Objective(consistency=1.0),
        weights=Weights(method=method, rank=2, alpha=4),
        descent=Descent(rate=1e-2),
        run=Run(windows=4, max_candidate_tokens=7),
    )


def shown(surface):
    slate = make_slate("h", n=5)
    return [Shown(slate, Presentation(tuple(range(5)), ((0, 1, 2, 3), (4,)), surface), 0, "canonical")]


@pytest.fixture
def base(tiny_loaded, tmp_path):
    """The folder of a tiny model."""
    from evenhand.models.quiet import quiet

    loaded = tiny_loaded("llama")
    with quiet():
        loaded.model.save_pretrained(tmp_path / "base")
    loaded.tokenizer.save_pretrained(tmp_path / "base")
    return tmp_path / "base"


def trained(base, out, method):
    """Train for a step or two; return the folder written and the scores of the model in hand."""
    settings = settings_of(base, method)
    loaded = load(settings.base, device="cpu")
    slates = [Labelled(make_slate(f"s{i}", n=5), np.linspace(0, 1, 5)) for i in range(4)]
    outcome = train(loaded, slates, settings, out)
    scorer = LocalScorer(loaded, LocalOptions(max_candidate_tokens=7), SURFACE)
    wanted = scorer.score(shown(SURFACE))[0].scores
    provenance = Provenance(
        outcome.steps, {"teacher": {"name": "t"}}, {"psi": 0.1, "served": float("nan")}
    )
    return write_artifact(out, outcome.model, loaded, settings, provenance), wanted


@pytest.mark.parametrize("method", ["lora", "full"])
def test_it_is_opened_with_the_form_and_the_scores_of_the_training(base, tmp_path, method):
    folder, wanted = trained(base, tmp_path / "out", method)
    spec = f"hf:{base}+{folder}" if method == "lora" else f"hf:{folder}"
    scorer = open_scorer(spec, device="cpu")
    assert scorer.surface == scorer.trained.surface == SURFACE
    assert scorer.default_window == scorer.trained.width == 4
    assert scorer.options.max_candidate_tokens == 7
    found = scorer.score(shown(scorer.surface))[0].scores
    assert np.abs(found - wanted).max() < 1e-5
    untrained = open_scorer(f"hf:{base}", device="cpu", max_candidate_tokens=7)
    assert untrained.trained is None
    assert np.abs(untrained.score(shown(SURFACE))[0].scores - wanted).max() > 1e-3


def test_an_adapter_loads_in_plain_peft(base, tmp_path):
    import transformers

    folder, _ = trained(base, tmp_path / "out", "lora")
    model = transformers.AutoModelForCausalLM.from_pretrained(base)
    from evenhand.models.quiet import quiet

    with quiet():
        loaded = peft.PeftModel.from_pretrained(model, str(folder))
    weights = [value for name, value in loaded.named_parameters() if "lora_B" in name]
    assert len(weights) == 7
    assert any(value.abs().max() > 0 for value in weights)
    # PEFT's own card is a form with nothing filled in.
    assert "[More Information Needed]" not in (folder / "README.md").read_text()


def test_the_same_training_gives_the_same_folder(base, tmp_path):
    first, _ = trained(base, tmp_path / "a", "lora")
    second, _ = trained(base, tmp_path / "b", "lora")
    for name in ("adapter_config.json", "adapter_model.safetensors", NAME, "README.md"):
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


def test_nothing_of_this_machine_is_written(base, tmp_path):
    for method in ("lora", "full"):
        folder, _ = trained(base, tmp_path / method, method)
        for path in [*folder.glob("*.json"), folder / "README.md"]:
            assert str(tmp_path) not in path.read_text(), path.name


def test_what_the_record_holds(base, tiny_loaded):
    settings = settings_of(base)
    loaded = tiny_loaded()
    looked = {"slates": 3, "rows": 5}
    found = scorer_record(
        loaded, settings, Provenance(9, {"orders": [1]}, {"psi": float("nan")}, looked)
    )
    assert found == json.loads(json.dumps(found))
    assert found["rubric"]["levels"] == list(RUBRICS["answer_support"].levels)
    assert found["texts_hash"] == texts_hash(SURFACE)
    assert found["surface"]["visibility"] == "parallel"
    assert found["surface"]["markers"] == "single"
    tokens = loaded.tokenizer
    assert found["grades"] == {
        "strings": ["0", "1", "2", "3"],
        "ids": [tokens.convert_tokens_to_ids(str(grade)) for grade in range(4)],
    }
    assert (found["width"], found["max_candidate_tokens"]) == (4, 7)
    assert found["threshold"] is None
    assert found["base"] == {
        "name": "hf:base", "revision": "r1", "dtype": "float32", "licence": "unknown, check",
    }  # fmt: skip
    assert found["training"]["steps"] == 9
    assert found["training"]["labels"] == {"orders": [1]}
    assert found["training"]["settings"]["objective"]["consistency"] == 1.0
    assert found["measures"] == {"psi": None}
    assert found["measured_on"] == looked


def test_the_card_says_what_the_record_says(base, tmp_path):
    (base / "README.md").write_text("---\nlicense: mit\n---\n# Base\n")
    folder, _ = trained(base, tmp_path / "out", "lora")
    record = json.loads((folder / NAME).read_text())
    assert record["base"]["licence"] == "mit"
    text = (folder / "README.md").read_text()
    assert text == card(record)
    assert "- licence of the base: mit" in text


def test_writing_again_replaces_what_was_there(base, tmp_path, tiny_loaded):
    folder, _ = trained(base, tmp_path / "out", "full")
    (folder / "stale").write_text("x")
    settings = settings_of(base, "full")
    write_artifact(tmp_path / "out", tiny_loaded().model, tiny_loaded(), settings, Provenance(1))
    assert not (folder / "stale").exists()
    assert json.loads((folder / NAME).read_text())["measures"] is None
    assert [path.name for path in (tmp_path / "out").iterdir() if "partial" in path.name] == []


def test_what_is_asked_for_goes_before_the_form_of_the_training(base, tmp_path):
    folder, _ = trained(base, tmp_path / "out", "full")
    scorer = open_scorer(f"hf:{folder}", device="cpu", visibility="sequential", width=2)
    assert scorer.surface == Surface(
        rubric="answer_support", markers="single", enclose=True, visibility="sequential"
    )
    assert scorer.default_window == 2
    assert scorer.options.max_candidate_tokens == 7


def changed(folder, **values):
    path = folder / NAME
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def test_other_grade_tokens_are_refused(base, tmp_path):
    folder, _ = trained(base, tmp_path / "out", "full")
    changed(folder, grades={"strings": ["0", "1", "2", "3"], "ids": [9, 10, 11, 12]})
    with pytest.raises(
        ScorerError, match=r"tokens \[9, 10, 11, 12\] in training and are \[3, 4, 5, 6\]"
    ):
        open_scorer(f"hf:{folder}", device="cpu")


def test_other_words_are_refused_unless_they_are_asked_for(base, tmp_path):
    folder, _ = trained(base, tmp_path / "out", "full")
    changed(folder, texts_hash="0" * 64)
    with pytest.raises(
        InputError, match=r"scorer\.json: was trained on other words of rubric 'answer_sup"
    ):
        open_scorer(f"hf:{folder}", device="cpu")
    assert open_scorer(f"hf:{folder}", device="cpu", rubric="answer_support").surface == SURFACE
