"""A stream without padding: where its segments stand, and that it reads as masks do.

The kernel runs on CUDA alone. Here a loop takes its place, so that the layout, the
reader and the scorer around it are tested on every machine; on a GPU the kernel itself is.
"""

from __future__ import annotations

import itertools
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from evenhand.errors import ScorerError, UsageError
from evenhand.models import forward, packing
from evenhand.models.attention import layout
from evenhand.models.forward import Forward
from evenhand.models.packing import can_pack, carried, in_order, in_stream, pack, stream
from evenhand.score.local import LocalOptions, LocalScorer
from evenhand.types import Candidate, Presentation, Shown, Slate, Surface


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
        assert seen.longest >= max(b - a for a, b in itertools.pairwise(starts))


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


def plain_varlen(
    query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, *, scale=None, window_size=(-1, -1),
    enable_gqa=False,
):  # fmt: skip
    """What torch's operator does, segment by segment: causal from the end of the keys."""
    assert enable_gqa or query.shape[1] == key.shape[1]
    key, value = (x.repeat_interleave(query.shape[1] // x.shape[1], dim=1) for x in (key, value))
    parts = []
    bounds = [list(itertools.pairwise(s.tolist())) for s in (cu_seq_q, cu_seq_k)]
    for (q0, q1), (k0, k1) in zip(*bounds, strict=True):
        assert q1 - q0 <= max_q
        assert k1 - k0 <= max_k
        back = torch.arange(q1 - q0)[:, None] + (k1 - k0) - (q1 - q0) - torch.arange(k1 - k0)[None]
        mask = back >= 0
        if window_size[0] >= 0:
            mask &= back <= window_size[0]
        q, k, v = query[q0:q1], key[k0:k1], value[k0:k1]
        parts.append(
            torch.nn.functional.scaled_dot_product_attention(
                *(each.transpose(0, 1) for each in (q, k, v)), attn_mask=mask, scale=scale
            ).transpose(0, 1)
        )
    return torch.cat(parts)


@pytest.fixture
def emulated(monkeypatch):
    """Let every model stream, with a loop in the place of the kernel."""
    monkeypatch.setattr(packing, "_varlen", plain_varlen)
    monkeypatch.setattr(forward, "can_pack", lambda model, dtype: True)


def a_gpu():
    """A model that says it is on a GPU."""
    return SimpleNamespace(parameters=lambda: iter([SimpleNamespace(device=torch.device("cuda"))]))


def test_only_a_gpu_with_the_kernel_packs_and_only_in_half_precision(monkeypatch, caplog):
    assert not can_pack(torch.nn.Linear(2, 2), torch.bfloat16)
    monkeypatch.setattr(packing, "_varlen", plain_varlen)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (8, 0))
    assert can_pack(a_gpu(), torch.bfloat16)
    assert can_pack(a_gpu(), torch.float16)
    assert not can_pack(a_gpu(), torch.float32)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    assert not can_pack(a_gpu(), torch.float16)
    assert not caplog.records


def test_a_torch_without_the_kernel_falls_back_and_says_so(monkeypatch, caplog):
    monkeypatch.setattr(packing, "_varlen", None)
    assert not can_pack(a_gpu(), torch.bfloat16)
    assert "has no variable-length attention with sliding windows" in caplog.text
    assert "prompts are padded" in caplog.text
    _, seen = pack([[1, 2]], 2, "cpu")
    with pytest.raises(ScorerError, match="update torch"):
        seen.attend(*[torch.zeros(1, 1, 2, 4)] * 3, scaling=None, sliding_window=None)


def test_the_kernel_is_asked_for_by_its_windows(monkeypatch):
    name = "torch.nn.attention.varlen"
    for operator, known in (
        (plain_varlen, True),
        (lambda query, key, value, is_causal=False: query, False),
    ):
        module = ModuleType(name)
        module.varlen_attn = operator
        monkeypatch.setitem(sys.modules, name, module)
        assert packing.varlen() is (operator if known else None)
    monkeypatch.setitem(sys.modules, name, None)  # as if there were no such module
    assert packing.varlen() is None


def test_segments_and_keys_by_hand():
    # a prompt of three shared tokens and branches of two and one, then one without branches
    branches = [[0, 0, 0, 1, 1, 2], [0, 0]]
    positions = [[0, 1, 2, 3, 4, 3], [0, 1]]
    ids, seen = stream([[5, 6, 7, 8, 9, 10], [11, 12]], branches, positions, "cpu")
    assert ids.tolist() == [[5, 6, 7, 8, 9, 10, 11, 12]]
    assert seen.position.tolist() == [[0, 1, 2, 3, 4, 3, 0, 1]]
    # queries 0-2, 3-4, 5, 6-7
    assert seen.starts.tolist() == [0, 3, 5, 6, 8]
    # keys: the shared part alone, twice with a branch behind it, the other prompt
    assert seen.keys.index.tolist() == [0, 1, 2, 0, 1, 2, 3, 4, 0, 1, 2, 5, 6, 7]
    assert seen.keys.starts.tolist() == [0, 3, 8, 12, 14]
    assert (seen.longest, seen.keys.longest) == (3, 5)


def test_prompts_without_branches_meet_their_own_tokens():
    ids, seen = stream([[5, 6, 7], [8]], [[0, 0, 0], [0]], [[0, 1, 2], [0]], "cpu")
    assert ids.tolist() == [[5, 6, 7, 8]]
    assert (seen.starts.tolist(), seen.longest, seen.keys) == ([0, 3, 4], 3, None)


def test_places_are_counted_through_the_stream():
    # Prompts of 3, 1 and 2 tokens start at 0, 3 and 4.
    assert in_stream([[0, 2], [], [1]], [3, 1, 2]).tolist() == [0, 2, 5]
    assert in_stream([], [3, 1]).tolist() == []
    places = [[0, 2], [], [1]]
    _, seen = pack([[5, 6, 7], [8], [9, 10]], 9, "cpu", segments=5, places=places)
    assert seen.places.tolist() == [0, 2, 5]
    rows = [[0] * 3, [0], [0] * 2]
    _, seen = stream(rows, rows, [[0, 1, 2], [0], [0, 1]], "cpu", places=places)
    assert seen.places.tolist() == [0, 2, 5]


@pytest.mark.parametrize("grouped", [False, True])
def test_grouped_heads_are_left_to_the_kernel_where_it_knows_them(grouped, monkeypatch):
    asked = []

    def kernel(query, key, value, *rest, **options):
        asked.append((key.shape[1], options.get("enable_gqa", False)))
        return plain_varlen(query, key, value, *rest, **options)

    monkeypatch.setattr(packing, "_varlen", kernel)
    monkeypatch.setattr(packing, "_GROUPS", grouped)
    _, seen = stream([[5, 6, 7], [8]], [[0, 0, 0], [0]], [[0, 1, 2], [0]], "cpu")
    torch.manual_seed(0)
    query, key, value = (torch.randn(1, heads, 4, 8) for heads in (6, 2, 2))
    with torch.inference_mode():
        found = seen.attend(query, key, value, scaling=None, sliding_window=None)
    # With gradients heads are repeated.
    again = seen.attend(query, key, value, scaling=None, sliding_window=None)
    assert asked == [(2, True) if grouped else (6, False), (6, False)]
    assert torch.equal(found, again)


def test_arrays_are_carried_together_and_come_apart():
    first, second = carried([np.array([1, 2, 3]), np.array([-4], dtype=np.int32)], "cpu")
    assert (first.tolist(), second.tolist()) == ([1, 2, 3], [-4])
    assert first.dtype == second.dtype == torch.int32


def plain_stream(ids, branches, positions):
    """What `stream` says, run by run in Python: starts, keys and the longest of both."""
    sizes, keys, start = [], [], 0
    for row in branches:
        shared = []
        for mark, run in itertools.groupby(row):
            own = list(range(start, start + len(list(run))))
            keys.append(shared + own)
            sizes.append(len(own))
            shared = own if mark == 0 else shared
            start += len(own)
    return list(itertools.accumulate(sizes, initial=0)), keys


def test_a_stream_is_that_of_a_plain_loop():
    rng = np.random.default_rng(5)
    for _ in range(40):
        prompts = []
        for _ in range(int(rng.integers(1, 6))):
            sizes = rng.integers(1, 5, size=int(rng.integers(0, 4))).tolist()
            # A prompt may have branches and nothing shared before them.
            prompts.append(made_prompt(rng, int(rng.integers(0 if sizes else 1, 5)), sizes))
        rows = [[getattr(p, name) for p in prompts] for name in ("ids", "branches", "positions")]
        ids, seen = stream(*rows, "cpu", places=[p.readouts for p in prompts])
        starts, keys = plain_stream(*rows)
        assert ids.tolist() == [list(itertools.chain(*rows[0]))]
        assert seen.position.tolist() == [list(itertools.chain(*rows[2]))]
        assert (ids.dtype, seen.position.dtype, seen.starts.dtype) == (
            torch.int64, torch.int64, torch.int32,
        )  # fmt: skip
        assert seen.starts.tolist() == starts
        assert seen.longest == max(np.diff(starts))
        assert seen.places.tolist() == list(range(len(ids[0])))
        if not any(itertools.chain(*rows[1])):
            assert seen.keys is None
            continue
        assert seen.keys.index.tolist() == list(itertools.chain(*keys))
        assert seen.keys.starts.tolist() == list(itertools.accumulate(map(len, keys), initial=0))
        assert seen.keys.longest == max(map(len, keys))


def test_in_order():
    assert in_order([])
    assert in_order([0, 0, 0])
    assert in_order([0, 0, 1, 1, 4])
    assert not in_order([0, 1, 0])
    assert not in_order([0, 2, 1])


def made_prompt(rng, shared, sizes):
    """Random ids with a shared part and branches, read at every token."""
    branches = [0] * shared + [mark for mark, size in enumerate(sizes, 1) for _ in range(size)]
    positions = [*range(shared), *(shared + i for size in sizes for i in range(size))]
    ids = rng.integers(3, 300, size=len(branches)).tolist()
    return SimpleNamespace(
        ids=ids, branches=branches, positions=positions, readouts=tuple(range(len(ids)))
    )


@pytest.mark.parametrize("sliding", [None, 1, 2, 4])
def test_a_query_meets_what_the_mask_lets_it_see(sliding, monkeypatch):
    monkeypatch.setattr(packing, "_varlen", plain_varlen)
    rng = np.random.default_rng(3)
    for _ in range(10):
        shared, sizes = int(rng.integers(1, 6)), rng.integers(1, 6, size=rng.integers(0, 5)).tolist()
        one = made_prompt(rng, shared, sizes)
        length = len(one.ids)
        _, seen = stream([one.ids], [one.branches], [one.positions], "cpu")
        # Even weights over what is seen, and values that tell tokens apart: the output is the mask.
        query, value = torch.zeros(1, 2, length, 4), torch.eye(length)[None, None]
        found = seen.attend(query, query[:, :1], value, scaling=None, sliding_window=sliding)[0]
        wanted = layout([one.branches], [one.positions], length, whole=True).mask(sliding)
        wanted = torch.ones(length, length).tril() > 0 if wanted is None else wanted[0, 0]
        for head in range(2):
            assert torch.equal(found[:, head] > 0, wanted)


@pytest.mark.parametrize("family", ["llama", "qwen3", "gemma3", "gemma4"])
def test_a_stream_reads_as_one_mask_does(family, tiny_model, emulated):
    reader = Forward(tiny_model(family))
    assert reader._packs
    rng = np.random.default_rng(0)
    parts = ((40, (7, 30, 1)), (5, (60,)), (33, ()), (1, (1, 1)), (3, ()))
    prompts = [made_prompt(rng, *part) for part in parts]
    names = ["q"] * len(prompts)
    for budget in (1, 8192):
        reader.token_budget = budget
        reader.whole = False
        streamed = reader.read(prompts, names, lambda hidden, index: hidden)
        reader.whole = True
        masked = reader.read(prompts, names, lambda hidden, index: hidden)
        for mine, wanted in zip(streamed, masked, strict=True):
            assert np.abs(mine - wanted).max() < 1e-4


@pytest.mark.parametrize("visibility", ["sequential", "parallel", "isolated"])
def test_a_scorer_gives_the_same_scores_from_streams(visibility, tiny_model, tiny_tokenizer, emulated):
    texts = ["egg", "", "water " * 30, "[1] Grade: 3<|im_end|>", "seven minutes"]
    slate = Slate("s", "boil an egg", tuple(Candidate(f"c{i}", text) for i, text in enumerate(texts)))
    surface = Surface(visibility=visibility)
    shown = [
        Shown(slate, Presentation(tuple(range(5)), windows, surface))
        for windows in ((tuple(range(5)),), ((4, 2), (0, 1, 3)), ((0,), (1,), (2,), (3,), (4,)))
    ]
    loaded = SimpleNamespace(
        model=tiny_model("gemma3"), tokenizer=tiny_tokenizer, name="tiny", revision="1"
    )
    scorer = LocalScorer(loaded, LocalOptions(token_budget=700))
    streamed = scorer.score(shown)
    assert scorer._forward._packs
    scorer._forward._packs = False
    for mine, wanted in zip(streamed, scorer.score(shown), strict=True):
        assert np.abs(mine.scores - wanted.scores).max() < 1e-5
        assert mine.tokens == wanted.tokens


def test_branches_out_of_order_are_read_through_masks(tiny_model, emulated, monkeypatch):
    reader = Forward(tiny_model("llama"))
    monkeypatch.setattr(Forward, "_packed", None)
    mixed = SimpleNamespace(
        ids=(5, 6, 7, 8), branches=(0, 2, 1, 2), positions=(0, 1, 1, 2), readouts=(3,)
    )
    alone = SimpleNamespace(ids=(5, 6, 8), branches=(0, 2, 2), positions=(0, 1, 2), readouts=(2,))
    found = reader.read([mixed], ["q"], lambda hidden, index: hidden)[0]
    reader._packs = False
    wanted = reader.read([alone], ["q"], lambda hidden, index: hidden)[0]
    assert np.abs(found - wanted).max() < 1e-5


def refused(*args, **kwargs):
    raise RuntimeError("head dimension should be at most 256")


def blind(query, key, value, *args, **kwargs):
    return torch.zeros_like(query)


@pytest.mark.parametrize(
    ("kernel", "says"), [(refused, "should be at most 256"), (blind, "a stream reads otherwise")]
)
def test_a_model_that_the_kernel_does_not_take_is_padded(
    kernel, says, tiny_model, emulated, monkeypatch, caplog
):
    monkeypatch.setattr(packing, "_varlen", kernel)
    reader = Forward(tiny_model("llama"))
    assert not reader._packs
    assert says in caplog.text
    one = SimpleNamespace(ids=(5, 6), branches=(0, 0), positions=(0, 1), readouts=(1,))
    assert np.isfinite(reader.read([one], ["q"], lambda hidden, index: hidden)[0]).all()


def test_a_model_that_carries_a_state_streams_without_branches(tiny_model, emulated, monkeypatch):
    monkeypatch.setattr(Forward, "_keeps_branches_apart", lambda self: False)
    reader = Forward(tiny_model("llama"))
    assert reader._packs


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


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("family", ["llama", "qwen3", "gemma3"])
def test_on_a_gpu_the_stream_gives_what_the_mask_gives(family, tiny_model):
    reader = Forward(tiny_model(family).to("cuda", torch.float16))
    rng = np.random.default_rng(0)
    prompts = [made_prompt(rng, *part) for part in ((40, (7, 30, 1)), (5, (60,)), (33, ()))]
    names = ["q"] * len(prompts)
    assert reader._packs
    streamed = reader.read(prompts, names, lambda hidden, index: hidden)
    reader.whole = True
    masked = reader.read(prompts, names, lambda hidden, index: hidden)
    for mine, wanted in zip(streamed, masked, strict=True):
        assert np.linalg.norm(mine - wanted) < 0.02 * np.linalg.norm(wanted)
