"""A step on the machine: what is read, when, and that what is read is what a plain sum gives."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
accelerate = pytest.importorskip("accelerate")

from torch.utils._python_dispatch import TorchDispatchMode
from train_help import make_slate

from evenhand.errors import ScorerError
from evenhand.train import machine as machine_module
from evenhand.train.feed import Steps, by_id, plan, prompt_builder
from evenhand.train.grader import Grader
from evenhand.train.labels import Labelled
from evenhand.train.machine import Machine
from evenhand.train.settings import Run, Training, Weights
from evenhand.train.step import Objective, Step, terms
from evenhand.train.views import Views


def settings_of(objective=None, **run):
    return Training(
        views=Views(widths=(3,)), objective=objective or Objective(consistency=2.0),
        weights=Weights(method="full"), run=Run(windows=8, steps=1, **run),
    )  # fmt: skip


def made(loaded, settings):
    rng = np.random.default_rng(3)
    slates = by_id([Labelled(make_slate(f"s{i}", n=5), rng.random(5), rng.random(5)) for i in range(4)])
    steps = Steps(slates, plan(slates, settings), settings, prompt_builder(loaded, 64))
    machine = Machine(loaded, settings, torch.device("cpu"))
    machine.spread(accelerate.Accelerator(cpu=True))
    return machine, steps


class Reads(TorchDispatchMode):
    """Counts how often the host asks for a number of the device."""

    count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += func is torch.ops.aten._local_scalar_dense.default
        return func(*args, **(kwargs or {}))


def test_the_host_asks_for_numbers_once_a_step(tiny_loaded, monkeypatch):
    machine, steps = made(tiny_loaded(), settings_of(token_budget=1))
    fed = steps[0]
    assert len(fed.micros) > 2
    # As on a GPU: packed streams, and an optimiser that counts by itself.
    monkeypatch.setattr(Grader, "_padded", Grader._packed)
    monkeypatch.setattr(
        Grader, "_body", lambda self, ids, seen: self.inner.base_model.embed_tokens(ids)
    )
    monkeypatch.setattr(machine.optimiser, "step", lambda: None)
    lists = []
    plain = torch.Tensor.tolist
    monkeypatch.setattr(torch.Tensor, "tolist", lambda self: lists.append(len(self)) or plain(self))
    with Reads() as reads:
        record = machine.descend(fed, steps, 1)
    # anchor, consistency, loss, grades that are not finite, and the norm.
    assert 5 in lists
    # One look at the grades of each micro-batch, which a GPU does not take.
    assert reads.count <= len(fed.micros)
    assert record["norm"] > 0


@pytest.mark.parametrize(
    "objective",
    [Objective(consistency=2.0), Objective(consistency=1.0, weighting="uncertainty", temperature=0.5)],
)
def test_terms_are_those_of_a_plain_sum(tiny_loaded, objective):
    machine, steps = made(tiny_loaded(), settings_of(objective, token_budget=1))
    fed = steps[0]
    weights = [steps.weights(micro) for micro in fed.micros]
    wanted: dict[str, float] = {}
    for micro, own in zip(fed.micros, weights, strict=True):
        scaled = None
        if own is not None:
            total = sum(np.float32(one).sum() for one in weights) / sum(map(len, weights))
            scaled = torch.tensor(own / total, dtype=torch.float32)
        with torch.no_grad():
            read = machine.grader(list(micro.prompts))
        probabilities = torch.zeros(micro.count, len(micro.labels), read.shape[1])
        for row, view, column in zip(read, micro.view, micro.column, strict=True):
            probabilities[view, column] = row
        labels = torch.tensor(micro.labels, dtype=torch.float32)
        step = Step(probabilities, labels, torch.tensor(micro.groups), weights=scaled)
        for name, value in terms(objective, step, 0.0).items():
            share = len(micro.labels) / fed.candidates
            wanted[name] = wanted.get(name, 0.0) + float(value) * share
    record = machine.descend(fed, steps, 10**6)
    assert {name: record[name] for name in wanted} == pytest.approx(wanted, rel=1e-5)
    assert record["tokens"] == sum(len(p.ids) for micro in fed.micros for p in micro.prompts)
    assert machine_module.BROKEN not in record


def test_grades_that_are_not_finite_stop_a_step_that_does_not_look_before(tiny_loaded, monkeypatch):
    machine, steps = made(tiny_loaded(), settings_of())
    next(machine.grader.parameters()).data.fill_(float("nan"))
    monkeypatch.setattr("evenhand.train.grader.refuse_unless", lambda finite: None)
    before = [value.detach().clone() for value in machine.grader.parameters()][1:]
    with pytest.raises(ScorerError, match="step 1: the model in training gave NaN or infinite grades"):
        machine.descend(steps[0], steps, 1)
    after = [value.detach() for value in machine.grader.parameters()][1:]
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


def test_a_model_that_was_looked_at_trains_on(tiny_loaded):
    loaded = tiny_loaded()
    machine, steps = made(loaded, settings_of())
    assert not machine.shown(loaded).model.training
    machine.descend(steps[0], steps, 1)
    assert all(module.training for module in machine.grader.modules())


def fused(loaded, settings, ahead):
    """A machine whose optimiser is one kernel, as on a GPU."""
    machine, steps = made(loaded, settings)
    for group in machine.optimiser.param_groups:
        group["fused"] = True
    machine._ahead = ahead
    return machine, steps


def weights_of(machine):
    return [value.detach().clone() for value in machine.grader.parameters()]


def test_an_optimiser_that_does_not_wait_takes_the_same_step(tiny_loaded):
    found = []
    for ahead in (False, True):
        machine, steps = fused(tiny_loaded(), settings_of(), ahead)
        before = weights_of(machine)
        records = [machine.descend(steps[0], steps, 10) for _ in range(3)]
        after = weights_of(machine)
        assert not any(torch.equal(a, b) for a, b in zip(before, after, strict=True))
        counts = {float(one["step"]) for one in machine.optimiser.state.values()}
        found.append((records, after, counts))
    (first, some, counted), (second, others, also) = found
    assert first == second
    assert counted == also == {3.0}
    assert all(torch.equal(a, b) for a, b in zip(some, others, strict=True))


@pytest.mark.parametrize("where", ["gradient", "grades"])
def test_an_optimiser_that_does_not_wait_leaves_a_broken_step(tiny_loaded, monkeypatch, where):
    machine, steps = fused(tiny_loaded(), settings_of(), True)
    machine.descend(steps[0], steps, 10)
    kept = weights_of(machine)
    monkeypatch.setattr("evenhand.train.grader.refuse_unless", lambda finite: None)
    if where == "gradient":
        weight = machine.grader.inner.base_model.embed_tokens.weight
        weight.register_hook(lambda gradient: gradient * float("nan"))
    else:
        monkeypatch.setattr(Grader, "forward", lambda self, prompts, plain=Grader.forward: (
            plain(self, prompts) * float("inf")
        ))  # fmt: skip
    with pytest.raises(ScorerError, match="step 1: the (norm of the gradient is|model in training)"):
        machine.descend(steps[0], steps, 10)
    assert all(torch.equal(a, b) for a, b in zip(kept, weights_of(machine), strict=True))
