import math

import numpy as np
import pytest

from evenhand.study.found.tally import Tally, largest_difference, slate_counts
from evenhand.types import Candidate, Plan, Presentation, Slate


def test_odd_texts_are_counted():
    texts = ["same", "same", "same", " \n", ""]
    slate = Slate("s", "q", tuple(Candidate(f"c{i}", t) for i, t in enumerate(texts)), {"c0": 1})
    found = slate_counts(slate)
    # Two of the three equal ones repeat an earlier one; " \n" and "" are two different texts.
    assert (found["candidates"], found["empty_texts"], found["equal_texts"]) == (5, 2, 2)
    assert (found["slates_without_grades"], found["slates_without_relevant"]) == (0, 0)
    assert slate_counts(slate, 2)["slates_without_relevant"] == 1
    titled = Slate("s", "q", (Candidate("a", "", "title"),))
    assert slate_counts(titled)["empty_texts"] == 0
    assert slate_counts(titled)["single_candidate_slates"] == 1
    assert slate_counts(Slate("s", "q", ()))["empty_slates"] == 1


def test_largest_difference_ignores_what_is_missing():
    rows = np.array([[0.1, np.nan, 0.5], [0.4, 0.2, np.nan]])
    assert largest_difference(rows, np.array([0.2, np.nan, 0.5])) == pytest.approx(0.2)
    assert math.isnan(largest_difference(np.full((1, 2), np.nan), np.zeros(2)))


def test_who_is_not_shown_is_not_counted(kit):
    # b is the reserve: canonical and repeat row show a and c, the random row a and b.
    canonical = Presentation((0, 2), ((0, 2),), omitted=(1,))
    random = Presentation((0, 1), ((0, 1),), omitted=(2,))
    plan = Plan((canonical, random, canonical), ("canonical", "random", "repeat"))
    nan = math.nan
    scores = [[0.5, nan, 0.3], [0.5, nan, nan], [0.5, nan, 0.3]]
    tally = Tally()
    tally.add(kit.record(kit.slate("s1", "abc", {"b": 1, "c": 1}), plan, scores))
    # Six were shown; of them b lacks a score in the random row.
    assert (tally.counts["scores"], tally.counts["missing_scores"]) == (6, 1)
    # The threshold is fitted to what the canonical row shows.
    assert tally.relevance[0].tolist() == [False, False, True]


def test_counts_costs_and_extremes(kit):
    plan = kit.plan([(1, 0), (1, 0)])
    tally = Tally()
    truncated = np.array([[3, 0], [9, 9], [9, 9], [9, 9]])
    mass = np.array([[0.9, 0.4], [np.nan, 0.7], [0.8, 0.6], [0.6, 0.3]])
    tally.add(
        kit.record(
            kit.slate("s1", "ab", {"a": 1}),
            plan,
            [[0.5, 0.25], [0.75, np.nan], [0.5, 0.5], [0.5, 0.25 + 1e-3]],
            truncated=truncated,
            escaped=truncated * 2,
            label_mass=mass,
            failures=(None, "lost", None, "mended"),
            prompts=np.array([2, 2, 0, 2]),
            tokens=np.array([30, 30, 0, 60]),
            query_escaped=np.array([4, 4, 4, 4]),
        )
    )
    tally.add(kit.record(kit.slate("s2", "ab"), plan, np.full((4, 2), 0.5)))
    counts = tally.counts
    assert (counts["slates"], counts["rows"], counts["scores"], counts["candidates"]) == (2, 8, 16, 4)
    # The last row says something and lacks no score: it is not a failed one.
    assert (counts["missing_scores"], counts["failed_rows"]) == (1, 1)
    assert (counts["remarked_rows"], counts["remarked_slates"]) == (1, 1)
    assert (tally.reasons, tally.remarks) == (["lost"], ["mended"])
    assert (counts["truncated_tokens"], counts["truncated_candidates"], counts["escaped_places"]) == (
        3,
        1,
        6,
    )
    # The row that cuts most cuts 9 + 9 tokens, the canonical one 3.
    assert counts["truncated_further"] == 15
    assert counts["query_escaped"] == 4
    assert counts["degenerate_slates"] == 1
    assert counts["slates_without_grades"] == 1
    assert counts["empty_texts"] == 0
    assert "empty_texts" in counts
    assert tally.reasons == ["lost"]
    assert tally.repeat_difference == pytest.approx(1e-3)
    # Rows 1 and 2 beside the canonical one: |.75 - .5| and |.5 - .25|.
    assert tally.random_difference == pytest.approx(0.25)
    # (.9 + .4 + .7 + .8 + .6 + .6 + .3) / 7 = 4.3 / 7, two of seven under .5.
    assert tally.label_mass == pytest.approx(4.3 / 7)
    assert tally.low_mass_share == pytest.approx(2 / 7)
    # s1: three paid rows of 2 prompts, (30 + 30 + 60) / 3 = 40 tokens; s2: 1 and 10.
    assert (tally.cost.prompts_per_slate, tally.cost.tokens_per_slate) == (1.5, 25)
    assert tally.score_range == (0.25, 0.5)
    # One row of a slate is kept, not a view that holds the whole matrix.
    assert all(row.base is None for row in tally.canonical)


def test_slot_curve_is_the_mean_of_what_stands_there(kit):
    tally = Tally()
    # Orders b a and a b: slot 0 holds b (.2) and a (.5), slot 1 a (.4), b missing.
    plan = kit.plan([(1, 0), (0, 1)])
    tally.add(kit.record(kit.slate("s", "ab"), plan, [[9, 9], [0.4, 0.2], [0.5, np.nan], [9, 9]]))
    # A wider slate, order c a b: slots .3 .1 .2.
    tally.add(
        kit.record(kit.slate("t", "abc"), kit.plan([(2, 0, 1)]), [[9] * 3, [0.1, 0.2, 0.3], [9] * 3])
    )
    np.testing.assert_array_equal(tally.slot_curve.x, [0, 1, 2])
    np.testing.assert_allclose(tally.slot_curve.y["score"], [1.0 / 3, 0.25, 0.2])


def test_nothing_counted_is_not_zero(kit):
    tally = Tally()
    assert math.isnan(tally.label_mass)
    assert math.isnan(tally.low_mass_share)
    assert math.isnan(tally.cost.prompts_per_slate)
    assert math.isnan(tally.score_range[0])
    tally.add(kit.record(kit.slate("e", ""), kit.plan([()]), np.empty((3, 0))))
    assert math.isnan(tally.repeat_difference)
    assert tally.counts["missing_scores"] == 0
    assert tally.cost.prompts_per_slate == 1
