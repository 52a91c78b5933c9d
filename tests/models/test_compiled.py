"""Blocks of a model, compiled and as written."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from evenhand.errors import UsageError
from evenhand.models import compiled, forward, packing
from evenhand.models.compiled import allow_shapes, compile_blocks, plain_blocks
from evenhand.models.forward import Forward
from evenhand.score.local import LocalOptions


def test_compiled_blocks_can_be_run_as_written_again(tiny_model, monkeypatch):
    config = SimpleNamespace(recompile_limit=8)
    monkeypatch.setattr(compiled.torch._dynamo, "config", config)
    # The compiler itself is torch's, and slow to load.
    monkeypatch.setattr(compiled.torch, "compile", lambda call, **_: call)
    model = tiny_model("llama", 0, 2)
    compile_blocks(model)
    assert all(block._compiled_call_impl is not None for block in model.base_model.layers)
    assert config.recompile_limit == compiled.SHAPES
    plain_blocks(model)
    assert all(block._compiled_call_impl is None for block in model.base_model.layers)


def test_a_limit_of_shapes_is_raised_and_never_lowered():
    older, wider = SimpleNamespace(cache_size_limit=8), SimpleNamespace(recompile_limit=500)
    allow_shapes(older)
    allow_shapes(wider)
    assert (older.cache_size_limit, wider.recompile_limit) == (compiled.SHAPES, 500)


@pytest.fixture
def lengths(monkeypatch, plain_varlen):
    """Models stream, with a loop for the kernel; the lengths that blocks were built for."""
    found = []

    def backend(graph, inputs):
        found.append(max((max(one.shape) for one in inputs if one.ndim == 3), default=0))
        return graph.forward

    def build(model):
        torch._dynamo.reset()
        for block in model.base_model.layers:
            block.compile(dynamic=False, backend=backend)

    monkeypatch.setattr(packing, "_varlen", plain_varlen)
    monkeypatch.setattr(forward, "can_pack", lambda model, dtype: True)
    # The probe of a stream has branches, which the loop does not know.
    monkeypatch.setattr(Forward, "_streams", lambda self: True)
    monkeypatch.setattr(forward, "compile_blocks", build)
    return found


def made_prompts(sizes, branch=0):
    rng = np.random.default_rng(0)
    return [
        SimpleNamespace(
            ids=rng.integers(3, 300, size=size), branches=[0] * (size - 1) + [branch],
            positions=list(range(size)), readouts=(3, size - 1),
        )
        for size in sizes
    ]  # fmt: skip


def hidden(states, index):
    return states


def test_a_stream_of_a_fixed_length_reads_as_one_of_its_own(lengths, tiny_model):
    prompts = made_prompts([90, 200, 70, 300, 65])
    names = ["q"] * len(prompts)
    wanted = Forward(tiny_model("llama")).read(prompts, names, hidden)
    assert lengths == []
    reader = Forward(tiny_model("llama"), compiled=True)
    built = []
    for budget in (8192, 500):
        reader.token_budget = budget
        for mine, plain in zip(reader.read(prompts, names, hidden), wanted, strict=True):
            assert np.abs(mine - plain).max() < 1e-5
        built.append(len(lengths))
    reader.probe()
    # Quarters of at least 4096 tokens: one length, whatever came; a probe is not built for.
    assert built == [len(lengths)] * 2
    assert set(lengths) - {0} == {4096}
    assert reader.compiled


def test_prompts_with_branches_go_through_blocks_as_written(lengths, tiny_model):
    reader = Forward(tiny_model("llama"), compiled=True)
    assert reader._compiled(made_prompts([90, 70], branch=1)) is None
    # Prompts shorter than the layout allows for are streamed as they are.
    assert reader._compiled(made_prompts([8] * 200)) is None
    assert lengths == []


def test_blocks_that_cannot_be_compiled_are_run_as_written(lengths, tiny_model, monkeypatch, caplog):
    def refused(graph, inputs):
        raise RuntimeError("no compiler")

    def build(model):
        torch._dynamo.reset()
        for block in model.base_model.layers:
            block.compile(dynamic=False, backend=refused)

    monkeypatch.setattr(forward, "compile_blocks", build)
    prompts, names = made_prompts([90, 200]), ["q"] * 2
    wanted = Forward(tiny_model("llama")).read(prompts, names, hidden)
    reader = Forward(tiny_model("llama"), compiled=True)
    found = reader.read(prompts, names, hidden)
    assert "blocks are run as written" in caplog.text
    assert not reader.compiled
    assert all(np.array_equal(a, b) for a, b in zip(found, wanted, strict=True))


def test_where_nothing_streams_nothing_is_compiled(tiny_model, caplog):
    reader = Forward(tiny_model("llama"), compiled=True)
    assert not reader.compiled
    assert "nothing is compiled" in caplog.text


def test_the_option_is_true_or_false():
    assert LocalOptions(compiled=True).compiled
    with pytest.raises(UsageError, match="compiled must be True or False, got 1"):
        LocalOptions(compiled=1)
