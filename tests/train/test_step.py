"""Objectives as a whole: hand-worked losses, and laws that hold for all of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from evenhand.errors import UsageError
from evenhand.train.step import Objective, Step, objective_from, terms

FIRST = [0.83, 0.80, 0.52, 0.48, 0.29, 0.08]
SECOND = [0.81, 0.78, 0.49, 0.51, 0.30, 0.07]
LABELS = torch.tensor([3, 3, 2, 2, 1, 0], dtype=torch.float64) / 3

OBJECTIVES = {
    "single_order": Objective(),
    "augmentation": Objective(anchor="all"),
    "soft_grade": Objective(error="soft_grade"),
    "weighted": Objective(weighting="position"),
    "oc_sft": Objective(consistency=5.0),
    "oc_sft_all": Objective(anchor="all", consistency=5.0),
    "per_pair": Objective(consistency=5.0, per_pair=True),
    "no_anchor": Objective(anchor="none", consistency=1.0),
    "channels": Objective(channels=(("marker", 0.5), ("order", 2.0))),
    "jaccard": Objective(jaccard=0.7, threshold=0.4, temperature=0.1),
    "mean_teacher": Objective(consistency=3.0, mean_teacher=0.99),
    "base_kl": Objective(consistency=2.0, base_kl=0.1),
}


def two_grades(scores):
    """Probabilities over two grades whose expected grade is the score."""
    scores = torch.as_tensor(np.array(scores), dtype=torch.float64)
    return torch.stack([1 - scores, scores], dim=-1)


def random_step(sizes=(3, 5), views=3, seed=0):
    """A step of several slates in which every objective has what it needs."""
    rng = np.random.default_rng(seed)
    count = sum(sizes)
    logits = torch.tensor(rng.normal(size=(views, count, 4)))
    weights = torch.tensor(rng.random(count))
    return Step(
        torch.softmax(logits, -1),
        torch.tensor(rng.random(count)),
        torch.cat([torch.full((n,), i) for i, n in enumerate(sizes)]),
        ("order", "marker")[: views - 1],
        weights / weights.mean(),
        torch.tensor(rng.random(count)),
        torch.softmax(logits + torch.tensor(rng.normal(size=logits.shape)), -1),
    )


def picked(step, columns):
    """The step of some of the candidates, groups counted anew."""
    columns = torch.as_tensor(columns)
    _, groups = torch.unique(step.groups[columns], return_inverse=True)
    return Step(
        step.probabilities[:, columns], step.labels[columns], groups, step.channels,
        step.weights[columns], step.teacher[columns], step.base[:, columns],
    )  # fmt: skip


def loss_of(objective, step, **options):
    return float(terms(objective, step, **options)["loss"])


def test_the_worked_example():
    # Anchor .0222556, penalty 2.3333e-4; at lambda 5: .0222556 + .0011667 = .0234222.
    step = Step(two_grades([FIRST, SECOND]), LABELS, torch.zeros(6, dtype=torch.int64))
    found = terms(Objective(consistency=5.0), step)
    assert float(found["anchor"]) == pytest.approx(0.0222556, abs=5e-8)
    assert float(found["consistency"]) == pytest.approx(5 * 2.3333e-4, abs=5e-8)
    assert float(found["loss"]) == pytest.approx(0.0234222, abs=5e-8)


def test_scores_are_expected_grades_over_the_highest():
    # 0 x .1 + 1 x .2 + 2 x .3 + 3 x .4 = 2.0, over 3.
    step = Step(torch.tensor([[[0.1, 0.2, 0.3, 0.4]]]), torch.tensor([0.0]), torch.tensor([0]))
    assert float(step.scores) == pytest.approx(2 / 3)


def test_anchor_on_all_views_is_the_mean_of_their_errors():
    # View 2: (.19^2 + .22^2 + .176667^2 + .156667^2 + .033333^2 + .07^2) / 6
    # = (.0361 + .0484 + .0312111 + .0245444 + .0011111 + .0049) / 6 = .0243778.
    step = Step(two_grades([FIRST, SECOND]), LABELS, torch.zeros(6, dtype=torch.int64))
    assert loss_of(Objective(anchor="all"), step) == pytest.approx(
        (0.0222556 + 0.0243778) / 2, abs=1e-7
    )


def test_ramp_holds_back_everything_but_the_anchor():
    step = random_step()
    for name, objective in OBJECTIVES.items():
        found, half = terms(objective, step), terms(objective, step, ramp=0.5)
        for term in found.keys() - {"loss"}:
            factor = 1 if term == "anchor" else 0.5
            assert float(half[term]) == pytest.approx(factor * float(found[term])), (name, term)


def test_lambda_per_pair():
    # Three views: lambda 5 / 2.
    step = random_step()
    whole = terms(OBJECTIVES["oc_sft"], step)["consistency"]
    assert float(terms(OBJECTIVES["per_pair"], step)["consistency"]) == pytest.approx(float(whole) / 2)


def test_mean_teacher_is_the_squared_distance_to_the_average():
    # Views .5 and .7, teacher .4: .01 + .09 = .1 at lambda 2; anchor (.5 - 1)^2.
    step = Step(
        two_grades([[0.5], [0.7]]), torch.tensor([1.0]), torch.tensor([0]), teacher=torch.tensor([0.4])
    )
    found = terms(Objective(consistency=2.0, mean_teacher=0.9), step)
    assert float(found["consistency"]) == pytest.approx(0.2)
    assert float(found["anchor"]) == pytest.approx(0.25)


def test_weights_are_of_the_anchor_alone():
    # Errors .25 and 0 with weights 1.5 and .5: .375 / 2 = .1875.
    step = Step(
        two_grades([[0.5, 1.0], [0.5, 0.0]]), torch.tensor([1.0, 1.0]), torch.tensor([0, 0]),
        weights=torch.tensor([1.5, 0.5]),
    )  # fmt: skip
    found = terms(Objective(consistency=1.0, weighting="threshold"), step)
    assert float(found["anchor"]) == pytest.approx(0.1875)
    assert float(found["consistency"]) == pytest.approx(0.25)


@pytest.mark.parametrize("name", sorted(OBJECTIVES))
def test_gradients_are_those_of_finite_differences(name):
    step = random_step(sizes=(2, 2))
    logits = step.probabilities.log().clone().requires_grad_()

    def loss(values):
        return terms(OBJECTIVES[name], replace(step, probabilities=torch.softmax(values, -1)))["loss"]

    assert torch.autograd.gradcheck(loss, (logits,))


@pytest.mark.parametrize("name", sorted(OBJECTIVES))
def test_equal_views_have_no_penalty(name):
    step = random_step()
    same = step.probabilities[:1].expand(3, -1, -1)
    step = replace(
        step, probabilities=same, base=same, teacher=replace(step, probabilities=same).scores[0]
    )
    found = terms(OBJECTIVES[name], step)
    for term in found.keys() - {"anchor", "loss"}:
        assert float(found[term]) == pytest.approx(0, abs=1e-12), term


def gradient(objective, step):
    leaf = step.probabilities.clone().requires_grad_()
    loss = terms(objective, replace(step, probabilities=leaf))["loss"]
    loss.backward()
    return loss.detach(), leaf.grad


@pytest.mark.parametrize("views", [1, 2, 3])
def test_lambda_0_is_single_order_to_the_bit(views):
    step = random_step(views=views)
    alone = replace(step, probabilities=step.probabilities[:1], channels=())
    wanted_loss, wanted = gradient(OBJECTIVES["single_order"], alone)
    loss, found = gradient(Objective(consistency=0.0, jaccard=0.0, base_kl=0.0), step)
    assert torch.equal(loss, wanted_loss)
    assert torch.equal(found[:1], wanted)
    assert not found[1:].any()


@pytest.mark.parametrize("name", sorted(OBJECTIVES))
def test_order_of_candidates_does_not_matter(name):
    step = random_step()
    shuffled = picked(step, [6, 0, 4, 2, 7, 1, 3, 5])
    assert loss_of(OBJECTIVES[name], shuffled) == pytest.approx(loss_of(OBJECTIVES[name], step))


@pytest.mark.parametrize("name", sorted(OBJECTIVES))
def test_order_of_the_views_after_the_first_does_not_matter(name):
    step = random_step()
    swapped = replace(
        step,
        probabilities=step.probabilities[[0, 2, 1]],
        base=step.base[[0, 2, 1]],
        channels=step.channels[::-1],
    )
    assert loss_of(OBJECTIVES[name], swapped) == pytest.approx(loss_of(OBJECTIVES[name], step))


@pytest.mark.parametrize("name", sorted(OBJECTIVES))
def test_a_batch_of_8_is_the_candidate_weighted_mean_of_eight_of_1(name):
    sizes = (1, 2, 3, 4, 5, 6, 7, 8)
    step = random_step(sizes=sizes)
    parts = [
        loss_of(OBJECTIVES[name], picked(step, torch.nonzero(step.groups == i)[:, 0])) * n
        for i, n in enumerate(sizes)
    ]
    assert loss_of(OBJECTIVES[name], step) == pytest.approx(sum(parts) / sum(sizes))


def test_gradients_of_a_batch_add_up():
    step, objective = random_step(sizes=(3, 5)), OBJECTIVES["oc_sft"]
    _, whole = gradient(objective, step)
    for group, size in ((0, 3), (1, 5)):
        columns = torch.nonzero(step.groups == group)[:, 0]
        _, part = gradient(objective, picked(step, columns))
        assert torch.allclose(whole[:, columns], part * size / 8)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"anchor": "last"}, "anchor is one of"),
        ({"error": "absolute"}, "error is one of"),
        ({"weighting": "slot"}, "weighting is one of"),
        ({"consistency": -1.0}, "consistency is a weight of at least 0"),
        ({"consistency": float("nan")}, "consistency is a weight"),
        ({"base_kl": True}, "base_kl is a weight"),
        ({"jaccard": "1"}, "jaccard is a weight"),
        ({"channels": (("order", -1.0),)}, "order is a weight"),
        ({"consistency": 1.0, "channels": (("order", 1.0),)}, "not both"),
        ({"mean_teacher": 1.0, "consistency": 1.0}, r"decay in \[0, 1\)"),
        ({"mean_teacher": 0.9}, "mean_teacher is the target of the consistency penalty"),
        ({"mean_teacher": 0.9, "jaccard": 1.0}, "mean_teacher is the target"),
        ({"anchor": "none"}, "nothing would be trained"),
        ({"anchor": "none", "channels": (("order", 0.0),)}, "nothing would be trained"),
        ({"anchor": "none", "base_kl": 1.0}, "nothing would be trained"),
        ({"temperature": 0.0}, "temperature must be above 0"),
        ({"threshold": "high"}, "threshold is a number"),
        ({"per_pair": 1}, "per_pair is true or false"),
    ],
)
def test_settings_of_an_objective_are_checked(settings, message):
    with pytest.raises(UsageError, match=message):
        Objective(**settings)


def test_a_step_that_lacks_what_the_objective_needs_is_refused():
    step = replace(random_step(), teacher=None, base=None)
    with pytest.raises(UsageError, match="averaged model's scores"):
        terms(OBJECTIVES["mean_teacher"], step)
    with pytest.raises(UsageError, match="base model's grades"):
        terms(OBJECTIVES["base_kl"], step)


def test_an_objective_from_plain_values():
    found = objective_from({"channels": {"order": 2, "marker": 0.5}, "anchor": "all"})
    assert found == Objective(anchor="all", channels=(("marker", 0.5), ("order", 2)))
    with pytest.raises(UsageError, match=r"unknown settings of an objective \['lambda'\]; known are"):
        objective_from({"lambda": 5})
    with pytest.raises(UsageError, match="channels maps a channel to its weight"):
        objective_from({"channels": ["order"]})


def test_penalties_are_named():
    assert Objective().penalties == ()
    assert Objective(consistency=1.0, jaccard=0.5, base_kl=1.0).penalties == ("consistency", "jaccard")
    assert Objective(channels=(("order", 1.0),)).penalties == ("channels",)
