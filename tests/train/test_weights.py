"""What is trained, and how it is kept."""

from __future__ import annotations

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from evenhand.errors import ResumeError, UsageError
from evenhand.train.settings import Training, Weights
from evenhand.train.weights import (
    STATE,
    Checkpoint,
    differences,
    follow,
    frozen_copy,
    prepare,
    trained,
)

LORA = Weights(rank=2, alpha=4)


def test_full_training_trains_everything(tiny_loaded):
    loaded = tiny_loaded()
    model = prepare(loaded, Weights(method="full"), seed=0)
    assert model is loaded.model
    assert model.training
    assert trained(model).keys() == dict(model.named_parameters()).keys()


def test_adapters_alone_are_trained(tiny_loaded):
    loaded = tiny_loaded()
    before = {name: value.clone() for name, value in loaded.model.state_dict().items()}
    model = prepare(loaded, LORA, seed=0)
    names = trained(model)
    # One layer of seven projections, an A and a B each.
    assert len(names) == 14
    assert all("lora_" in name for name in names)
    after = model.get_base_model().state_dict()
    assert all(
        torch.equal(before[name.replace(".base_layer", "")], value)
        for name, value in after.items()
        if "lora_" not in name
    )


def test_adapters_start_from_the_seed_alone(tiny_loaded):
    torch.manual_seed(5)
    first = trained(prepare(tiny_loaded(), LORA, seed=0))
    torch.manual_seed(6)
    same, other = (trained(prepare(tiny_loaded(), LORA, seed=seed)) for seed in (0, 1))
    assert all(torch.equal(first[name], same[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)


def test_layers_that_are_not_there_are_named(tiny_loaded):
    with pytest.raises(UsageError, match="takes no adapters on c_attn .*weights.targets"):
        prepare(tiny_loaded(), replace(LORA, targets=("c_attn",)), seed=0)


def test_an_average_follows_by_hand():
    # .75 x 2 + .25 x 6 = 3.
    average, model = torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)
    for module, value in ((average, 2.0), (model, 6.0)):
        for weight in module.parameters():
            weight.data.fill_(value)
    follow(average, model, 0.75)
    assert average.weight.item() == 3.0
    assert average.bias.item() == 3.0
    assert model.weight.item() == 6.0


def test_a_frozen_copy_has_weights_of_its_own():
    model = torch.nn.Linear(2, 2)
    copied = frozen_copy(model)
    with torch.no_grad():
        model.weight.add_(1)
    assert not torch.equal(copied.weight, model.weight)
    assert not any(weight.requires_grad for weight in copied.parameters())
    assert not copied.training


def state_of(folder, settings=None, labels="l", model="m"):
    return Checkpoint(folder, settings or Training(), labels, model)


def made(value=1.0):
    model = torch.nn.Linear(2, 1)
    model.weight.data.fill_(value)
    return model, torch.optim.AdamW(model.parameters(), lr=0.1)


def test_a_state_comes_back(tmp_path):
    model, optimiser = made(2.0)
    model(torch.ones(1, 2)).sum().backward()
    optimiser.step()
    state_of(tmp_path).save(model, optimiser, 3, log=[{"loss": 0.5}])
    other, other_optimiser = made(7.0)
    state = state_of(tmp_path).load(other, other_optimiser)
    assert (state["done"], state["log"]) == (3, [{"loss": 0.5}])
    assert torch.equal(other.weight, model.weight)
    assert torch.equal(other.bias, model.bias)
    (first, second) = (
        [one["exp_avg"] for one in each.state_dict()["state"].values()]
        for each in (optimiser, other_optimiser)
    )
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    assert [path.name for path in tmp_path.iterdir()] == [STATE]


def test_without_a_state_there_is_none(tmp_path):
    assert state_of(tmp_path).load(*made()) is None


@pytest.mark.parametrize(
    ("other", "name"),
    [
        ({"labels": "x"}, "other labels;"),
        ({"model": "x"}, "other model;"),
        ({"settings": Training(base="hf:other/one")}, r"other settings\.base;"),
    ],
)
def test_a_state_of_another_run_is_refused_and_the_difference_named(tmp_path, other, name):
    state_of(tmp_path).save(*made(), 1)
    with pytest.raises(ResumeError, match=name):
        state_of(tmp_path, **other).load(*made())


def test_a_damaged_state_is_named(tmp_path):
    (tmp_path / STATE).write_bytes(b"PK nothing")
    with pytest.raises(ResumeError, match=r"state\.pt: the checkpoint is damaged"):
        state_of(tmp_path).load(*made())


def test_weights_of_another_model_are_refused(tmp_path):
    state_of(tmp_path).save(*made(), 1)
    model = torch.nn.Linear(2, 1, bias=False)
    with pytest.raises(ResumeError, match="other weights than this run trains"):
        state_of(tmp_path).load(model, torch.optim.AdamW(model.parameters()))


def test_differences_are_named_by_their_place():
    old = {"a": 1, "b": {"c": 2, "d": None}}
    assert differences(old, {"a": 1, "b": {"c": 2, "d": None}}) == []
    assert differences(old, {"a": 2, "b": {"c": 2}}) == ["a", "b.d"]
    assert differences(old, {"a": 1, "b": {"c": 3, "d": None, "e": 1}}) == ["b.c", "b.e"]
