import hashlib
import json

import numpy as np
import pytest

from evenhand.errors import InputError, ScorerError
from evenhand.models import gguf as conversion
from evenhand.models.load import load

BLOCK = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}


def _gguf_name(name):
    name = name.removesuffix(".weight")
    top = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
    if name in top:
        return top[name] + ".weight"
    _, _, layer, rest = name.split(".", 3)
    return f"blk.{layer}.{BLOCK[rest]}.weight"


def _for_gguf(name, weight, config):
    """llama.cpp pairs rotary dimensions (0, 1), transformers (0, half): rows move within a head."""
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    for part, count in heads.items():
        if part in name:
            half = weight.shape[0] // count // 2
            return weight.reshape(count, 2, half, -1).swapaxes(1, 2).reshape(weight.shape)
    return weight


def _write(path, model, tokenizer):
    gguf = pytest.importorskip("gguf")
    config = model.config
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_count(config.hidden_size // config.num_attention_heads)
    writer.add_vocab_size(config.vocab_size)
    tokens = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([3 if token in tokenizer.all_special_tokens else 1 for token in tokens])
    merges = json.loads(tokenizer.backend_tokenizer.to_str())["model"]["merges"]
    writer.add_token_merges([" ".join(pair) for pair in merges])
    writer.add_bos_token_id(tokenizer.bos_token_id)
    writer.add_eos_token_id(tokenizer.eos_token_id)
    writer.add_unk_token_id(tokenizer.unk_token_id)
    writer.add_pad_token_id(tokenizer.pad_token_id)
    writer.add_chat_template(tokenizer.chat_template)
    for name, weight in model.state_dict().items():
        array = _for_gguf(name, weight.numpy(), config)
        writer.add_tensor(_gguf_name(name), np.ascontiguousarray(array))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture
def tiny_gguf(tmp_path, monkeypatch, tiny_model, tiny_tokenizer):
    monkeypatch.setenv("EVENHAND_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "tiny model.gguf"
    model = tiny_model("llama")
    _write(path, model, tiny_tokenizer)
    return path, model


def test_converted_model_gives_the_logits_of_the_original(tiny_gguf, tiny_tokenizer):
    import torch

    path, model = tiny_gguf
    loaded = load(f"gguf:{path}", device="cpu")
    assert loaded.revision == hashlib.sha256(path.read_bytes()).hexdigest()
    ids = torch.tensor([tiny_tokenizer.encode("Grades:\n[1] Grade: 3")])
    expected, found = model(input_ids=ids).logits, loaded.model(input_ids=ids).logits
    assert torch.allclose(found, expected, atol=1e-5)
    assert expected.std() > 0.5


def test_converted_tokenizer_and_template(tiny_gguf, tiny_tokenizer):
    path, _ = tiny_gguf
    tokenizer = load(f"gguf:{path}", device="cpu").tokenizer
    for text in ("Grade: 0", "[12] Grade: 3", "a  0 \n\n12<|im_end|>", "naïve answer"):
        assert tokenizer.encode(text) == tiny_tokenizer.encode(text)
    message = [{"role": "user", "content": "hello"}]
    expected = tiny_tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True)
    found = tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True)
    assert found == expected


def test_converted_once_and_again_for_another_conversion(tiny_gguf, monkeypatch):
    path, _ = tiny_gguf
    calls = []
    real = conversion.convert
    monkeypatch.setattr(conversion, "convert", lambda *args: (calls.append(1), real(*args)))
    load(f"gguf:{path}", device="cpu")
    load(f"gguf:{path}", device="cpu")
    assert len(calls) == 1
    monkeypatch.setattr(conversion, "CONVERSION", conversion.CONVERSION + 1)
    load(f"gguf:{path}", device="cpu")
    assert len(calls) == 2


def test_interrupted_conversion_leaves_nothing(tiny_gguf, monkeypatch, tmp_path):
    path, _ = tiny_gguf

    def stop(folder, ids):
        assert list(folder.glob("*.safetensors"))
        raise KeyboardInterrupt

    monkeypatch.setattr(conversion, "_logits", stop)
    with pytest.raises(KeyboardInterrupt):
        load(f"gguf:{path}", device="cpu")
    assert list((tmp_path / "cache" / "models").iterdir()) == []


def test_conversion_with_other_logits_is_refused(tiny_gguf, monkeypatch, tmp_path):
    path, _ = tiny_gguf
    real = conversion._logits
    monkeypatch.setattr(conversion, "_logits", lambda *args: real(*args) + 0.01)
    with pytest.raises(ScorerError, match=r"differ from the file's by 0\.01"):
        load(f"gguf:{path}", device="cpu")
    assert list((tmp_path / "cache" / "models").iterdir()) == []


def test_conversion_is_silent(tiny_gguf, capfd):
    path, _ = tiny_gguf
    load(f"gguf:{path}", device="cpu")
    assert capfd.readouterr() == ("", "")


def test_missing_or_other_files(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        load(f"gguf:{tmp_path}/none.gguf")
    (tmp_path / "x.gguf").write_bytes(b"PK\x03\x04")
    with pytest.raises(InputError, match="not a GGUF file"):
        load(f"gguf:{tmp_path}/x.gguf")
