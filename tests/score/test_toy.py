"""Every closed form that the toy's docstring states, by hand."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import kendalltau

from evenhand.errors import UsageError
from evenhand.score.toy import Toy, open_toy
from evenhand.types import Candidate, Presentation, Shown, Slate


def slate_of(grades, slate_id="s", query="red apple"):
    candidates = tuple(Candidate(f"c{i}", f"text {i}") for i in range(len(grades)))
    return Slate(slate_id, query, candidates, {f"c{i}": grade for i, grade in enumerate(grades)})


def one_window(slate, order, row=0):
    return Shown(slate, Presentation(order, (order,) if order else ()), row)


def rows_over(toy, slate, orders):
    shown = [one_window(slate, tuple(order), row) for row, order in enumerate(orders)]
    return np.array([scored.scores for scored in toy.score(shown)])


def tau_psi(rows, pairs):
    """The paper's formula on untied rows, by scipy: (1 - mean tau) / 2."""
    taus = [kendalltau(rows[i], rows[j]).statistic for i, j in pairs]
    return (1 - np.mean(taus)) / 2


def all_pairs(rows):
    return list(itertools.product(range(len(rows)), repeat=2))


def distinct_pairs(rows):
    return list(itertools.combinations(range(len(rows)), 2))


def overlap(rows, threshold):
    kept = [frozenset(np.flatnonzero(row >= threshold)) for row in rows]
    return np.mean([len(kept[i] & kept[j]) / len(kept[i] | kept[j]) for i, j in distinct_pairs(rows)])


def test_relevance_is_the_grade_when_nothing_is_spread():
    # grades 0..3 over 3; 5 is clipped to 3 and -2 to 0; an unjudged candidate is 0
    slate = slate_of([0, 1, 2, 3, 5, -2])
    slate = Slate("s", "q", (*slate.candidates, Candidate("new", "")), slate.grades)
    (scored,) = Toy(spread=0).score([one_window(slate, tuple(range(7)))])
    np.testing.assert_allclose(scored.scores, [0, 1 / 3, 2 / 3, 1, 1, 0, 0])


def test_spread_parts_equal_grades_and_keeps_unequal_ones_in_order():
    slate = slate_of([0, 0, 1, 1, 2, 2, 3, 3])
    (scored,) = Toy().score([one_window(slate, tuple(range(8)))])
    assert len(set(scored.scores)) == 8
    for low, high in itertools.pairwise(range(4)):
        assert scored.scores[2 * low : 2 * low + 2].max() < scored.scores[2 * high : 2 * high + 2].min()
    # each score is .9 grade/3 + .1 u with u in [0, 1)
    rest = scored.scores - 0.9 * np.repeat(np.arange(4), 2) / 3
    assert rest.min() >= 0
    assert rest.max() < 0.1


def test_hash_relevance_ignores_grades_and_serves_slates_without_them():
    graded = slate_of([3, 0, 1])
    bare = Slate("other id", graded.query, graded.candidates)
    order = (0, 1, 2)
    by_hash, fallback = (
        Toy(relevance="hash").score([one_window(graded, order)])[0],
        Toy().score([one_window(bare, order)])[0],
    )
    np.testing.assert_array_equal(by_hash.scores, fallback.scores)
    assert len(set(by_hash.scores)) == 3
    assert 0 <= by_hash.scores.min() <= by_hash.scores.max() < 1


@pytest.mark.parametrize(("n", "distinct"), [(2, 1.0), (3, 0.6), (4, 12 / 23)])
def test_position_only_is_at_one_half_for_every_n(n, distinct):
    # C21. All n! orders: over all n!^2 pairs of rows a candidate pair swaps half the time.
    # Leaving out the n! pairs of a row with itself: .5 n!/(n! - 1) = 1, .6, .5217.
    slate = slate_of([0] * n)
    rows = rows_over(Toy(relevance="position"), slate, itertools.permutations(range(n)))
    assert tau_psi(rows, all_pairs(rows)) == pytest.approx(0.5)
    assert tau_psi(rows, distinct_pairs(rows)) == pytest.approx(distinct)


def test_received_place_over_the_four_rotations():
    # C5. A row is 1, .75, .5, .25 by place. Rotations by 1 and 3 places swap 3 of 6 pairs, by 2
    # places 4 of 6; of the 6 pairs of rows 4 are of the first kind: (4 * 3/6 + 2 * 4/6) / 6 = .5556.
    # At .5 each keeps all but its last: two rows share 2 of 4. Mean (1 + .75 + .5 + .25) / 4 = .625.
    rotations = [tuple((start + i) % 4 for i in range(4)) for start in range(4)]
    for relevance in ("position", "slot"):
        rows = rows_over(Toy(relevance=relevance), slate_of([0] * 4), rotations)
        np.testing.assert_allclose(rows[1], [0.25, 1, 0.75, 0.5])
        assert tau_psi(rows, distinct_pairs(rows)) == pytest.approx(5 / 9)
        assert overlap(rows, 0.5) == pytest.approx(0.5)
        np.testing.assert_allclose(rows.mean(axis=0), 0.625)


def test_position_counts_over_the_slate_and_slot_inside_the_window():
    # order 2 0 1 cut into (2, 0), (1): positions c0 1, c1 2, c2 0 of 3; slots c0 1 of 2, c1 0 of 1
    shown = Shown(slate_of([0, 0, 0]), Presentation((2, 0, 1), ((2, 0), (1,))))
    (by_position,) = Toy(relevance="position").score([shown])
    (by_slot,) = Toy(relevance="slot").score([shown])
    np.testing.assert_allclose(by_position.scores, [2 / 3, 1 / 3, 1])
    np.testing.assert_allclose(by_slot.scores, [0.5, 1, 1])


def test_slot_bias_is_linear_in_the_slot_and_absent_alone():
    # r = 1, 1/3, 0, 2/3; window (3, 1, 0): slots 0, 1, 2 lose 0, .15, .3; c2 is alone
    shown = Shown(slate_of([3, 1, 0, 2]), Presentation((3, 1, 0, 2), ((3, 1, 0), (2,))))
    (scored,) = Toy(spread=0, slot_bias=0.3).score([shown])
    np.testing.assert_allclose(scored.scores, [0.7, 1 / 3 - 0.15, 0, 2 / 3])


@pytest.mark.parametrize(("bias", "expected"), [(0.3, 0.0), (0.4, 0.5)])
def test_two_candidates_swap_once_the_bias_exceeds_their_gap(bias, expected):
    # gap 1/3: a bias of .3 cannot bridge it; .4 makes whoever is first win: 2 of 4 pairs swap
    rows = rows_over(Toy(spread=0, slot_bias=bias), slate_of([2, 1]), [(0, 1), (1, 0)])
    assert tau_psi(rows, all_pairs(rows)) == pytest.approx(expected)


def test_first_slot_bonus_goes_to_every_window():
    shown = Shown(slate_of([0, 0, 0]), Presentation((1, 0, 2), ((1, 0), (2,))))
    (scored,) = Toy(spread=0, first_slot=0.2).score([shown])
    np.testing.assert_allclose(scored.scores, [0, 0.2, 0.2])


def test_coupling_subtracts_the_companions_mean():
    # r = 1, 2/3, 1/3; windows (0, 1), (2): 1 - .6 * 2/3 = .6, 2/3 - .6 * 1 = .0667, alone 1/3
    slate = slate_of([3, 2, 1])
    (scored,) = Toy(spread=0, coupling=0.6).score(
        [Shown(slate, Presentation((0, 1, 2), ((0, 1), (2,))))]
    )
    np.testing.assert_allclose(scored.scores, [0.6, 2 / 3 - 0.6, 1 / 3])


def test_coupling_in_one_window_is_blind_to_order():
    # r_i (1 + c/(n-1)) - c sum(r)/(n-1) with c = .6, n = 3, sum 2: 1.3 r_i - .6, in every order
    rows = rows_over(Toy(spread=0, coupling=0.6), slate_of([3, 2, 1]), itertools.permutations(range(3)))
    np.testing.assert_allclose(rows, np.tile([0.7, 1.3 * 2 / 3 - 0.6, 1.3 / 3 - 0.6], (6, 1)))
    assert (rows == rows[0]).all()


def test_noise_follows_the_row_and_has_the_asked_spread():
    slate = slate_of([0] * 400)
    order = tuple(range(400))
    toy = Toy(spread=0, noise=0.05, seed=7)
    canonical, again, repeat = toy.score([one_window(slate, order, row) for row in (0, 0, 5)])
    np.testing.assert_array_equal(canonical.scores, again.scores)
    assert (canonical.scores != repeat.scores).all()
    # the standard error of a sd of 400 draws is .05 / sqrt(800) = .0018; four of them
    assert canonical.scores.std() == pytest.approx(0.05, abs=0.0072)
    (other_seed,) = Toy(spread=0, noise=0.05, seed=8).score([one_window(slate, order)])
    assert (other_seed.scores != canonical.scores).all()


def test_noise_of_two_orders_in_one_row_is_independent():
    slate = slate_of([0] * 400)
    forward = tuple(range(400))
    one, other = Toy(spread=0, noise=1).score(
        [one_window(slate, forward), one_window(slate, forward[::-1])]
    )
    # correlation of independent draws: standard error 1 / sqrt(400) = .05; four of them
    assert abs(np.corrcoef(one.scores, other.scores)[0, 1]) < 0.2


def test_grid_rounds_halves_up():
    # 3 levels: 0, .5, 1. 1/3 * 2 = .667 -> 1 -> .5; 2/3 * 2 = 1.333 -> 1 -> .5
    slate = slate_of([0, 1, 2, 3])
    (scored,) = Toy(spread=0, grid=3).score([one_window(slate, (0, 1, 2, 3))])
    np.testing.assert_array_equal(scored.scores, [0, 0.5, 0.5, 1])
    # two candidates by position: 1 and .5; on 2 levels .5 goes up to 1
    (scored,) = Toy(relevance="position", grid=2).score([one_window(slate_of([0, 0]), (0, 1))])
    np.testing.assert_array_equal(scored.scores, [1, 1])


def test_cost_is_a_prompt_a_window_and_its_words():
    # query 2 words, twice; candidates "text i" 2 words each, c1 with a title of 3 more
    slate = slate_of([0, 0, 0])
    titled = Candidate("c1", "text 1", "a b c")
    slate = Slate("s", slate.query, (slate.candidates[0], titled, slate.candidates[2]), slate.grades)
    (scored,) = Toy().score([Shown(slate, Presentation((0, 1, 2), ((0, 1), (2,))))])
    assert (scored.prompts, scored.tokens) == (2, 2 * 2 + 3 * 2 + 3)


def test_empty_slate_costs_nothing():
    (scored,) = Toy(slot_bias=0.1, noise=0.1, coupling=0.1).score([one_window(Slate("s", "q", ()), ())])
    assert scored.scores.shape == (0,)
    assert (scored.prompts, scored.tokens) == (0, 0)


@pytest.mark.parametrize(
    ("dials", "order_free", "scale"),
    [
        ({}, True, "unit"),
        ({"relevance": "hash", "grid": 4}, True, "unit"),
        ({"relevance": "position"}, False, "unit"),
        ({"relevance": "slot"}, False, "unit"),
        ({"slot_bias": 0.1}, False, "raw"),
        ({"coupling": -0.1}, False, "raw"),
        ({"first_slot": 0.1}, False, "raw"),
        ({"noise": 0.1}, False, "raw"),
    ],
)
def test_what_a_toy_declares(dials, order_free, scale):
    toy = Toy(**dials)
    assert (toy.order_free, toy.scale) == (order_free, scale)


def test_revision_and_name_follow_the_dials():
    assert Toy().name == "toy"
    assert Toy(slot_bias=1).revision == Toy(slot_bias=1.0).revision
    toys = [Toy(), Toy(slot_bias=0.1), Toy(noise=0.1), Toy(noise=0.1, seed=1), Toy(relevance="hash")]
    assert len({toy.revision for toy in toys}) == 5
    for toy in toys:
        assert open_toy(toy.name) == toy


def test_spec_and_options_turn_dials():
    assert open_toy("toy:slot_bias=.3, noise=.05") == Toy(slot_bias=0.3, noise=0.05)
    assert open_toy("toy:relevance=position,grid=5", seed=3) == Toy(
        relevance="position", grid=5, seed=3
    )


@pytest.mark.parametrize(
    ("spec", "options", "message"),
    [
        ("toy:bias=1", {}, r"unknown dial 'bias'; known are \['coupling', 'first_slot'"),
        ("toy", {"bias": 1}, r"unknown dial 'bias'; known are"),
        ("toy:channels=1", {}, "unknown dial 'channels'"),
        ("toy:noise", {}, "'noise' is not dial=value"),
        ("toy:", {}, "'' is not dial=value"),
        ("toy:noise=", {}, "is not dial=value"),
        ("toy:noise=.1,", {}, "is not dial=value"),
        ("toy:noise=.1,noise=.2", {}, "given twice"),
        ("toy:noise=.1", {"noise": 0.2}, "given twice"),
        ("toy:noise=loud", {}, "noise='loud' cannot be read as float"),
        ("toy:grid=2.5", {}, "grid='2.5' cannot be read as int"),
        ("toy:noise=nan", {}, "noise must be finite"),
        ("toy:slot_bias=inf", {}, "slot_bias must be finite"),
        ("toy:noise=-1", {}, "must be >= 0"),
        ("toy:spread=1.5", {}, r"spread must be in \[0, 1\]"),
        ("toy:grid=1", {}, "at least 2 levels"),
        ("toy:relevance=luck", {}, "'luck' is unknown; known are"),
        ("toy", {"grid": 2.0}, "grid must be an integer"),
        ("toy", {"noise": "loud"}, "noise must be a number"),
        ("toys", {}, "is not a toy"),
    ],
)
def test_wrong_dials_are_refused_by_name(spec, options, message):
    with pytest.raises(UsageError, match=message):
        open_toy(spec, **options)


def test_hash_draws_are_uniform_enough_to_be_a_relevance():
    slate = slate_of([0] * 2000)
    (scored,) = Toy(relevance="hash").score([one_window(slate, tuple(range(2000)))])
    # mean .5, sd 1/sqrt(12) = .2887; standard error of the mean .2887/sqrt(2000) = .0065, four of them
    assert scored.scores.mean() == pytest.approx(0.5, abs=0.026)
    assert scored.scores.std() == pytest.approx(1 / math.sqrt(12), abs=0.02)
