"""Attention part by part against one mask over everything."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from evenhand.models.attention import _attend, layout
from evenhand.models.blocks import blocks
from evenhand.models.forward import Forward


def parts_of(branches, positions, length=None, side="right"):
    length = length or max(map(len, branches))
    return layout(branches, positions, length, side=side).blocks


def test_no_branches_no_blocks():
    assert layout([[0, 0, 0], [0]], [[0, 1, 2], [0]], 3).blocks is None
    assert layout([[0, 1]], [[0, 1]], 2, whole=True).blocks is None
    assert blocks(torch.tensor([[0, 0, -1]]), torch.tensor([[0, 1, 0]]), "cpu") is None


def test_places_and_masks_by_hand():
    # three shared tokens, branch 1 of two tokens, branches 2 and 3 of one: blocks {3, 4, 5} and {6}
    parts = parts_of([[0, 0, 0, 1, 1, 2, 3]], [[0, 1, 2, 3, 4, 3, 3]])
    assert parts.shared.index.tolist() == [[0, 1, 2]]
    assert parts.own.index.tolist() == [[3, 4, 5], [6, 0, 0]]
    assert parts.own.known.tolist() == [[True, True, True], [True, False, False]]
    assert parts.keys.index.tolist() == [[0, 1, 2, 3, 4, 5], [0, 1, 2, 6, 0, 0]]
    assert parts.back.tolist() == [0, 1, 2, 3, 4, 5, 6]
    shared, own = parts.masks(None)
    assert shared is None
    assert own[:, 0].int().tolist() == [
        [[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 0], [1, 1, 1, 0, 0, 1]],
        [[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1]],  # two rows of filling
    ]


def test_sliding_window_counts_positions():
    parts = parts_of([[0, 0, 0, 1, 1, 2]], [[0, 1, 2, 3, 4, 3]])
    shared, own = parts.masks(2)
    assert shared[0, 0].int().tolist() == [[1, 0, 0], [1, 1, 0], [0, 1, 1]]
    # position 3 sees 2 and 3, position 4 sees 3 and 4; branch 2 follows the shared part
    assert own[0, 0].int().tolist() == [[0, 0, 1, 1, 0, 0], [0, 0, 0, 1, 1, 0], [0, 0, 1, 0, 0, 1]]
    assert parts.masks(3)[0] is None


def test_blocks_are_no_longer_than_the_shared_part_or_the_longest_branch():
    branches = [0] * 4 + [1] * 2 + [2] * 2 + [3] * 6 + [4] * 1
    parts = parts_of([branches], [list(range(len(branches)))])
    # room for 6: 2 + 2, then 6, then 1
    assert parts.own.known.sum(1).tolist() == [4, 6, 1]


def random_layout(rng, rows=3):
    """Rows of a shared part and some branches; one row in four has no branch at all."""
    branches, positions = [], []
    for _ in range(rows):
        shared = int(rng.integers(1, 7))
        lengths = [] if rng.random() < 0.25 else rng.integers(1, 9, size=rng.integers(1, 6)).tolist()
        branches.append(
            [0] * shared + [mark for mark, size in enumerate(lengths, 1) for _ in range(size)]
        )
        positions.append([*range(shared), *(shared + i for size in lengths for i in range(size))])
    return branches, positions


def attended(seen, tensors, sliding):
    def attend(query, key, value, mask):
        return _attend(query, key, value, mask, dropout=0.0, scaling=0.7)

    if seen.blocks is None:
        return attend(*tensors, seen.mask(sliding))
    return seen.blocks.attend(*tensors, sliding, attend)


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("sliding", [None, 1, 3, 8, 100])
def test_equals_one_mask_in_values_and_gradients(side, sliding):
    rng = np.random.default_rng(5)
    for _ in range(12):
        branches, positions = random_layout(rng)
        length = max(map(len, branches)) + 2
        both = [layout(branches, positions, length, side=side, whole=whole) for whole in (False, True)]
        if both[0].blocks is None:
            continue
        shapes = [(3, heads, length, dim) for heads, dim in ((4, 8), (2, 8), (2, 5))]
        tensors = [
            torch.tensor(rng.normal(size=shape), dtype=torch.float32, requires_grad=True)
            for shape in shapes
        ]
        real = both[0].branch >= 0
        found = []
        for seen in both:
            output = attended(seen, tensors, sliding)
            assert torch.isfinite(output).all()
            (output[real] ** 2).sum().backward()
            found.append([output[real].detach(), *(each.grad.clone() for each in tensors)])
            for each in tensors:
                each.grad = None
        for mine, wanted in zip(*found, strict=True):
            torch.testing.assert_close(mine, wanted, atol=1e-4, rtol=1e-4)


def test_row_without_a_shared_part():
    branches, positions = [[1, 1, 2], [0, 0, 1]], [[0, 1, 0], [0, 1, 2]]
    tensors = [torch.randn(2, 2, 3, 4, generator=torch.Generator().manual_seed(0)) for _ in range(3)]
    mine, wanted = (
        attended(layout(branches, positions, 3, whole=whole), tensors, None) for whole in (False, True)
    )
    torch.testing.assert_close(mine, wanted)


@pytest.mark.parametrize("family", ["llama", "qwen3", "gemma3", "gemma4"])
def test_a_model_can_be_trained_through_it(family, tiny_model):
    model = tiny_model(family)
    Forward(model)
    model.requires_grad_(True)
    branches = [[0] * 20 + [1] * 3 + [2] * 30, [0] * 5 + [1] * 4]
    positions = [[*range(20), *range(20, 23), *range(20, 50)], list(range(9))]
    ids = torch.arange(2 * 53).reshape(2, 53) % 300
    gradients = []
    for whole in (False, True):
        seen = layout(branches, positions, 53, whole=whole)
        output = model(
            input_ids=ids, position_ids=seen.position, evenhand_layout=seen, use_cache=False
        ).logits
        output[seen.branch >= 0].square().mean().backward()
        gradients.append(
            {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
        )
        model.zero_grad()
    mine, wanted = gradients
    assert mine.keys() == wanted.keys()
    assert max(float(g.abs().max()) for g in wanted.values()) > 1e-3
    for name, gradient in mine.items():
        torch.testing.assert_close(gradient, wanted[name], atol=1e-4, rtol=1e-3)
