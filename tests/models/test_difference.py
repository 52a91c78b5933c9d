"""A difference: rounded, written, read and added, or refused with its reason."""

from __future__ import annotations

import json

import pytest

torch = pytest.importorskip("torch")

from safetensors import safe_open
from safetensors.torch import load_file, save_file

from evenhand.errors import InputError, ScorerError, UsageError
from evenhand.models.difference import FORMAT, Difference, add, quantise, read, split, write


class Two(torch.nn.Module):
    """A matrix of (3, 2) and a norm of 2."""

    def __init__(self, dtype=torch.float32):
        super().__init__()
        self.matrix = torch.nn.Linear(2, 3, bias=False, dtype=dtype)
        self.norm = torch.nn.Parameter(torch.ones(2, dtype=dtype))
        self.requires_grad_(False)


def tensors(**changes):
    """A difference for `Two`, of rank 1."""
    made = {
        "matrix.weight.left": torch.tensor([[127.0], [50.4], [0.0]]),
        "matrix.weight.right": torch.tensor([[127.0, -3.6]]),
        "norm": torch.tensor([0.5, -0.25]),
    }
    return {name: value for name, value in {**made, **changes}.items() if value is not None}


@pytest.fixture
def kept(tmp_path):
    path = tmp_path / "difference.safetensors"
    write(path, tensors(), base="tiny", revision="r1")
    return path


def rewritten(path, said=(), **changes):
    """The file with other tensors or metadata; None takes one away."""
    with safe_open(str(path), framework="pt") as file:
        metadata = {**file.metadata(), **dict(said)}
    held = {**load_file(path), **changes}
    save_file({k: v for k, v in held.items() if v is not None}, path, metadata=metadata)
    return path


def test_rounding_by_hand():
    found = quantise(tensors())
    # Both largest values are 127, so one step is 1: 50.4 -> 50, -3.6 -> -4.
    assert found["matrix.weight.left"].tolist() == [[127], [50], [0]]
    assert found["matrix.weight.right"].tolist() == [[127, -4]]
    assert found["matrix.weight.left.scale"].tolist() == [1.0]
    assert found["norm"].tolist() == [0.5, -0.25]
    assert found["matrix.weight.left"].dtype == torch.int8
    assert found["norm"].dtype == found["matrix.weight.right.scale"].dtype == torch.float16


def test_both_sides_of_a_rank_are_brought_to_one_largest_value():
    left = torch.tensor([[508.0], [4.0], [0.0]])
    right = torch.tensor([[31.75, 1.0]])
    found = quantise(tensors(**{"matrix.weight.left": left, "matrix.weight.right": right}))
    # sqrt(31.75 / 508) = 1/4: 508/4 = 127 and 4/4 = 1 on the left, 31.75*4 = 127 and 4 on the right.
    assert found["matrix.weight.left"].tolist() == [[127], [1], [0]]
    assert found["matrix.weight.right"].tolist() == [[127, 4]]
    assert found["matrix.weight.right.scale"].tolist() == [1.0]


def test_each_rank_has_steps_of_its_own():
    generator = torch.Generator().manual_seed(0)
    left = torch.randn(40, 3, generator=generator) * torch.tensor([100.0, 1.0, 1e-4])
    right = torch.randn(3, 30, generator=generator)
    found = quantise({"w.left": left, "w.right": right})
    for k in range(3):
        steps = found["w.left"][:, k].float() * found["w.left.scale"][k].float()
        part = found["w.right"][k].float() * found["w.right.scale"][k].float()
        wanted = torch.outer(left[:, k], right[k])
        # Each factor is off by half a step, 1/254 of its largest; a little more where float16 rounds.
        assert (torch.outer(steps, part) - wanted).abs().max() < 1.1 * (2 / 254) * wanted.abs().max()


def test_a_rank_without_effect_stays_without():
    found = quantise({"w.left": torch.zeros(2, 1), "w.right": torch.ones(1, 2)})
    assert found["w.left"].tolist() == [[0], [0]]
    assert found["w.left.scale"].tolist() == [0.0]
    assert torch.isfinite(found["w.right.scale"]).all()


def test_written_read_and_added(kept):
    with safe_open(str(kept), framework="pt") as file:
        assert file.metadata() == {
            "format": FORMAT, "base": "tiny", "base_revision": "r1", "dtype": "int8", "rank": "1",
        }  # fmt: skip
    found = read(kept)
    assert (found.base, found.revision, found.rank) == ("tiny", "r1", 1)
    model = Two()
    before = model.matrix.weight.clone()
    add(model, found, "r1")
    # 127*127 = 16129, 127*-4 = -508, 50*127 = 6350, 50*-4 = -200.
    product = torch.tensor([[16129.0, -508.0], [6350.0, -200.0], [0.0, 0.0]])
    assert torch.equal(model.matrix.weight, before + product)
    assert model.norm.tolist() == [1.5, 0.75]


def test_ranks_may_differ_and_the_largest_is_told(tmp_path):
    found = write(
        tmp_path / "d.safetensors",
        {"a.left": torch.ones(2, 3), "a.right": torch.ones(3, 2),
         "b.left": torch.ones(2, 1), "b.right": torch.ones(1, 2)},
        base="tiny", revision="r1",
    )  # fmt: skip
    assert found.rank == 3
    assert Difference("tiny", "r1", {}, {}).rank == 0


def test_tied_weights_get_the_difference_once():
    class Tied(Two):
        def __init__(self):
            super().__init__()
            self.head = torch.nn.Linear(2, 3, bias=False)
            self.head.weight = self.matrix.weight

    model = Tied()
    before = model.head.weight.clone()
    add(model, Difference("tiny", "r1", *split(tensors())), "r1")
    assert float((model.head.weight - before)[0, 0]) == pytest.approx(127.0 * 127.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"matrix.weight.right": None}, r"matrix\.weight\.right is missing"),
        ({"matrix.weight.left": None}, r"matrix\.weight\.left is missing"),
        (
            {"matrix.weight.right": torch.ones(2, 2)},
            r"left \(3, 1\) and right \(2, 2\) make no product",
        ),
        ({"norm": torch.tensor([0.0, float("nan")])}, "norm holds a value that is no finite number"),
        ({"matrix.weight.left": torch.full((3, 1), float("inf"))}, "no finite number"),
        ({"norm": torch.tensor([1e6, 0.0])}, "norm is beyond the range of float16"),
    ],
)
def test_what_cannot_be_kept_is_refused(changes, message):
    with pytest.raises(UsageError, match=message):
        quantise(tensors(**changes))


@pytest.mark.parametrize(
    ("said", "changes", "message"),
    [
        ({"format": "evenhand-difference-9"}, {}, "is of format 'evenhand-difference-9'"),
        ({"dtype": "int4"}, {}, "type 'int4'"),
        ({"base_revision": ""}, {}, "does not say its base_revision"),
        ({}, {"matrix.weight.right": None}, r"matrix\.weight\.right is missing"),
        ({}, {"matrix.weight.left.scale": None}, r"matrix\.weight\.left\.scale is missing"),
        ({}, {"matrix.weight.left.scale": torch.ones(2).half()}, r"its scales are \(2,\)"),
        ({}, {"matrix.weight.right.scale": torch.full((1,), float("nan")).half()}, "no finite number"),
        ({}, {"matrix.weight.left": torch.ones(3, 1)}, "is torch.float32, not torch.int8"),
        ({}, {"norm": torch.ones(2)}, "norm is torch.float32, not torch.float16"),
        ({}, {"norm": torch.tensor([float("nan"), 0.0]).half()}, "norm holds a value"),
    ],
)
def test_a_damaged_file_is_named(kept, said, changes, message):
    with pytest.raises(InputError, match=message) as caught:
        read(rewritten(kept, said, **changes))
    assert str(kept) in str(caught.value)


def test_no_file_and_no_safetensors(tmp_path):
    with pytest.raises(InputError, match="no such file; install evenhand again"):
        read(tmp_path / "none.safetensors")
    (tmp_path / "text").write_text(json.dumps({"format": FORMAT}))
    with pytest.raises(InputError, match="is no safetensors file"):
        read(tmp_path / "text")


@pytest.mark.parametrize(
    ("changes", "revision", "message"),
    [
        ({}, "r2", "difference to tiny of revision r1, and these weights are of r2"),
        ({"norm": None}, "r1", r"lacks 1 weights \(first: norm\)"),
        ({"bias": torch.ones(3)}, "r1", r"has, unlike the model, 1 weights \(first: bias\)"),
        ({"norm": torch.ones(3)}, "r1", r"norm is of shape \(3,\), the model's of \(2,\)"),
        ({"matrix.weight.left": torch.ones(4, 1)}, "r1", r"shape \(4, 2\), the model's of \(3, 2\)"),
    ],
)
def test_a_difference_that_does_not_fit_changes_nothing(tmp_path, changes, revision, message):
    found = write(tmp_path / "d.safetensors", tensors(**changes), base="tiny", revision="r1")
    model = Two()
    before = [weight.clone() for weight in model.parameters()]
    with pytest.raises(ScorerError, match=message):
        add(model, found, revision)
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


def test_only_float32_weights_are_added_to(kept):
    with pytest.raises(ScorerError, match=r"torch\.bfloat16; a difference is added in float32"):
        add(Two(torch.bfloat16), read(kept), "r1")
