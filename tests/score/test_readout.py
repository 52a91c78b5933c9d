"""The readout, by hand and against a full-vocabulary softmax."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from evenhand.errors import ScorerError
from evenhand.models.forward import Forward
from evenhand.score import readout
from evenhand.score.readout import (
    Head,
    checked_head,
    expected_score,
    grade_probabilities,
    head_of,
    label_mass,
)


def test_expected_score_by_hand():
    # full-vocabulary probabilities .02 .03 .04 .01: (0*.02 + 1*.03 + 2*.04 + 3*.01) / .10 / 3 = .14/.30
    assert expected_score(torch.tensor([[0.02, 0.03, 0.04, 0.01]])).item() == pytest.approx(
        0.4667, abs=5e-5
    )
    assert expected_score(torch.tensor([[0.0, 0.0, 0.0, 1.0]])).item() == 1.0
    assert expected_score(torch.tensor([[1.0, 0.0, 0.0, 0.0]])).item() == 0.0


def test_label_mass_by_hand():
    # a vocabulary of six with probabilities .02 .03 .04 .01 .5 .4 as logits log p
    probabilities = torch.tensor([0.02, 0.03, 0.04, 0.01, 0.5, 0.4])
    head = Head(torch.log(probabilities)[:, None])
    hidden, ids = torch.ones(1, 1), torch.tensor([[0, 1, 2, 3]])
    assert label_mass(hidden, head, ids).item() == pytest.approx(0.10, abs=1e-6)
    expected = probabilities[:4] / probabilities[:4].sum()
    assert torch.allclose(grade_probabilities(hidden, head, ids)[0], expected, atol=1e-6)


def test_normaliser_in_blocks_equals_the_whole(monkeypatch):
    generator = torch.Generator().manual_seed(1)
    head = Head(
        torch.randn(1000, 8, generator=generator), torch.randn(1000, generator=generator), 0.5, 7.0
    )
    hidden = torch.randn(5, 8, generator=generator)
    whole = torch.logsumexp(head.block(hidden, slice(0, 1000)), -1)
    monkeypatch.setattr(readout, "VOCABULARY_BLOCK", 300)
    assert torch.allclose(readout.log_normaliser(hidden, head), whole, atol=1e-5)
    targets = torch.tensor([0, 299, 300, 999, 5])
    wanted = torch.log_softmax(head.block(hidden, slice(0, 1000)), -1)[range(5), targets]
    assert torch.allclose(readout.log_probability(hidden, head, targets), wanted, atol=1e-5)


def test_rows_equal_the_block_with_scale_bias_and_softcap():
    head = Head(torch.tensor([[1.0], [2.0]]), torch.tensor([0.5, 0.0]), 2.0, 3.0)
    # (1*1 + .5) * 2 = 3 -> 3 tanh(1); (2*1) * 2 = 4 -> 3 tanh(4/3)
    wanted = [3 * math.tanh(1.0), 3 * math.tanh(4 / 3)]
    assert head.at(torch.ones(1, 1), torch.tensor([[0, 1]]))[0].tolist() == pytest.approx(wanted)
    assert head.block(torch.ones(1, 1), slice(0, 2))[0].tolist() == pytest.approx(wanted)


def test_saturated_logits_stay_distinct():
    # 7, 8, 9 through a bf16 sigmoid are all 1.0; in float32 the scores differ
    scores = []
    for logit in (7.0, 8.0, 9.0):
        head = Head(torch.tensor([[0.0], [0.0], [0.0], [logit]], dtype=torch.bfloat16))
        hidden = torch.ones(1, 1, dtype=torch.bfloat16)
        scores.append(
            expected_score(grade_probabilities(hidden, head, torch.tensor([[0, 1, 2, 3]]))).item()
        )
    assert len({round(score, 6) for score in scores}) == 3
    assert scores == sorted(scores)


@pytest.mark.parametrize(
    ("settings", "scale", "softcap"),
    [
        ({}, 1.0, None),
        ({"logits_scaling": 8.0}, 0.125, None),
        ({"logit_scale": 0.0625}, 0.0625, None),
        ({"final_logit_softcapping": 30.0}, 1.0, 30.0),
    ],
)
def test_head_of_reads_the_configuration(settings, scale, softcap):
    config = SimpleNamespace(get_text_config=lambda: SimpleNamespace(**settings))
    output = SimpleNamespace(weight=torch.ones(2, 1), bias=None)
    head = head_of(SimpleNamespace(get_output_embeddings=lambda: output, config=config))
    assert (head.scale, head.softcap) == (scale, softcap)


def test_head_that_misses_what_the_model_does_is_refused(tiny_model, monkeypatch):
    model = tiny_model("llama")
    # also of a model in training, whose weights want gradients
    assert checked_head(Forward(model.requires_grad_(True))).scale == 1.0
    plain = type(model).forward

    def scaled(self, *args, **kwargs):
        output = plain(self, *args, **kwargs)
        output.logits = output.logits * 1.1
        return output

    monkeypatch.setattr(type(model), "forward", scaled)
    # |x - 1.1 x| / |1.1 x| = 1/11 = 9.09%
    with pytest.raises(ScorerError, match=r"they differ by 9\.09%"):
        checked_head(Forward(model))
