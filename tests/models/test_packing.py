"""A stream without padding: where its prompts stand, and that they are blind to each other."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from evenhand.errors import ScorerError, UsageError
from evenhand.models.packing import can_pack, pack, require_causal


def test_prompts_stand_one_after_the_other():
    ids, seen = pack([[5, 6, 7], [8], [9, 10]], 9, "cpu", segments=5)
    assert ids.tolist() == [[5, 6, 7, 8, 9, 10, 0, 0, 0]]
    # What fills the stream up is a segment; segments that are not there are empty, at the end.
    assert seen.starts.tolist() == [0, 3, 4, 6, 9, 9]
    assert seen.starts.dtype == torch.int32
    assert seen.position.tolist() == [[0, 1, 2, 0, 0, 1, 0, 1, 2]]


def test_every_token_is_in_a_segment():
    for length in (6, 7, 50):
        ids, seen = pack([[1, 2], [3, 4, 5, 6]], length, "cpu", segments=8)
        starts = seen.starts.tolist()
        assert ids.shape == seen.position.shape == (1, length)
        assert starts[0] == 0
        assert starts[-1] == length
        assert starts == sorted(starts)
        assert len(starts) == 9
        assert seen.longest >= max(b - a for a, b in zip(starts, starts[1:], strict=False))


@pytest.mark.parametrize(
    ("prompts", "length", "segments"),
    [([[1, 2, 3]], 2, 4), ([[1], [2]], 5, 2), ([[1], []], 5, 4), ([], 5, 4)],
)
def test_prompts_that_do_not_fit_are_refused(prompts, length, segments):
    with pytest.raises(UsageError, match="do not fit"):
        pack(prompts, length, "cpu", segments=segments)


def test_filler_is_no_longer_than_the_longest_segment():
    _, seen = pack([[1] * 300], 1500, "cpu", segments=8)
    # 300 tokens are a power of two of at most 512, and 1200 of filler are 512, 512, 176.
    assert seen.longest == 512
    assert seen.starts.tolist() == [0, 300, 812, 1324, 1500, 1500, 1500, 1500, 1500]


def test_branches_cannot_be_packed():
    require_causal([[0, 0], [0]])
    with pytest.raises(ScorerError, match="cannot be packed"):
        require_causal([[0, 0], [0, 1]])


def test_a_cpu_cannot_pack():
    model = torch.nn.Linear(2, 2)
    assert not can_pack(model, torch.bfloat16)


def oracle(query, key, value, lengths, window):
    """Causal attention of each prompt by itself, in float32."""
    parts, start = [], 0
    for length in lengths:
        q, k, v = (each[:, :, start : start + length].float() for each in (query, key, value))
        k, v = (each.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for each in (k, v))
        place = torch.arange(length, device=q.device)
        mask = place[:, None] >= place[None]
        if window is not None:
            mask &= place[:, None] - place[None] < window
        parts.append(torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask))
        start += length
    return torch.cat(parts, dim=2).transpose(1, 2)


@pytest.mark.skipif(
    not torch.cuda.is_available(), reason="torch's variable-length attention runs on CUDA alone"
)
@pytest.mark.parametrize("window", [None, 4])
def test_attention_is_that_of_each_prompt_alone(window):
    lengths = [7, 1, 13]
    total = sum(lengths)
    made = torch.Generator("cuda").manual_seed(0)
    query, key, value = (
        torch.randn(1, heads, 32, 16, generator=made, device="cuda", dtype=torch.bfloat16)
        for heads in (4, 2, 2)
    )
    _, seen = pack([[1] * n for n in lengths], 32, "cuda", segments=8)
    found = seen.attend(query, key, value, scaling=None, sliding_window=window)
    wanted = oracle(query, key, value, lengths, window)
    assert float((found[:, :total].float() - wanted).abs().max()) < 0.02
    assert bool(torch.isfinite(found).all())
