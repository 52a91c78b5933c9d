import math

import numpy as np
import pytest

from evenhand.remedy.arrange import interleave
from evenhand.remedy.average import (
    Averaged,
    average,
    fused,
    latin_orders,
    random_orders,
)
from evenhand.score.function import scorer
from evenhand.score.toy import Toy
from evenhand.types import Presentation, Scored

NAN = float("nan")


def parts(*rows):
    return [Scored(np.array(row, dtype=float), prompts=1, tokens=3) for row in rows]


def whole(n):
    order = tuple(range(n))
    return Presentation(order, (order,) if n else ())


def rng(seed=0):
    return np.random.default_rng(seed)


def counted(presentation, orders, place):
    """Return (n, places): how often each candidate stands at each place over the orders."""
    found = np.zeros((len(presentation), 1 + max(place.values())), dtype=int)
    for order in orders:
        for position, candidate in enumerate(order):
            found[candidate, place[position]] += 1
    return found


def test_the_mean_over_orders_is_that_of_the_inner_answers(grader, show):
    inner = grader()
    one = show(row=2, kind="random")
    (found,) = average(3)(inner).score([one])
    (asked,) = inner.asked
    answers = grader().score(asked)
    assert [shown.row for shown in asked] == [2, 2, 2]
    np.testing.assert_allclose(found.scores, sum(a.scores for a in answers) / 3)
    np.testing.assert_allclose(found.grades, sum(a.grades for a in answers) / 3)
    np.testing.assert_allclose(found.label_mass, 0.9)
    # One window of 6 each: 3 prompts, 30 tokens.
    assert (found.prompts, found.tokens) == (3, 30)
    # Most tokens are cut at the highest slot that a candidate stood at.
    slots = np.array([shown.presentation.slots() for shown in asked])
    np.testing.assert_array_equal(found.truncated, slots.max(axis=0))


def test_windows_are_cut_as_the_row_is(grader, show):
    inner = grader()
    average(2)(inner).score([show(width=4)])
    assert [tuple(map(len, a.presentation.windows)) for a in inner.asked[0]] == [(4, 2), (4, 2)]


def test_orders_do_not_follow_the_order_that_is_handed_over():
    forward, backward = whole(5), Presentation((4, 3, 2, 1, 0), ((4, 3, 2, 1, 0),))
    assert random_orders(forward, 3, rng()) == random_orders(backward, 3, rng())
    assert latin_orders(forward, 3, rng()) == latin_orders(backward, 3, rng())


@pytest.mark.parametrize("draw", [random_orders, latin_orders])
def test_every_single_order_is_uniform(draw):
    # 1200 draws over the 6 orders of 3: 200 each, sd sqrt(1200 * 1/6 * 5/6) = 12.9; 5 sd = 65.
    for place in (0, 1):
        seen = {}
        for seed in range(1200):
            order = draw(whole(3), 2, rng(seed))[place]
            seen[order] = seen.get(order, 0) + 1
        assert len(seen) == 6
        assert all(abs(count - 200) < 65 for count in seen.values())


def test_omitted_candidates_stay_out():
    shown = Presentation((0, 3, 1), ((0, 3), (1,)), omitted=(2,))
    for order in [*random_orders(shown, 2, rng()), *latin_orders(shown, 3, rng())]:
        assert sorted(order) == [0, 1, 3]


@pytest.mark.parametrize(("n", "k"), [(6, 3), (8, 2), (5, 5), (12, 4)])
def test_latin_orders_balance_slot_blocks_exactly_where_k_divides_n(n, k):
    block = {position: position * k // n for position in range(n)}
    found = counted(whole(n), latin_orders(whole(n), k, rng()), block)
    np.testing.assert_array_equal(found, np.ones((n, k)))


def test_latin_orders_balance_slots_across_windows():
    # Two windows of three: K = 3 blocks are the slots 0, 1, 2 of both windows.
    shown = Presentation(range(6), ((0, 1, 2), (3, 4, 5)))
    slot = {position: position % 3 for position in range(6)}
    found = counted(shown, latin_orders(shown, 3, rng()), slot)
    np.testing.assert_array_equal(found, np.ones((6, 3)))


def test_latin_orders_balance_the_slots_of_interleaved_windows(grader, show):
    inner = grader()
    average(3, latin=True)(interleave()(inner)).score([show(width=3)])
    slots = [one.presentation.slots() for one in inner.asked[0]]
    np.testing.assert_array_equal(np.sort(slots, axis=0), [[0] * 6, [1] * 6, [2] * 6])


@pytest.mark.parametrize("seed", range(20))
def test_latin_orders_that_do_not_divide_stand_in_a_block_twice_at_most(seed):
    # 7 positions in blocks of 2, 2 and 3: 0-1, 2-3, 4-6 (7 b // 3 = 0, 2, 4, 7).
    block = dict(enumerate([0, 0, 1, 1, 2, 2, 2]))
    found = counted(whole(7), latin_orders(whole(7), 3, rng(seed)), block)
    assert found.max() <= 2
    np.testing.assert_array_equal(found.sum(axis=1), [3] * 7)


def test_more_orders_than_candidates_come_in_sets():
    # 10 over 4: sets of 4, 4 and 2. Two full sets give every slot twice; in the last each
    # candidate is once in slots 0-1 and once in slots 2-3.
    orders = latin_orders(whole(4), 10, rng())
    slot = {position: position for position in range(4)}
    np.testing.assert_array_equal(counted(whole(4), orders[:8], slot), np.full((4, 4), 2))
    half = {position: position // 2 for position in range(4)}
    np.testing.assert_array_equal(counted(whole(4), orders[8:], half), np.ones((4, 2)))


def test_nobody_to_show_is_no_error():
    assert latin_orders(whole(0), 2, rng()) == [(), ()]
    assert random_orders(whole(0), 2, rng()) == [(), ()]


def test_scores_by_received_place_average_to_the_same(show, make_slate):
    # Every slot once: (1 + .75 + .5 + .25) / 4 = .625 for all.
    made = average(4, latin=True)(Toy(relevance="position"))
    (found,) = made.score([show(slate=make_slate(4))])
    assert found.scores.tolist() == [0.625] * 4


def test_a_position_only_score_varies_as_one_over_k(show, make_slate):
    # Positions are uniform: the variance of 1 - p/n is (n^2 - 1) / (12 n^2); n = 12: .08275.
    slate = make_slate(12)
    rows = [show(slate=slate, row=row, kind="random") for row in range(400)]
    for k in (1, 4, 16):
        made = average(k)(Toy(relevance="position"))
        scores = np.array([one.scores for one in made.score(rows)])
        sd = scores.std(axis=0, ddof=1).mean()
        # 400 rows x 12 candidates: the sd of this estimate is about 1%.
        assert sd == pytest.approx(math.sqrt(143 / 1728 / k), rel=0.05)
        assert np.unique(scores.round(12), axis=0).shape[0] == 400


def test_borda_is_the_mean_share_of_others_beaten():
    # 3 1 2: ranks 1 3 2 -> 1, 0, .5. 1 1 5: ranks 2.5 2.5 1 -> .25, .25, 1.
    found = fused(whole(3), parts([3, 1, 2], [1, 1, 5]), "borda")
    assert found.scores.tolist() == [0.625, 0.125, 0.75]
    assert (found.prompts, found.tokens, found.failure) == (2, 6, None)


def test_reciprocal_rank_fusion_has_the_constant_60():
    # Ranks 1 3 2 and 2.5 2.5 1.
    found = fused(whole(3), parts([3, 1, 2], [1, 1, 5]), "rrf")
    expected = [(1 / 61 + 1 / 62.5) / 2, (1 / 63 + 1 / 62.5) / 2, (1 / 62 + 1 / 61) / 2]
    np.testing.assert_allclose(found.scores, expected, rtol=1e-15)


def test_a_lone_candidate_beats_all_others():
    assert fused(whole(1), parts([0.2], [0.7]), "borda").scores.tolist() == [1.0]


@pytest.mark.parametrize("fuse", ["mean", "borda", "rrf"])
def test_a_candidate_missing_once_is_missing(fuse):
    found = fused(whole(3), parts([3, 1, 2], [NAN, 1, 5]), fuse)
    assert np.isnan(found.scores).tolist() == [True, False, False]
    assert found.failure == "scores are missing (in 1 of 2 orders)"


def test_ranks_are_among_those_that_are_known():
    # Second order: of 1 and 5 alone, 0 and 1 of one other. First: 3 1 2 -> 1, 0, .5.
    found = fused(whole(3), parts([3, 1, 2], [NAN, 1, 5]), "borda")
    np.testing.assert_array_equal(found.scores, [NAN, 0.0, 0.75])


def test_a_failed_order_says_why(grader, show, make_slate):
    (found,) = average(3)(grader(broken=["0.25"])).score([show(slate=make_slate(6))])
    assert np.isnan(found.scores).all()
    assert found.failure == "cannot read it (in 3 of 3 orders)"
    assert (found.prompts, found.tokens) == (3, 6)
    assert found.grades is None


def test_not_shown_is_not_missing():
    shown = Presentation((0, 2), ((0, 2),), omitted=(1,))
    assert fused(shown, parts([3, NAN, 2], [1, NAN, 5]), "mean").failure is None


def test_fused_ranks_carry_no_grades(grader, show):
    (found,) = average(2, fuse="borda")(grader()).score([show()])
    assert found.grades is None
    assert found.label_mass is not None


def test_the_scale_is_that_of_the_fused_numbers():
    raw = scorer(lambda query, texts: [len(t) for t in texts], revision="1")
    assert average(2)(raw).scale == "raw"
    assert average(2, fuse="borda")(raw).scale == "unit"
    assert average(2, fuse="rrf")(Toy(relevance="slot")).scale == "raw"
    # An order-free scorer is left as it is, its scale too.
    assert average(2, fuse="rrf")(Toy()).scale == "unit"


def test_names_and_revisions_tell_settings_apart():
    made = [average(4), average(5), average(4, latin=True), average(4, fuse="rrf"), average(4, seed=1)]
    scorers = [Averaged(Toy(slot_bias=0.1), one) for one in made]
    assert len({one.revision for one in scorers}) == 5
    assert scorers[0].name == scorers[4].name == "toy:slot_bias=0.1 + average:4"


def test_an_average_of_averages_draws_different_orders(grader, show):
    inner = grader()
    average(3)(average(2)(inner)).score([show()])
    orders = [one.presentation.order for one in inner.asked[0]]
    # 6 of 720 orders: equal ones would mean shared draws.
    assert len(set(orders)) == 6
