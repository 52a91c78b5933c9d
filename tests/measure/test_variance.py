import math

import numpy as np
import pytest

from evenhand.errors import UsageError
from evenhand.measure.variance import nested_fit, residual_against
from evenhand.present.design import design
from evenhand.score.toy import Toy
from evenhand.types import Candidate, Slate

NAN = float("nan")

# Two candidates in one window, shown in both orders.
SLOTS = np.array([[0, 1], [1, 0]])
WINDOWS = np.zeros((2, 2), dtype=int)
# Within candidates: +-.2 and +-.1, slot 0 always the higher.
SCORES = np.array([[1.0, 0.3], [0.6, 0.5]])


def rows_of(toy, slates=30, n=12, width=4, rows=8):
    """Scores, slots and windows of some slates' random rows."""
    found = []
    plan_of = design(rows=rows, width=width, repeat=False)
    for q in range(slates):
        slate = Slate(f"q{q}", f"query {q}", tuple(Candidate(f"c{q}.{i}", "x") for i in range(n)))
        plan = plan_of.draw(slate)
        shown = [one for one in plan.shown(slate) if one.kind == "random"]
        scores = np.array([one.scores for one in toy.score(shown)])
        slots = np.array([one.presentation.slots() for one in shown])
        windows = np.array([one.presentation.window_of() for one in shown])
        found.append((scores, slots, windows))
    return found


def long_fit(slates):
    """Sums of squares and ranks with a dummy for every candidate, slot and window."""
    lines = [
        ((q, i), slots[row, i], windows[row, i], scores[row, i])
        for q, (scores, slots, windows) in enumerate(slates)
        for row in range(scores.shape[0])
        for i in range(scores.shape[1])
        if not np.isnan(scores[row, i])
    ]
    y = np.array([line[3] for line in lines])

    def dummies(column):
        levels = sorted({line[column] for line in lines})
        return np.array([[float(line[column] == level) for level in levels] for line in lines])

    sums, ranks = [], []
    for columns in ((0,), (0, 1), (0, 1, 2)):
        x = np.concatenate([dummies(column) for column in columns], axis=1)
        fitted = x @ np.linalg.lstsq(x, y, rcond=None)[0]
        sums.append(float(((y - fitted) ** 2).sum()))
        ranks.append(int(np.linalg.matrix_rank(x)))
    return sums, ranks, len(y)


def test_by_hand():
    fit = nested_fit([(SCORES, SLOTS, WINDOWS)])
    # Total 2 * .2^2 + 2 * .1^2 = .10; the slot takes +-.15 of each: 4 * .15^2 = .09.
    assert fit.slot == pytest.approx(0.09)
    assert fit.window == pytest.approx(0)
    assert fit.residual == pytest.approx(0.01)
    # 4 scores less 2 candidates = 2 degrees of freedom, 1 for the slot.
    assert (fit.df_slot, fit.df_window, fit.df_residual) == (1, 0, 1)
    assert (fit.documents, fit.observations) == (2, 4)
    assert fit.variance == pytest.approx(0.05)
    assert fit.residual_variance == pytest.approx(0.01)
    raw = fit.shares(corrected=False)
    assert (raw.slot, raw.window, raw.residual) == pytest.approx((0.9, 0, 0.1))
    # (.09 - 1 * .01) / .10
    corrected = fit.shares()
    assert (corrected.slot, corrected.window, corrected.residual) == pytest.approx((0.8, 0, 0.2))


@pytest.mark.parametrize("holes", [False, True])
def test_against_least_squares_with_all_dummies(holes):
    slates = rows_of(
        Toy(relevance="hash", slot_bias=0.4, coupling=0.7, noise=0.1), slates=4, n=7, rows=5
    )
    if holes:
        rng = np.random.default_rng(3)
        slates = [
            (np.where(rng.random(scores.shape) < 0.2, NAN, scores), *rest) for scores, *rest in slates
        ]
    fit = nested_fit(slates)
    (alone, slot, both), (documents, with_slot, with_both), observations = long_fit(slates)
    assert fit.slot == pytest.approx(alone - slot)
    assert fit.window == pytest.approx(slot - both)
    assert fit.residual == pytest.approx(both)
    assert fit.df_slot == with_slot - documents
    assert fit.df_window == with_both - with_slot
    # A candidate with one score tells nothing: it takes its own degree of freedom with it.
    assert fit.df_residual == observations - with_both


def test_dialled_slot_share_is_recovered():
    slates = rows_of(Toy(relevance="hash", slot_bias=0.3, noise=0.1), slates=100)
    # Slots 0..3 lose 0, .1, .2, .3: variance .0125; noise .01.
    shares = nested_fit(slates).shares()
    assert shares.slot == pytest.approx(0.0125 / 0.0225, abs=0.02)
    assert shares.window == pytest.approx(0, abs=0.005)
    assert shares.slot + shares.window + shares.residual == pytest.approx(1)


def test_dummies_explain_noise_by_chance_and_the_correction_takes_it_off():
    fits = [nested_fit([one]) for one in rows_of(Toy(relevance="hash", noise=0.1), slates=300)]
    raw = np.array([fit.shares(corrected=False).slot for fit in fits])
    corrected = np.array([fit.shares().slot for fit in fits])
    # 3 degrees of freedom of 12 * (8 - 1) = 84.
    assert raw.mean() == pytest.approx(3 / 84, abs=0.005)
    assert abs(corrected.mean()) < 3 * corrected.std() / math.sqrt(300)
    assert 0.3 < (corrected < 0).mean() < 0.7


def test_the_window_share_keeps_a_bias_that_pooling_removes():
    # Companions move all candidates of a window alike, so chance is larger than for
    # independent residuals: in one slate by up to 1/(M - 1) = 1/7.
    slates = rows_of(Toy(relevance="hash", coupling=1.0), slates=300)
    windows = np.array([nested_fit([one]).shares().window for one in slates])
    assert 0.02 < windows.mean() < 1 / 7
    # Pooled: by 1/7/300 = .0005.
    assert abs(nested_fit(slates).shares().window) < 0.004


def test_pooled_slates_share_their_effects():
    up = (SCORES, SLOTS, WINDOWS)
    down = (SCORES[::-1].copy(), SLOTS, WINDOWS)
    # Slot 0 is higher in one slate and lower in the other: no common effect.
    assert nested_fit([up, down]).slot == pytest.approx(0)
    assert nested_fit([down]).slot == pytest.approx(0.09)


def test_nothing_moves_and_nothing_is_there():
    still = nested_fit([(np.full((4, 3), 0.1), np.tile([0, 1, 2], (4, 1)), np.zeros((4, 3)))])
    assert math.isnan(still.shares().slot)
    assert math.isnan(still.shares(corrected=False).residual)
    empty = nested_fit([])
    assert math.isnan(empty.variance)
    assert math.isnan(empty.shares().slot)
    lost = nested_fit([(np.full((2, 2), NAN), SLOTS, WINDOWS)])
    assert (lost.documents, lost.observations) == (0, 0)


def test_a_candidate_with_one_score_is_left_out():
    holed = SCORES.copy()
    holed[0, 1] = NAN
    fit = nested_fit([(holed, SLOTS, WINDOWS)])
    assert (fit.documents, fit.observations) == (1, 2)
    # The one candidate left moves by +-.2, all of it by its slot; nothing is left for noise.
    assert fit.slot == pytest.approx(0.08)
    assert math.isnan(fit.shares().slot)


def test_a_candidate_that_is_not_shown_has_no_place():
    scores = np.array([[1.0, 0.3, NAN], [0.6, 0.5, NAN]])
    slots = np.array([[0, 1, -1], [1, 0, -1]])
    fit = nested_fit([(scores, slots, np.where(slots < 0, -1, 0))])
    assert fit == nested_fit([(SCORES, SLOTS, WINDOWS)])


def test_residual_share_against_a_reference():
    reference = nested_fit([(SCORES, SLOTS, WINDOWS)])
    # Half of every movement is a quarter of every variance.
    halved = nested_fit([(SCORES / 2, SLOTS, WINDOWS)])
    assert residual_against(halved, reference) == pytest.approx(0.25)
    assert residual_against(reference, reference) == 1
    still = nested_fit([(np.ones((2, 2)), SLOTS, WINDOWS)])
    assert residual_against(still, reference) == 0
    assert math.isnan(residual_against(reference, still))
    with pytest.raises(UsageError, match="2 and 4 candidates"):
        residual_against(reference, nested_fit([(SCORES, SLOTS, WINDOWS)] * 2))


@pytest.mark.parametrize(
    ("slate", "message"),
    [
        ((SCORES, SLOTS[:1], WINDOWS), "slots of shape"),
        ((SCORES, SLOTS, WINDOWS[:, :1]), "windows of shape"),
        ((SCORES, SLOTS - 1, WINDOWS), "negative place"),
        ((SCORES[0], SLOTS, WINDOWS), "shape"),
    ],
)
def test_bad_input_is_refused(slate, message):
    with pytest.raises(UsageError, match=message):
        nested_fit([slate])
