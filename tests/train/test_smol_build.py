"""The script that makes the file of a shipped scorer, on a tiny model."""

from __future__ import annotations

import json
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
peft = pytest.importorskip("peft")

from safetensors.torch import load_file, save_file
from train_help import make_slate

from evenhand.models.load import load
from evenhand.models.quiet import quiet
from evenhand.score import open_scorer

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def build(monkeypatch):
    """The module, whose probe slates are short."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.syspath_prepend(str(ROOT / "experiments" / "smol"))
    import build

    slates = [make_slate("probe", n=4)]
    monkeypatch.setattr(build, "demo_slates", lambda limit: slates[:limit])
    yield build
    for name in ("build", "card", "common"):
        sys.modules.pop(name, None)


@pytest.fixture
def made(tiny_loaded, tmp_path):
    """A base, a cut of rank 2 and a LoRA adapter of rank 3 on all linear weights of base + cut."""
    loaded = tiny_loaded("llama")
    model, base = loaded.model, tmp_path / "base"
    model.save_pretrained(base)
    loaded.tokenizer.save_pretrained(base)
    generator = torch.Generator().manual_seed(0)
    cut = {}
    for name, value in model.named_parameters():
        if value.ndim == 1:
            cut[name] = (0.1 * torch.randn(value.shape, generator=generator)).half()
            continue
        cut[f"{name}.left"] = (0.1 * torch.randn(value.shape[0], 2, generator=generator)).half()
        cut[f"{name}.right"] = torch.randn(2, value.shape[1], generator=generator).half()
    save_file(cut, tmp_path / "cut.safetensors")
    config = peft.LoraConfig(
        r=3, lora_alpha=6, target_modules=["q_proj", "v_proj", "down_proj"], task_type="CAUSAL_LM"
    )
    with warnings.catch_warnings(action="ignore"):
        laid = peft.get_peft_model(model, config)
    for name, value in laid.named_parameters():
        if "lora_" in name:
            value.data = 0.1 * torch.randn(value.shape, generator=generator)
    laid.save_pretrained(tmp_path / "lora")
    return f"hf:{base}", tmp_path / "cut.safetensors", tmp_path / "lora"


def call(module, monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["build.py", *map(str, words)])
    with warnings.catch_warnings(action="ignore"):
        module.main()


def test_cut_and_adapter_become_one_file(build, made, tmp_path, monkeypatch, capsys):
    base, cut, lora = made
    result = {"arm": "across-10", "seed": 0, "rank": 3, "orders": 1, "steps": 200, "rate": 1e-3,
              "looks": {"reorder": {"trec_dl19": {"ids": ["a", "b"], "means": {
                  "served": 0.61, "shuffled": 0.6, "psi": 0.05, "overlap": 0.8, "spread": 0.2,
                  "residual": 0.1, "missing": 0.0}}}}}  # fmt: skip
    (tmp_path / "result.json").write_text(json.dumps(result))
    out = tmp_path / "shipped"
    words = (cut, out, "--adapter", lora, "--base", base, "--result", tmp_path / "result.json")
    call(build, monkeypatch, *words, "--note", "A first try.")
    told = capsys.readouterr().out
    assert "joined as PEFT merges: weights within" in told
    assert "rank 5" in told
    kept = load_file(out / "difference.safetensors")
    # 2 of the cut and 3 of the adapter; what the adapter leaves alone stays at 2.
    assert kept["model.layers.0.self_attn.q_proj.weight.left"].shape[1] == 5
    assert kept["model.layers.0.self_attn.k_proj.weight.left"].shape[1] == 2
    record = json.loads((out / "scorer.json").read_text())
    assert record["difference"]["bytes"] == (out / "difference.safetensors").stat().st_size
    assert 0 < record["difference"]["fidelity"]["mean"] <= record["difference"]["fidelity"]["largest"]
    assert record["measures"]["trec_dl19"]["served"] == 0.61
    card = (out / "README.md").read_text()
    assert "\nA first try.\n" in card
    assert "| trec_dl19 | 2 | 0.610 | 0.600 | 0.050 | 0.800 | 0.100 |" in card
    assert "(lambda 10)" in card


def test_what_is_written_scores_as_base_cut_and_adapter(build, made, tmp_path, monkeypatch):
    base, cut, lora = made
    call(build, monkeypatch, cut, tmp_path / "one", "--adapter", lora, "--base", base)
    slates = [make_slate("probe", n=4)]
    exact = build.scores(
        build.plus(base, build.joined(load_file(cut), build.adapter_factors(lora))), slates
    )
    loaded = load(base, device="cpu")
    with torch.no_grad():
        for name, value in loaded.model.named_parameters():
            own = load_file(cut)
            value += own[name].float() if name in own else (
                own[f"{name}.left"].float() @ own[f"{name}.right"].float()
            )  # fmt: skip
        with quiet():
            merged = peft.PeftModel.from_pretrained(loaded.model, str(lora)).merge_and_unload()
    by_peft = build.scores(replace(loaded, model=merged.eval()), slates)
    assert abs(exact - by_peft).max() < 1e-4
    assert abs(exact - build.scores(load(base, device="cpu"), slates)).max() > 1e-2


def test_a_lower_rank_keeps_the_first_ones(build, made, tmp_path, monkeypatch):
    base, cut, _ = made
    call(build, monkeypatch, cut, tmp_path / "one", "--rank", 1, "--base", base)
    record = json.loads((tmp_path / "one" / "scorer.json").read_text())
    assert record["difference"]["rank"] == 1
    assert record["training"] is record["measures"] is None


def test_what_is_too_large_or_no_plain_adapter_is_refused(build, made, tmp_path, monkeypatch):
    base, cut, lora = made
    monkeypatch.setattr(build, "MOST_BYTES", 100)
    with pytest.raises(SystemExit, match="more than the 100 allowed; take a lower rank"):
        call(build, monkeypatch, cut, tmp_path / "one", "--base", base)
    assert list((tmp_path / "one").iterdir()) == []
    config = json.loads((lora / "adapter_config.json").read_text())
    (lora / "adapter_config.json").write_text(json.dumps({**config, "use_dora": True}))
    with pytest.raises(SystemExit, match="no plain LoRA adapter"):
        build.adapter_factors(lora)


def test_the_form_is_that_of_a_trained_scorer(build, made, tmp_path, monkeypatch):
    base, cut, _ = made
    call(build, monkeypatch, cut, tmp_path / "one", "--base", base)
    # Beside weights it speaks for them, as it does for the packaged file.
    folder = Path(base.removeprefix("hf:"))
    (folder / "scorer.json").write_bytes((tmp_path / "one" / "scorer.json").read_bytes())
    found = open_scorer(base, device="cpu")
    assert (found.default_window, found.surface.markers) == (10, "single")
    # Only the grades were trained against each other: their mass is told when asked for.
    assert not found.options.label_mass
    assert open_scorer(base, device="cpu", label_mass=True).options.label_mass
