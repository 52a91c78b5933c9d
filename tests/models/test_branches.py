"""A stream of branches: which keys each query meets, and on a GPU the same values as the mask."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from evenhand.models.attention import layout
from evenhand.models.branches import in_order, pack_branches
from evenhand.models.forward import Forward


def test_segments_and_keys_by_hand():
    # a prompt of three shared tokens and branches of two and one, then one without branches
    branches = [[0, 0, 0, 1, 1, 2], [0, 0]]
    positions = [[0, 1, 2, 3, 4, 3], [0, 1]]
    ids, seen = pack_branches([[5, 6, 7, 8, 9, 10], [11, 12]], branches, positions, "cpu")
    assert ids.tolist() == [[5, 6, 7, 8, 9, 10, 11, 12]]
    assert seen.position.tolist() == [[0, 1, 2, 3, 4, 3, 0, 1]]
    # queries 0-2, 3-4, 5, 6-7
    assert seen.starts.tolist() == [0, 3, 5, 6, 8]
    # keys: the shared part alone, twice with a branch behind it, the other prompt
    assert seen.keys.tolist() == [0, 1, 2, 0, 1, 2, 3, 4, 0, 1, 2, 5, 6, 7]
    assert seen.key_starts.tolist() == [0, 3, 8, 12, 14]
    assert (seen.longest, seen.longest_keys) == (3, 5)


def visible(seen, sliding):
    """The (length, length) mask of a stream: causal from the end of each segment's keys."""
    length = seen.position.shape[1]
    mask = torch.zeros(length, length, dtype=torch.bool)
    starts, key_starts = seen.starts.tolist(), seen.key_starts.tolist()
    for segment in range(len(starts) - 1):
        keys = seen.keys[key_starts[segment] : key_starts[segment + 1]]
        queries = range(starts[segment], starts[segment + 1])
        for place, query in enumerate(queries):
            last = len(keys) - len(queries) + place
            first = 0 if sliding is None else max(0, last - (sliding - 1))
            mask[query, keys[first : last + 1]] = True
    return mask


@pytest.mark.parametrize("sliding", [None, 1, 2, 4])
def test_a_query_meets_what_the_mask_lets_it_see(sliding):
    rng = np.random.default_rng(3)
    for _ in range(10):
        shared, sizes = int(rng.integers(1, 6)), rng.integers(1, 6, size=rng.integers(1, 5)).tolist()
        branches = [0] * shared + [mark for mark, size in enumerate(sizes, 1) for _ in range(size)]
        positions = [*range(shared), *(shared + i for size in sizes for i in range(size))]
        _, seen = pack_branches([branches], [branches], [positions], "cpu")
        wanted = layout([branches], [positions], len(branches), whole=True).mask(sliding)
        assert torch.equal(visible(seen, sliding), wanted[0, 0])


def test_in_order():
    assert in_order([])
    assert in_order([0, 0, 1, 1, 4])
    assert not in_order([0, 1, 0])
    assert not in_order([0, 2, 1])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("family", ["llama", "qwen3", "gemma3"])
def test_on_a_gpu_the_stream_gives_what_the_mask_gives(family, tiny_model):
    model = tiny_model(family).to("cuda", torch.float16)
    reader = Forward(model)
    rng = np.random.default_rng(0)
    prompts = []
    for shared, sizes in ((40, (7, 30, 1)), (5, (60,)), (33, ())):
        branches = [0] * shared + [mark for mark, size in enumerate(sizes, 1) for _ in range(size)]
        positions = [*range(shared), *(shared + i for size in sizes for i in range(size))]
        ids = rng.integers(3, 300, size=len(branches)).tolist()
        every = tuple(range(len(ids)))
        prompts.append(SimpleNamespace(ids=ids, branches=branches, positions=positions, readouts=every))
    names = ["q"] * len(prompts)
    assert reader._packs
    streamed = reader.read(prompts, names, lambda hidden, index: hidden)
    reader._packs, reader.whole = False, True
    masked = reader.read(prompts, names, lambda hidden, index: hidden)
    for mine, wanted in zip(streamed, masked, strict=True):
        assert np.linalg.norm(mine - wanted) < 0.02 * np.linalg.norm(wanted)
