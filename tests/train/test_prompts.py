"""Prompts as arrays are the prompts, and reach another process for little."""

from __future__ import annotations

import pickle

import pytest

torch = pytest.importorskip("torch")

from train_help import make_slate

from evenhand.score.prompt import WindowPrompt
from evenhand.train.feed import prompt_builder
from evenhand.train.grader import Grader
from evenhand.train.prompts import Prompts, Ragged
from evenhand.types import Surface


def made_prompts(loaded, visibility="sequential"):
    builder, slate = prompt_builder(loaded, 4), make_slate(n=7, query="see [1] now")
    windows = ((0, 1, 2), (6,), (5, 3, 4, 1))
    return [builder.build(slate, window, Surface(visibility=visibility)) for window in windows]


def test_rows_by_hand():
    held = Ragged.of([[1, 2], [], [3]])
    assert (held.values.tolist(), held.sizes.tolist()) == ([1, 2, 3], [2, 0, 1])
    assert held.rows() == [(1, 2), (), (3,)]
    assert Ragged.of([]).rows() == []


@pytest.mark.parametrize("visibility", ["sequential", "parallel", "isolated"])
def test_prompts_come_back_as_they_were(tiny_loaded, visibility):
    prompts = made_prompts(tiny_loaded(), visibility)
    assert any(any(one.truncated) for one in prompts)
    assert all(one.query_escaped == 1 for one in prompts)
    held = pickle.loads(pickle.dumps(Prompts.of(prompts)))
    assert list(held) == [held[i] for i in range(len(held))] == prompts
    assert held[1:] == prompts[1:]
    assert len(held) == 3
    assert (held.branches is None) == (visibility == "sequential")
    assert Prompts.of(held) is held
    plain = [
        WindowPrompt(*(tuple(getattr(one, name)) for name in ("ids", "branches", "positions")),
                     one.readouts, one.grades, one.truncated, one.escaped, one.query_escaped)
        for one in prompts
    ]  # fmt: skip
    assert list(Prompts.of(plain)) == plain == prompts


def test_a_token_takes_four_bytes(tiny_loaded):
    held = Prompts.of(made_prompts(tiny_loaded()) * 20)
    assert len(pickle.dumps(held)) < 4.5 * len(held.ids.values) + 4000


@pytest.mark.parametrize("visibility", ["sequential", "parallel"])
def test_arrays_give_the_same_grades_and_gradients_bit_by_bit(tiny_loaded, visibility):
    loaded = tiny_loaded()
    prompts = made_prompts(loaded, visibility)
    model, found = loaded.model.requires_grad_(True), []
    for shown in (prompts, Prompts.of(prompts)):
        model.zero_grad(set_to_none=True)
        grades = Grader(model)(shown)
        (grades**2).sum().backward()
        found.append((grades.detach(), [value.grad.clone() for value in model.parameters()]))
    assert torch.equal(found[0][0], found[1][0])
    assert all(torch.equal(a, b) for a, b in zip(found[0][1], found[1][1], strict=True))
