import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from evenhand.errors import InputError, ScorerError, UsageError
from evenhand.models.classifier import load_classifier


@pytest.fixture
def folders(tmp_path, tiny_tokenizer):
    """A decoder with a score head, and the same decoder without one."""
    config = transformers.LlamaConfig(
        vocab_size=len(tiny_tokenizer), hidden_size=16, intermediate_size=16, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=2, num_labels=1,
    )  # fmt: skip
    kinds = {
        "head": transformers.LlamaForSequenceClassification,
        "none": transformers.LlamaForCausalLM,
    }
    for name, kind in kinds.items():
        kind(config).save_pretrained(tmp_path / name)
        tiny_tokenizer.save_pretrained(tmp_path / name)
    return tmp_path


def test_a_folder_is_loaded_ready_to_score(folders):
    loaded = load_classifier(str(folders / "head"), dtype="bfloat16")
    assert loaded.model.dtype == torch.bfloat16
    assert not loaded.model.training
    assert not any(weight.requires_grad for weight in loaded.model.parameters())
    assert (loaded.name, loaded.dtype, len(loaded.revision)) == (str(folders / "head"), "bfloat16", 64)


def test_a_model_without_its_head_is_refused(folders):
    """transformers would draw the head at random and only warn."""
    with pytest.raises(ScorerError, match=r"lacks 1 weights .*score\.weight.* would be random"):
        load_classifier(str(folders / "none"))


def test_refused(folders, tmp_path):
    with pytest.raises(UsageError, match="unknown dtype 'half'"):
        load_classifier(str(folders / "head"), dtype="half")
    with pytest.raises(UsageError, match="neither a folder here nor a hub id"):
        load_classifier("a b")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no tokenizer"):
        load_classifier(str(tmp_path / "empty"))
    with pytest.raises(UsageError, match="device 'gpu9'"):
        load_classifier(str(folders / "head"), device="gpu9")
