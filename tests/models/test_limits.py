"""Models that read long prompts in their own way are shown none."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from evenhand.errors import UsageError
from evenhand.models.forward import Forward
from evenhand.models.limits import _rotary_bounds
from evenhand.score.local import LocalOptions, LocalScorer
from evenhand.types import Candidate, Presentation, Shown, Slate, Surface

LONGROPE = {
    "rope_type": "longrope",
    "rope_theta": 1e4,
    "short_factor": [1.0] * 4,
    "long_factor": [4.0] * 4,
    "factor": 4.0,
    "original_max_position_embeddings": 400,
}


def build(name, tokenizer, **extra):
    if not hasattr(transformers, name):
        pytest.skip(f"this transformers has no {name}")
    config = getattr(transformers, name)(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=2048,
        initializer_range=0.3, bos_token_id=1, eos_token_id=2, pad_token_id=0, **extra,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    return model.eval().requires_grad_(False)


def experts(tokenizer, sliding):
    """A model whose sliding window stands in a mask of its own alone."""
    return build(
        "Qwen2MoeConfig", tokenizer, use_sliding_window=sliding, sliding_window=500,
        max_window_layers=2, num_experts=2, num_experts_per_tok=1, moe_intermediate_size=32,
        shared_expert_intermediate_size=32,
    )  # fmt: skip


def scorer_of(model, tokenizer, **options):
    loaded = SimpleNamespace(model=model, tokenizer=tokenizer, name="tiny", revision="1")
    return LocalScorer(loaded, LocalOptions(**options))


def shown(sizes, visibility="sequential"):
    """One slate a size, of two candidates of so many words each."""
    slates = [
        Slate(f"s{size}", "egg", tuple(Candidate(name, "egg " * size) for name in "ab"))
        for size in sizes
    ]
    surface = Surface(visibility=visibility)
    return [Shown(slate, Presentation((0, 1), ((0, 1),), surface)) for slate in slates]


def test_nothing_limits_models_that_tell_the_seam(tiny_model):
    for family in ("llama", "gemma3"):
        assert Forward(tiny_model(family)).longest is None


def test_a_window_that_layers_keep_to_themselves_limits_the_prompt(tiny_tokenizer):
    assert Forward(experts(tiny_tokenizer, False)).longest is None
    plain, scorer = (
        experts(tiny_tokenizer, True),
        scorer_of(experts(tiny_tokenizer, True), tiny_tokenizer),
    )
    assert scorer._forward.longest == 500
    [one] = shown([400])
    [prompt] = scorer.prompts(one)
    assert len(prompt.ids) <= 500
    assert min(prompt.truncated) > 0
    [scored] = scorer.score([one])
    for slot, place in enumerate(prompt.readouts):
        logits = plain(input_ids=torch.tensor([prompt.ids]), use_cache=False).logits[0, place]
        wanted = torch.softmax(logits[list(prompt.grades)], -1).double().numpy()
        assert np.abs(scored.grades[slot] - wanted).max() < 1e-5
    with pytest.raises(UsageError, match="context=600, but beyond 500 tokens tiny reads"):
        scorer_of(experts(tiny_tokenizer, True), tiny_tokenizer, context=600)


@pytest.mark.parametrize("visibility", ["sequential", "isolated"])
def test_rotary_frequencies_do_not_follow_what_else_is_in_the_batch(visibility, tiny_tokenizer):
    rotary = {"rope_parameters": dict(LONGROPE), "original_max_position_embeddings": 400}
    scorer = scorer_of(build("Phi3Config", tiny_tokenizer, **rotary), tiny_tokenizer)
    assert scorer._forward.longest == 400
    both = shown([3, 300], visibility)
    together = scorer.score(both)
    for one, mine in zip(both, together, strict=True):
        [alone] = scorer.score([one])
        assert np.abs(alone.scores - mine.scores).max() < 1e-5


def test_rotary_bounds_by_hand():
    def config(settings):
        return SimpleNamespace(rope_parameters=settings, max_position_embeddings=2048)

    assert _rotary_bounds(config(None)) == []
    assert _rotary_bounds(config({"rope_type": "yarn", "original_max_position_embeddings": 32})) == []
    assert _rotary_bounds(config(LONGROPE)) == [400]
    # without a length of its own it changes beyond what the model was made for
    assert _rotary_bounds(config({"rope_type": "dynamic", "factor": 2.0})) == [2048]
    both = {"full_attention": LONGROPE, "sliding_attention": {"rope_type": "default"}}
    assert _rotary_bounds(config(both)) == [400]
