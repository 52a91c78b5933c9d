import dataclasses
import sys
import warnings

import pytest

from evenhand.errors import InputError, MissingExtraError, ScorerError, UsageError
from evenhand.models.load import _name, load


@pytest.fixture
def saved(tmp_path, tiny_model, tiny_tokenizer):
    """A tiny Qwen3 in a folder of its own, and the model it was saved from."""
    folder = tmp_path / "tiny"
    model = tiny_model("qwen3")
    model.save_pretrained(folder)
    tiny_tokenizer.save_pretrained(folder)
    return folder, model


@pytest.fixture
def lora(tmp_path, tiny_model):
    """Saves a LoRA adapter of the tiny Qwen3 whose B matrices are not zero."""
    peft = pytest.importorskip("peft")
    import torch

    def save(name, seed):
        config = peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
        with warnings.catch_warnings(action="ignore"):  # peft uses what transformers deprecates
            model = peft.get_peft_model(tiny_model("qwen3"), config).eval()
        generator = torch.Generator().manual_seed(seed)
        for key, weight in model.named_parameters():
            if "lora_" in key:
                weight.data = 0.3 * torch.randn(weight.shape, generator=generator)
        model.save_pretrained(tmp_path / name)
        return tmp_path / name, model

    return save


def _logits(model, tokenizer, text="Query: how long? Grade: 0"):
    import torch

    ids = torch.tensor([tokenizer.encode(text)])
    with torch.no_grad():
        return model(input_ids=ids).logits


def test_local_folder_round_trip(saved, tiny_tokenizer):
    import torch

    folder, model = saved
    loaded = load(f"hf:{folder}", device="cpu")
    expected = _logits(model, tiny_tokenizer)
    assert torch.equal(_logits(loaded.model, loaded.tokenizer), expected)
    assert loaded.tokenizer.encode("a  0<|im_end|>") == tiny_tokenizer.encode("a  0<|im_end|>")
    assert loaded.tokenizer.chat_template == tiny_tokenizer.chat_template
    assert not loaded.model.training
    assert not any(weight.requires_grad for weight in loaded.model.parameters())
    assert (loaded.name, str(loaded.device), loaded.dtype) == (f"hf:{folder}", "cpu", "float32")
    with pytest.raises(dataclasses.FrozenInstanceError):
        loaded.name = "other"


def test_loading_is_silent(saved, capfd):
    load(f"hf:{saved[0]}", device="cpu")
    assert capfd.readouterr() == ("", "")


def test_revision_follows_the_weights_not_the_place(saved, tmp_path):
    import shutil

    folder, model = saved
    first = load(f"hf:{folder}", device="cpu").revision
    shutil.copytree(folder, tmp_path / "elsewhere")
    assert load(f"hf:{tmp_path}/elsewhere", device="cpu").revision == first
    model.model.norm.weight.data[0] += 1e-3
    model.save_pretrained(folder)
    assert load(f"hf:{folder}", device="cpu").revision != first


def test_dtype_is_kept_beside_the_revision(saved):
    import torch

    full = load(f"hf:{saved[0]}", device="cpu")
    half = load(f"hf:{saved[0]}", device="cpu", dtype="bfloat16")
    assert {weight.dtype for weight in half.model.parameters()} == {torch.bfloat16}
    assert half.revision == full.revision
    assert (half.dtype, full.dtype) == ("bfloat16", "float32")


def test_adapter_equals_the_unmerged_one_and_changes_the_revision(saved, lora, tiny_tokenizer):
    import torch

    folder, _ = saved
    plain = load(f"hf:{folder}", device="cpu")
    place, wrapped = lora("one", 1)
    loaded = load(f"hf:{folder}+{place}", device="cpu")
    expected = _logits(wrapped, tiny_tokenizer)
    assert torch.allclose(_logits(loaded.model, tiny_tokenizer), expected, atol=1e-4)
    assert (expected - _logits(plain.model, tiny_tokenizer)).abs().max() > 0.1
    assert type(loaded.model) is type(plain.model)
    assert loaded.revision.startswith(plain.revision + "+")
    assert load(f"hf:{folder}", adapter=str(place), device="cpu").revision == loaded.revision
    other, _ = lora("two", 2)
    assert load(f"hf:{folder}+{other}", device="cpu").revision != loaded.revision


def test_half_precision_keeps_the_rotary_frequencies(saved, lora):
    import torch

    place, _ = lora("one", 1)
    for spec in (f"hf:{saved[0]}", f"hf:{saved[0]}+{place}"):
        model = load(spec, device="cpu", dtype="bfloat16").model
        assert {weight.dtype for weight in model.parameters()} == {torch.bfloat16}
        assert model.model.rotary_emb.inv_freq.dtype == torch.float32


def test_adapter_that_does_not_fit(saved, lora):
    place, _ = lora("one", 1)
    text = (place / "adapter_config.json").read_text()
    (place / "adapter_config.json").write_text(text.replace('"r": 4', '"r": 8'))
    with pytest.raises(ScorerError, match="does not fit the model"):
        load(f"hf:{saved[0]}+{place}", device="cpu")
    (place / "adapter_config.json").write_text(text.replace('"v_proj"', '"v_proj", "o_proj"'))
    with pytest.raises(ScorerError, match="lacks weights for this model"):
        load(f"hf:{saved[0]}+{place}", device="cpu")


def test_missing_weights_are_never_left_random(saved):
    from safetensors.torch import load_file, save_file

    path = saved[0] / "model.safetensors"
    weights = load_file(path)
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, path, metadata={"format": "pt"})
    with pytest.raises(ScorerError, match=r"lacks 1 weights .*layers\.1\.mlp\.up_proj"):
        load(f"hf:{saved[0]}", device="cpu")


def test_damaged_weights_are_named(saved):
    path = saved[0] / "model.safetensors"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ScorerError, match="could not be loaded"):
        load(f"hf:{saved[0]}", device="cpu")


def test_folder_without_a_model(tmp_path):
    with pytest.raises(InputError, match=r"no \*\.safetensors"):
        load(f"hf:{tmp_path}", device="cpu")


def test_folder_without_a_tokenizer(saved):
    for path in saved[0].glob("*token*"):
        path.unlink()
    with pytest.raises(InputError, match=r"no tokenizer in this folder: none of tokenizer\.json"):
        load(f"hf:{saved[0]}", device="cpu")


def test_adapter_folder_without_its_config_is_told_before_any_weights(tmp_path, monkeypatch):
    monkeypatch.setattr("evenhand.models.load._base", lambda *_: pytest.fail("weights were read"))
    (tmp_path / "lora").mkdir()
    with pytest.raises(InputError, match=r"lora: no adapter_config\.json"):
        load("hf:org/name", adapter=str(tmp_path / "lora"), device="cpu")


def test_hub_that_cannot_be_reached_says_what_to_do(monkeypatch):
    transformers = pytest.importorskip("transformers")

    def refuse(name, **options):
        assert (name, options) == ("org/name", {"revision": "v1"})
        raise OSError("We couldn't connect\nsecond line")

    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", refuse)
    with pytest.raises(ScorerError, match=r"org/name from the hub \(revision v1\)") as caught:
        load("hf:org/name@v1", device="cpu")
    for part in ("We couldn't connect", "hf:/folder", "HF_HUB_OFFLINE=1"):
        assert part in str(caught.value)


def test_hub_files_all_come_from_one_commit(saved, monkeypatch):
    transformers = pytest.importorskip("transformers")
    folder, asked = saved[0], []

    def redirect(auto, real):
        def read(name, **options):
            if name != "org/name":
                return real(name, **options)
            asked.append((auto, options.pop("revision")))
            result = real(str(folder), **options)
            if auto == "AutoConfig":
                result._commit_hash = "c0ffee"
            return result

        return read

    for auto in ("AutoConfig", "AutoTokenizer", "AutoModelForCausalLM"):
        cls = getattr(transformers, auto)
        monkeypatch.setattr(cls, "from_pretrained", redirect(auto, cls.from_pretrained))
    loaded = load("hf:org/name", revision="v1", device="cpu")
    assert (loaded.name, loaded.revision) == ("hf:org/name@v1", "c0ffee")
    assert asked == [
        ("AutoConfig", "v1"),
        ("AutoTokenizer", "c0ffee"),
        ("AutoModelForCausalLM", "c0ffee"),
    ]


def test_unknown_settings_list_the_known_ones(saved):
    with pytest.raises(UsageError, match="known forms are"):
        load("gpt2")
    with pytest.raises(UsageError, match="known are float32, bfloat16, float16"):
        load(f"hf:{saved[0]}", dtype="int8")
    with pytest.raises(UsageError, match="device 'abacus' cannot be used"):
        load(f"hf:{saved[0]}", device="abacus")


@pytest.mark.parametrize("package", ["torch", "transformers"])
def test_missing_extra_is_named(monkeypatch, tmp_path, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"{package}.*evenhand\[hf\]"):
        load(f"hf:{tmp_path}")


def test_missing_peft_is_named(monkeypatch, saved, tmp_path):
    monkeypatch.setitem(sys.modules, "peft", None)
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(MissingExtraError, match=r"peft.*evenhand\[hf\]"):
        load(f"hf:{saved[0]}+{tmp_path}", device="cpu")


def test_name_is_the_spec_with_what_was_given_beside_it():
    assert _name("hf:org/name", "v1", None) == "hf:org/name@v1"
    assert _name("hf:org/name@v1", "v1", "me/lora") == "hf:org/name@v1+me/lora"
    assert _name("hf:org/name+me/lora", "v1", None) == "hf:org/name@v1+me/lora"
