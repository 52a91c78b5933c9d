"""The scorers that come with evenhand: their files, and how they load."""

from __future__ import annotations

import json
import re
import warnings

import pytest

from evenhand.errors import InputError, ScorerError
from evenhand.models import shipped
from evenhand.models.fetch import SHA256
from evenhand.models.shipped import DEFAULT, FILE, NAMES, folder
from evenhand.models.source import FORMS
from evenhand.seeds import file_hash


@pytest.mark.parametrize("name", NAMES)
def test_the_package_holds_a_small_file_for_the_embedded_base(name):
    path = folder(name) / FILE
    assert path.stat().st_size <= 12 * 2**20
    # A safetensors file opens with the length of its JSON header.
    raw = path.read_bytes()
    header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    assert header["__metadata__"]["base_revision"] == SHA256
    record = json.loads((folder(name) / "scorer.json").read_text())
    assert record["difference"]["bytes"] == len(raw)
    assert (record["width"], record["max_candidate_tokens"]) == (10, 64)


@pytest.mark.parametrize("name", NAMES)
def test_the_card_says_what_the_file_says(name):
    card = (folder(name) / "README.md").read_text()
    kept = json.loads((folder(name) / "scorer.json").read_text())["difference"]
    assert f"# {name}\n" in card
    assert f"rank {kept['rank']}, int8" in card
    assert f"{kept['bytes']:,} bytes" in card
    assert re.search(r"^license: apache-2\.0$", card, re.MULTILINE)


def test_the_names_are_among_the_forms():
    assert FORMS[:2] == NAMES
    assert NAMES[0] == DEFAULT


@pytest.fixture
def tiny(tmp_path, tiny_model, tiny_tokenizer, monkeypatch):
    """The embedded base is a tiny model here, and a function ships differences to it."""
    torch = pytest.importorskip("torch")
    from evenhand.models import difference

    base = tmp_path / "base"
    model = tiny_model("llama")
    model.save_pretrained(base)
    tiny_tokenizer.save_pretrained(base)
    monkeypatch.setattr("evenhand.models.load.smollm2_folder", lambda: base)
    monkeypatch.setattr(shipped, "folder", lambda name: tmp_path / name)

    def ship(seed=0, revision=SHA256, rank=2):
        generator = torch.Generator().manual_seed(seed)
        made = {}
        for name, value in model.named_parameters():
            if value.ndim == 1:
                made[name] = 0.1 * torch.randn(value.shape, generator=generator)
                continue
            made[f"{name}.left"] = 0.1 * torch.randn(value.shape[0], rank, generator=generator)
            made[f"{name}.right"] = torch.randn(rank, value.shape[1], generator=generator)
        path = tmp_path / DEFAULT / FILE
        path.parent.mkdir(exist_ok=True)
        return model, difference.write(path, made, base="smollm2-135m", revision=revision), path

    return ship


def test_the_difference_is_added_to_the_base_and_named_in_the_revision(tiny):
    import torch

    from evenhand.models.load import load

    base, difference, path = tiny()
    loaded = load(DEFAULT, device="cpu")
    assert (loaded.name, loaded.dtype) == (DEFAULT, "float32")
    assert loaded.revision == f"{SHA256}+{file_hash(path)}"
    weights = dict(loaded.model.named_parameters())
    for name, value in base.named_parameters():
        if name in difference.plain:
            wanted = value + difference.plain[name]
        else:
            left, right = difference.factors[name]
            wanted = value + left @ right
        assert torch.equal(weights[name], wanted), name
    assert not any(weight.requires_grad for weight in weights.values())
    tiny(seed=1)
    assert load(DEFAULT, device="cpu").revision != loaded.revision


def test_half_precision_comes_after_the_sum(tiny):
    import torch

    from evenhand.models.load import load

    tiny()
    full, half = load(DEFAULT, device="cpu"), load(DEFAULT, device="cpu", dtype="bfloat16")
    for a, b in zip(full.model.parameters(), half.model.parameters(), strict=True):
        assert torch.equal(a.to(torch.bfloat16), b)
    assert half.model.model.rotary_emb.inv_freq.dtype == torch.float32


def test_an_adapter_goes_on_top(tiny, tmp_path):
    peft = pytest.importorskip("peft")
    from evenhand.models.load import load

    base, _, _ = tiny()
    config = peft.LoraConfig(r=2, target_modules=["q_proj"], task_type="CAUSAL_LM")
    with warnings.catch_warnings(action="ignore"):
        peft.get_peft_model(base, config).save_pretrained(tmp_path / "lora")
    plain, laid = (load(spec, device="cpu") for spec in (DEFAULT, f"{DEFAULT}+{tmp_path / 'lora'}"))
    assert laid.revision.startswith(plain.revision + "+")


def test_another_base_or_no_file_is_refused(tiny):
    from evenhand.models.load import load

    _, _, path = tiny(revision="of another")
    with pytest.raises(ScorerError, match="add it to those it was made from"):
        load(DEFAULT, device="cpu")
    path.unlink()
    with pytest.raises(InputError, match="install evenhand again"):
        load(DEFAULT, device="cpu")


def test_its_tokenizer_and_licence_are_those_of_the_base(tiny, tiny_tokenizer, monkeypatch, tmp_path):
    from evenhand.models.tokenizer import identity, load_tokenizer
    from evenhand.train.licence import base_licence

    monkeypatch.setattr("evenhand.models.tokenizer.smollm2_folder", lambda: tmp_path / "base")
    tiny()
    assert load_tokenizer(DEFAULT)[1] == identity(tiny_tokenizer)
    assert base_licence(DEFAULT) == "apache-2.0"
