"""Tiny tokenizer and models, built in-process, for tests of everything that runs a model."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest

# Before torch is loaded, here and in the processes that tests start: threads that spin while they
# wait for a core in use take several times as long.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# Tests are no package: what several of them share is put where `import servers` finds it.
for _name in ("servers", "openai_server", "llama_server", "words_tokenizer"):
    _spec = importlib.util.spec_from_file_location(_name, Path(__file__).with_name(f"{_name}.py"))
    sys.modules[_name] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules[_name])

CHATML = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
SENTENCES = (
    "You grade every numbered passage by how well it answers the query.",
    "Query: how long does it take to boil an egg? Passage: An egg boils in seven minutes.",
    "Grades:\n[1] Grade: 0\n[2] Grade: 3\n[10] Grade: 2",
    "system user assistant relevance score rubric direct and complete, strong but incomplete, useless.",
    "The passage gives background only; the candidate supports the answer in part.",
    "A slate holds a query and its candidates in canonical order, and each window is one prompt.",
)
FAMILIES = ("llama", "qwen3", "qwen3_moe", "gemma3", "gemma4", "granite")


def build_tokenizer():
    """A byte-level BPE whose digits, and the space before a digit, are tokens of their own."""
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    from tokenizers import decoders, pre_tokenizers, trainers
    from tokenizers import models as token_models

    inner = tokenizers.Tokenizer(token_models.BPE())
    inner.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    inner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=list(SPECIAL),
        show_progress=False,
    )
    inner.train_from_iterator(SENTENCES, trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        unk_token="<|endoftext|>",
        chat_template=CHATML,
        clean_up_tokenization_spaces=False,
        model_max_length=2048,
    )


def _config(family: str, tokenizer, layers: int):
    """The config of one family; skips when this transformers does not know it."""
    import transformers

    common = {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 2048,
        "initializer_range": 0.3,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    head = {"head_dim": 8}
    sliding = {
        **head,
        "sliding_window": 16,
        "layer_types": [("sliding_attention", "full_attention")[i % 2] for i in range(layers)],
    }
    settings = {
        "llama": ("LlamaConfig", {}),
        "qwen3": ("Qwen3Config", head),
        "qwen3_moe": (
            "Qwen3MoeConfig",
            {**head, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32},
        ),
        "gemma3": ("Gemma3TextConfig", {**sliding, "query_pre_attn_scalar": 8}),
        "gemma4": (
            "Gemma4TextConfig",
            {
                **sliding,
                "global_head_dim": 8,
                "hidden_size_per_layer_input": 8,
                "vocab_size_per_layer_input": len(tokenizer),
                "num_kv_shared_layers": 0,
            },
        ),
        "granite": ("GraniteConfig", {}),
    }
    if family not in settings:
        raise KeyError(f"{family!r}; known families are {FAMILIES}")
    name, extra = settings[family]
    if not hasattr(transformers, name):
        pytest.skip(f"this transformers has no {name}")
    return getattr(transformers, name)(**{**common, **extra})


@pytest.fixture(scope="session")
def tiny_tokenizer():
    """The tiny ChatML tokenizer; read it only."""
    return build_tokenizer()


@pytest.fixture(scope="session")
def tiny_model(tiny_tokenizer):
    """A function (family, seed=0, layers=2) -> a new random float32 causal LM in eval mode."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    # Threads cost these models more than they give, the more so on a machine that is in use.
    torch.set_num_threads(1)

    def build(family: str, seed: int = 0, layers: int = 2):
        config = _config(family, tiny_tokenizer, layers)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        return model.eval().requires_grad_(False)

    return build


@pytest.fixture(scope="session")
def plain_varlen():
    """The variable-length attention kernel as a loop over segments, for prompts without branches."""
    torch = pytest.importorskip("torch")

    @torch.compiler.disable
    def attend(q, k, v, starts, keys, longest, most, *, scale, window_size, enable_gqa=False):
        k, v = (each.repeat_interleave(q.shape[1] // each.shape[1], dim=1) for each in (k, v))
        sizes = (starts[1:] - starts[:-1]).tolist()
        assert max(sizes) <= longest
        parts = [
            torch.nn.functional.scaled_dot_product_attention(
                *(each[None].transpose(1, 2) for each in one), is_causal=True, scale=scale
            ).transpose(1, 2)[0]
            for one in zip(q.split(sizes), k.split(sizes), v.split(sizes), strict=True)
            if len(one[0])
        ]
        return torch.cat(parts)

    return attend


@pytest.fixture(scope="module")
def one_thread():
    """One thread: small models lose time to more, and waiting for a core in use costs many times."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
