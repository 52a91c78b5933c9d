"""The model in training reads as the local scorer does, and padding changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from train_help import make_slate

from evenhand.errors import ScorerError, UsageError
from evenhand.present.design import design
from evenhand.score.local import LocalOptions, LocalScorer
from evenhand.train.grader import Grader
from evenhand.train.settings import Weights
from evenhand.train.weights import prepare, recompute_blocks
from evenhand.types import Surface

FAMILIES = ("llama", "qwen3", "gemma3", "granite")


def prompts_of(scorer, n=7, width=3, rows=2):
    """The windows of a few presentations, of different lengths."""
    plan = design("reorder", rows=rows, width=width, surface=scorer.surface).draw(make_slate(n=n))
    shown = list(plan.shown(make_slate(n=n)))
    return shown, [prompt for one in shown for prompt in scorer.prompts(one)]


def grades_of(shown, scored):
    """What the scorer gave, in the order of the windows' slots."""
    return np.concatenate(
        [result.grades[list(one.presentation.order)] for one, result in zip(shown, scored, strict=True)]
    )


@pytest.mark.parametrize("visibility", ["sequential", "parallel", "isolated"])
@pytest.mark.parametrize("family", FAMILIES)
def test_grades_are_those_of_the_local_scorer(tiny_loaded, family, visibility):
    loaded = tiny_loaded(family, layers=2)
    scorer = LocalScorer(loaded, LocalOptions(), Surface(visibility=visibility))
    shown, prompts = prompts_of(scorer)
    wanted = grades_of(shown, scorer.score(shown))
    with torch.no_grad():
        found = Grader(loaded.model)(prompts).double().numpy()
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max() < 1e-6
    assert np.ptp(wanted, axis=0).max() > 1e-3


@pytest.mark.parametrize("family", FAMILIES)
def test_grades_of_an_adapter_that_was_just_put_on_are_those_of_the_base(tiny_loaded, family):
    loaded = tiny_loaded(family)
    scorer = LocalScorer(loaded)
    shown, prompts = prompts_of(scorer)
    wanted = grades_of(shown, scorer.score(shown))
    model = prepare(loaded, Weights(rank=2, alpha=4), seed=0).eval()
    with torch.no_grad():
        found = Grader(model)(prompts).double().numpy()
    assert np.abs(found - wanted).max() < 1e-6


def gradients(loaded, parts, checkpointing=False):
    """Gradients of the sum of squared probabilities, prompts read part by part."""
    model = loaded.model.requires_grad_(True).train()
    model.zero_grad(set_to_none=True)
    if checkpointing:
        recompute_blocks(model)
    grader = Grader(model)
    for part in parts:
        (grader(part) ** 2).sum().backward()
    return {name: value.grad.clone() for name, value in model.named_parameters()}


@pytest.mark.parametrize("family", ["llama", "qwen3", "gemma3"])
def test_padding_and_micro_batches_change_no_gradient(tiny_loaded, family):
    loaded = tiny_loaded(family, layers=2)
    _, prompts = prompts_of(LocalScorer(loaded))
    assert len({len(prompt.ids) for prompt in prompts}) > 1
    together = gradients(loaded, [prompts])
    alone = gradients(loaded, [[prompt] for prompt in prompts])
    recomputed = gradients(loaded, [prompts], checkpointing=True)
    for name, wanted in alone.items():
        scale = float(wanted.abs().max()) + 1e-3
        assert float((together[name] - wanted).abs().max()) < 1e-4 * scale, name
        assert float((recomputed[name] - wanted).abs().max()) < 1e-4 * scale, name
    assert any(float(wanted.abs().max()) > 1e-3 for wanted in alone.values())


def test_every_weight_has_a_gradient(tiny_loaded):
    loaded = tiny_loaded()
    _, prompts = prompts_of(LocalScorer(loaded))
    found = gradients(loaded, [prompts])
    assert [name for name, value in found.items() if not value.any()] == []


def test_half_precision_is_of_the_body_alone(tiny_loaded):
    loaded = tiny_loaded()
    scorer = LocalScorer(loaded)
    shown, prompts = prompts_of(scorer)
    with torch.no_grad():
        found = Grader(loaded.model, half=torch.bfloat16)(prompts)
    assert found.dtype == torch.float32
    wanted = grades_of(shown, scorer.score(shown))
    gap = np.abs(found.double().numpy() - wanted).max()
    assert 0 < gap < 0.1
    assert next(loaded.model.parameters()).dtype == torch.float32


def test_one_set_of_grade_tokens_a_step(tiny_loaded):
    from dataclasses import replace

    loaded = tiny_loaded()
    _, prompts = prompts_of(LocalScorer(loaded))
    other = replace(prompts[0], grades=(1, 2, 3, 4))
    with pytest.raises(UsageError, match="2 sets of grade tokens"):
        Grader(loaded.model)([prompts[0], other])


def test_grades_that_are_not_finite_are_refused(tiny_loaded):
    loaded = tiny_loaded()
    _, prompts = prompts_of(LocalScorer(loaded))
    grader = Grader(loaded.model)
    next(loaded.model.parameters()).data.fill_(float("nan"))
    with pytest.raises(ScorerError, match="NaN or infinite grades"):
        grader(prompts)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="a packed stream is read on CUDA alone")
def test_a_packed_stream_is_the_padded_batch(tiny_loaded):
    loaded = tiny_loaded("qwen3", layers=2)
    _, prompts = prompts_of(LocalScorer(loaded))
    model = loaded.model.to("cuda")
    grader = Grader(model, length=4096, half=torch.bfloat16)
    with torch.no_grad():
        packed = grader(prompts)
        padded = Grader(model)(prompts)
    assert float((packed - padded).abs().max()) < 0.05


@pytest.fixture
def streams(monkeypatch, plain_varlen):
    """Prompts are read as packed streams on the CPU; a list of (length, layout) that came."""
    from evenhand.models import packing

    monkeypatch.setattr(packing, "_varlen", plain_varlen)
    seen = []

    class Streamed(Grader):
        def forward(self, prompts):
            hidden = self._packed(prompts)
            from evenhand.train.grader import _probabilities

            return _probabilities(hidden, self.inner, prompts[0].grades)

        def _body(self, ids, layout):
            seen.append((ids.shape[1], layout))
            return super()._body(ids, layout)

    return Streamed, seen


def test_a_stream_of_any_length_gives_the_same_grades_and_gradients(tiny_loaded, streams):
    loaded = tiny_loaded("llama", layers=2)
    _, prompts = prompts_of(LocalScorer(loaded))
    make, seen = streams
    total = sum(len(prompt.ids) for prompt in prompts)
    assert total < 4096
    model = loaded.model.requires_grad_(True)
    found = []
    for grader in (Grader(model), make(model, length=16384), make(model, length=40_000)):
        model.zero_grad(set_to_none=True)
        grades = grader(prompts)
        (grades**2).sum().backward()
        found.append((grades.detach(), model.get_input_embeddings().weight.grad.clone()))
    # A quarter of the budget holds them: 4096 and 10000 tokens.
    assert [length for length, _ in seen] == [4096, 10_000]
    for grades, gradient in found[1:]:
        assert float((grades - found[0][0]).abs().max()) < 1e-5
        assert float((gradient - found[0][1]).abs().max()) < 1e-4 * float(found[0][1].abs().max())


def test_few_shapes_come_up_however_many_prompts_there_are(tiny_loaded, streams):
    loaded = tiny_loaded("llama")
    _, prompts = prompts_of(LocalScorer(loaded))
    make, seen = streams
    grader = make(loaded.model, length=8192)
    with torch.no_grad():
        for count in (1, len(prompts), 2, len(prompts) - 1):
            grader(prompts[:count])
    shapes = {(length, len(layout.starts), layout.longest) for length, layout in seen}
    assert len(shapes) == 1
    assert next(iter(shapes))[:2] == (4096, 4096 // 64 + 2)


def test_the_bound_on_a_prompt_only_grows(tiny_loaded, streams):
    from dataclasses import replace

    loaded = tiny_loaded("llama")
    _, prompts = prompts_of(LocalScorer(loaded))
    make, seen = streams
    grader = make(loaded.model, length=8192)
    times = 600 // len(prompts[0].ids) + 1
    long = replace(prompts[0], ids=tuple(prompts[0].ids) * times)
    with torch.no_grad():
        for one in (prompts[0], long, prompts[0]):
            grader([one])
    first, second, third = (layout.longest for _, layout in seen)
    assert first < second == third == 1024
