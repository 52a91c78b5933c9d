"""`evenhand merge` from base and adapter to one folder, and what ends it."""

from __future__ import annotations

import json

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("peft")


@pytest.fixture
def base(tmp_path, tiny_model, tiny_tokenizer):
    """The folder of a tiny model."""
    from evenhand.models.quiet import quiet

    with quiet():
        tiny_model("llama", layers=1).save_pretrained(tmp_path / "base")
    tiny_tokenizer.save_pretrained(tmp_path / "base")
    return tmp_path / "base"


@pytest.fixture
def adapter(base, tmp_path):
    """An adapter on it that changes scores."""
    import transformers

    from evenhand.models.load import Loaded
    from evenhand.models.quiet import quiet
    from evenhand.train.settings import Weights
    from evenhand.train.weights import prepare

    with quiet():
        model = transformers.AutoModelForCausalLM.from_pretrained(base)
    device = torch.device("cpu")
    held = prepare(Loaded(model, None, "base", "r", device, "float32"), Weights(rank=2), seed=0)
    with torch.no_grad():
        for name, value in held.named_parameters():
            if "lora_B" in name:
                value.normal_(generator=torch.Generator().manual_seed(1), std=0.1)
    with quiet():
        held.save_pretrained(str(tmp_path / "adapter"), save_embedding_layers=False)
    return tmp_path / "adapter"


def test_from_adapter_to_folder(run, tmp_path, base, adapter, slates_file):
    words = ("merge", f"hf:{base}+{adapter}", "--device", "cpu", "--limit", 2)
    ended = run(*words, "--out", tmp_path / "merged")
    assert ended.code == 0, ended.err
    lines = ended.out.splitlines()
    assert lines[0] == f"merged: {tmp_path / 'merged'}"
    # Two of the demo's slates of 12, in two presentations each.
    assert lines[1].startswith("largest difference of 48 scores on 2 slates: ")
    assert lines[2].startswith("the adapter has no scorer.json")
    assert lines[3] == f"open it as: hf:{tmp_path / 'merged'}"
    again = run(*words, "--out", tmp_path / "merged")
    assert again.code == 4
    assert "is there already" in again.err
    other = run(*words, "--out", tmp_path / "other", "--probe", slates_file(3, 4), "--json")
    found = json.loads(other.out)["merged"]
    assert (found["slates"], found["scores"], found["scorer_json"]) == (2, 16, False)
    assert found["gap"] < 1e-5
    assert found["open_as"] == f"hf:{tmp_path / 'other'}"
    audited = run(
        "audit", slates_file(2, 3), "--scorer", found["open_as"], "--rows", 2, "--device", "cpu"
    )
    assert audited.code == 0, audited.err


@pytest.mark.parametrize(
    ("spec", "options", "code", "message"),
    [
        ("BASE", (), 2, "has no adapter"),
        ("toy", (), 2, "unknown model 'toy'"),
        ("BASE+ADAPTER", ("--probe", "nowhere"), 4, "nowhere: does not exist"),
        ("BASE+BASE", (), 4, "no adapter_config.json"),
    ],
)
def test_what_is_refused(run, tmp_path, base, adapter, spec, options, code, message):
    spec = spec.replace("ADAPTER", str(adapter)).replace("BASE", f"hf:{base}", 1)
    spec = spec.replace("+BASE", f"+{base}")
    ended = run("merge", spec, "--out", tmp_path / "merged", "--device", "cpu", "--limit", 1, *options)
    assert ended.code == code, ended.err
    assert message in ended.err
    assert not (tmp_path / "merged").exists()


def test_scores_that_differ_end_with_6(run, tmp_path, base, adapter, monkeypatch):
    from evenhand.train import merge

    monkeypatch.setattr(merge, "TOLERANCE", -1.0)
    words = ("merge", f"hf:{base}+{adapter}", "--device", "cpu", "--limit", 1)
    ended = run(*words, "--out", tmp_path / "merged")
    assert ended.code == 6
    assert "it was not kept" in ended.err
    assert not (tmp_path / "merged").exists()
