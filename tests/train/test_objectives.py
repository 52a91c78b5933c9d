"""Every term of a loss: by hand, by its gradient, and against the hard measure it stands for."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from evenhand.errors import UsageError
from evenhand.measure.decision import overlap
from evenhand.train import objectives

# The two orders of the worked example: A to F at threshold .5, grades 3 3 2 2 1 0.
FIRST = [0.83, 0.80, 0.52, 0.48, 0.29, 0.08]
SECOND = [0.81, 0.78, 0.49, 0.51, 0.30, 0.07]
GRADES = [3, 3, 2, 2, 1, 0]


def double(values):
    return torch.tensor(values, dtype=torch.float64)


def example():
    return double([FIRST, SECOND])


def test_consistency_of_the_worked_example():
    # Half the squared differences: .02^2 .02^2 .03^2 .03^2 .01^2 .01^2, halved
    # = 2e-4 2e-4 4.5e-4 4.5e-4 5e-5 5e-5, mean 14e-4 / 6 = 2.3333e-4.
    found = objectives.consistency(example())
    assert found.tolist() == pytest.approx([2e-4, 2e-4, 4.5e-4, 4.5e-4, 5e-5, 5e-5])
    assert float(found.mean()) == pytest.approx(2.3333e-4, abs=5e-9)


def test_anchor_of_the_worked_example():
    # (.17^2 + .2^2 + .146667^2 + .186667^2 + .043333^2 + .08^2) / 6
    # = (.0289 + .04 + .0215111 + .0348444 + .0018778 + .0064) / 6 = .1335333 / 6 = .0222556.
    errors = objectives.squared_error(example(), double(GRADES) / 3)
    assert float(errors[0].mean()) == pytest.approx(0.0222556, abs=5e-8)


def test_consistency_of_three_views():
    # One candidate at 0, .3, .6: mean .3, so .09 + 0 + .09; another that agrees: 0.
    found = objectives.consistency(double([[0.0, 0.5], [0.3, 0.5], [0.6, 0.5]]))
    assert found.tolist() == pytest.approx([0.18, 0.0])


def test_consistency_is_half_the_squared_difference_of_two_views():
    rng = np.random.default_rng(0)
    scores = double(rng.random((2, 9)))
    half = (scores[0] - scores[1]) ** 2 / 2
    assert torch.allclose(objectives.consistency(scores), half)


@pytest.mark.parametrize(
    ("label", "target"),
    [
        (0.0, [1, 0, 0, 0]),
        (0.4, [0, 0.8, 0.2, 0]),  # 1.2 of 3: .8 on grade 1, .2 on grade 2
        (0.5, [0, 0.5, 0.5, 0]),
        (2 / 3, [0, 0, 1, 0]),
        (1.0, [0, 0, 0, 1]),
    ],
)
def test_soft_grades(label, target):
    assert objectives.soft_grades(double([label]), 4)[0].tolist() == pytest.approx(target)


def test_soft_grades_keep_the_expected_grade():
    labels = torch.linspace(0, 1, 41, dtype=torch.float64)
    for grades in (2, 4, 5):
        targets = objectives.soft_grades(labels, grades)
        assert torch.allclose(targets.sum(-1), torch.ones_like(labels))
        assert torch.allclose(targets @ torch.arange(grades).double() / (grades - 1), labels)


def test_soft_grade_error_by_hand():
    # Label .5: half on grade 1 and half on grade 2; -(.5 ln .4 + .5 ln .1) = .5 (.916291 + 2.302585).
    found = objectives.soft_grade_error(double([[[0.3, 0.4, 0.1, 0.2]]]), double([0.5]))
    assert float(found[0, 0]) == pytest.approx(1.609438, abs=1e-6)


def test_soft_grade_error_of_a_certain_mistake_is_finite():
    found = objectives.soft_grade_error(torch.tensor([[[1.0, 0, 0, 0]]]), torch.tensor([1.0]))
    assert math.isfinite(float(found))


def test_channel_consistency_by_hand():
    # View 1 at .5; order .7; marker .5 and .2. Order: two views, half of .2^2 = .02.
    # Marker: .5, .5, .2 about .4: .01 + .01 + .04 = .06. At lambda 2 and 3: .04 + .18.
    scores = double([[0.5], [0.7], [0.5], [0.2]])
    found = objectives.channel_consistency(
        scores, ("order", "marker", "marker"), (("order", 2.0), ("marker", 3.0))
    )
    assert found.tolist() == pytest.approx([0.22])


def test_one_channel_is_plain_consistency():
    scores = double(np.random.default_rng(1).random((3, 5)))
    found = objectives.channel_consistency(scores, ("order", "order"), (("order", 1.5),))
    assert torch.allclose(found, 1.5 * objectives.consistency(scores))


def test_channels_must_match_their_weights():
    scores = double([[0.5], [0.7]])
    with pytest.raises(UsageError, match=r"views vary \['order'\], weights name \['marker'\]"):
        objectives.channel_consistency(scores, ("order",), (("marker", 1.0),))
    with pytest.raises(UsageError, match="2 channels for 1 views"):
        objectives.channel_consistency(scores, ("order", "order"), (("order", 1.0),))


def test_soft_jaccard_by_hand():
    # Temperature .1 at t = .5: scores .5 and .6 give k = .5 and 1/(1 + e^-1) = .731059.
    # Views (.5, .6) and (.6, .6): min .5 + .731059 = 1.231059, max 1.462117; 1 - .841970 = .158030.
    found = objectives.soft_jaccard_error(
        double([[0.5, 0.6], [0.6, 0.6]]), torch.tensor([0, 0]), 0.5, 0.1
    )
    assert float(found) == pytest.approx(0.158030, abs=1e-5)


@pytest.mark.parametrize("threshold", [0.295, 0.5, 0.82, 0.95])
def test_soft_jaccard_at_no_temperature_is_the_overlap_of_retained_sets(threshold):
    # The worked example at .5: {A, B, C} and {A, B, D}, 2/4. At .95 both sets are empty: 1.
    soft = objectives.soft_jaccard_error(example(), torch.zeros(6, dtype=torch.int64), threshold, 1e-5)
    hard = overlap(np.array([FIRST, SECOND]) >= threshold)
    assert float(soft) == pytest.approx(1 - hard, abs=1e-5)


def test_soft_jaccard_weighs_slates_by_their_candidates_and_means_over_pairs_of_views():
    rng = np.random.default_rng(2)
    scores, groups = double(rng.random((3, 7))), torch.tensor([0, 0, 1, 1, 1, 1, 1])
    total = objectives.soft_jaccard_error(scores, groups, 0.5, 0.1)
    parts = [
        objectives.soft_jaccard_error(
            scores[[a, b]][:, groups == g], torch.zeros(n, dtype=torch.int64), 0.5, 0.1
        )
        * n
        / 7
        for a, b in itertools.combinations(range(3), 2)
        for g, n in ((0, 2), (1, 5))
    ]
    assert float(total) == pytest.approx(float(sum(parts)) / 3)


def test_near_threshold_by_hand():
    # |.5 - .5| = 0, |.7 - .5| / .1 = 2, |0 - .5| / .1 = 5.
    found = objectives.near_threshold(double([0.5, 0.7, 0.0]), 0.5, 0.1)
    assert found.tolist() == pytest.approx([1, math.exp(-2), math.exp(-5)])


def test_grade_divergence_by_hand():
    # KL((.5, .5) || (.25, .75)) = .5 ln 2 + .5 ln(2/3) = .346574 - .202733 = .143841.
    model, base = double([[[0.25, 0.75]]]), double([[[0.5, 0.5]]])
    assert float(objectives.grade_divergence(model, base)) == pytest.approx(0.143841, abs=1e-6)
    assert float(objectives.grade_divergence(base, base)) == 0
    # A grade that the base never gives adds nothing: KL((1, 0) || (.5, .5)) = ln 2.
    certain = double([[[1.0, 0.0]]])
    assert float(objectives.grade_divergence(base, certain)) == pytest.approx(math.log(2))


def test_position_weights_by_hand():
    # 1 / (.499 + .001) = 2, 1 / (.249 + .001) = 4, twice; mean 10/3: .6, 1.2, 1.2.
    assert objectives.position_weights([0.499, 0.249, 0.249]) == pytest.approx([0.6, 1.2, 1.2])
    assert objectives.position_weights([0.0, 0.0]) == [1, 1]


@pytest.mark.parametrize("shares", [[], [0.5, -0.1]])
def test_position_weights_refuse(shares):
    with pytest.raises(UsageError, match="shares of positives"):
        objectives.position_weights(shares)


def test_weighted_mean_by_hand():
    # (.5 x 1 + 1.5 x 3) / 2 = 2.5; without weights 2.
    assert float(objectives.weighted_mean(double([1, 3]), double([0.5, 1.5]))) == 2.5
    assert float(objectives.weighted_mean(double([1, 3]))) == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: objectives.weighted_mean(double([])), "at least 1 candidate"),
        (lambda: objectives.weighted_mean(double([1]), double([1, 2])), "2,. weights"),
        (lambda: objectives.squared_error(double([0.5]), double([0.5])), "N >= 1 views"),
        (lambda: objectives.squared_error(double([[0.5]]), double([0.5, 1])), "labels for scores"),
        (
            lambda: objectives.soft_jaccard_error(double([[0.5]]), torch.tensor([0]), 0.5, 0.1),
            "N >= 2 views",
        ),
        (
            lambda: objectives.soft_jaccard_error(example(), torch.zeros(6, dtype=torch.int64), 0.5, 0),
            "temperature must be above 0",
        ),
        (lambda: objectives.near_threshold(double([0.5]), 0.5, 0), "width must be above 0"),
    ],
)
def test_bad_values_are_refused(call, message):
    with pytest.raises(UsageError, match=message):
        call()


def softmax(values):
    return torch.softmax(values, dim=-1)


GROUPS = torch.tensor([0, 0, 0, 1])
LABELS = double([0.9, 0.4, 0.1, 0.55])
TERMS = {
    "squared_error": lambda s: objectives.squared_error(s, LABELS),
    "consistency": objectives.consistency,
    "channel_consistency": lambda s: objectives.channel_consistency(
        s, ("order", "marker"), (("order", 2.0), ("marker", 0.5))
    ),
    "soft_jaccard": lambda s: objectives.soft_jaccard_error(s, GROUPS, 0.5, 0.1),
    "weighted_mean": lambda s: objectives.weighted_mean(s[0], LABELS),
    "soft_grade_error": lambda s: objectives.soft_grade_error(softmax(s[..., None] * LABELS), LABELS),
    "grade_divergence": lambda s: objectives.grade_divergence(
        softmax(s[..., None] * LABELS), softmax(LABELS.expand(3, 4, 4))
    ),
}


@pytest.mark.parametrize("name", sorted(TERMS))
def test_gradients_are_those_of_finite_differences(name):
    scores = double(np.random.default_rng(3).random((3, 4))).requires_grad_()
    assert torch.autograd.gradcheck(TERMS[name], (scores,))


def test_gradient_of_the_penalty_by_hand():
    # d/ds_i of sum_j (s_j - sbar)^2 = 2 (s_i - sbar): views .2 and .6 give -.4 and .4.
    scores = double([[0.2], [0.6]]).requires_grad_()
    objectives.consistency(scores).sum().backward()
    assert scores.grad[:, 0].tolist() == pytest.approx([-0.4, 0.4])
