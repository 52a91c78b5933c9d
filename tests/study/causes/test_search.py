import math

import numpy as np
import pytest

from evenhand.errors import UsageError
from evenhand.score.function import scorer
from evenhand.score.toy import Toy
from evenhand.study.causes.search import BUDGET, Wanted, search
from evenhand.study.rows.ask import ask
from evenhand.study.rows.layout import Layout
from evenhand.types import Candidate, Scored, Shown, Slate


def slate(n):
    return Slate("q", "query", tuple(Candidate(f"c{i}", f"{i}") for i in range(n)))


def run(scoring, n, shape=None, **wanted):
    shape = shape or Layout()
    (first,) = ask(scoring, [Shown(slate(n), shape.present(range(n)))])
    return search(scoring, slate(n), shape, first, Wanted(**{"objective": "kendall", **wanted}))


def test_a_budget_is_split_between_search_and_random_orders():
    toy = Toy(relevance="hash", slot_bias=0.2, noise=0.05)
    # 12 candidates at B=5: 3 prompts. 100 // 3 = 33 presentations, 3 of them for the
    # canonical row, its repeat and the confirmation: 15 to each arm.
    found = run(toy, 12, Layout(5), budget=100)
    assert (found.orders, found.random_orders, found.prompts) == (16, 15, 99)
    assert not found.exact
    # 4 presentations: one other order, no random one.
    least = run(toy, 12, Layout(5), budget=12)
    assert (least.orders, least.random_orders, least.prompts) == (2, 0, 12)
    assert math.isnan(least.random_mean)
    with pytest.raises(UsageError, match="give at least 12"):
        run(toy, 12, Layout(5), budget=11)


def test_all_orders_where_they_are_paid_for():
    toy = Toy(relevance="hash", slot_bias=0.2)
    # 4! = 24 presentations of 2 prompts, and the two readings again.
    assert run(toy, 4, Layout(3), budget=52).exact
    assert run(toy, 4, Layout(3), budget=52).prompts == 52
    assert not run(toy, 4, Layout(3), budget=51).exact
    assert run(toy, 6).exact
    assert run(toy, 6).orders == 720
    seven = run(toy, 7)
    assert not seven.exact
    assert seven.prompts <= BUDGET


def test_a_failed_reading_is_no_evidence():
    class Fails:
        def __getattr__(self, name):
            return getattr(Toy(relevance="position"), name)

        def score(self, shown):
            return [
                Scored.failed(len(one.slate), "lost", prompts=1)
                if one.presentation.order[0] == 3
                else scored
                for one, scored in zip(shown, Toy(relevance="position").score(shown), strict=True)
            ]

    found = run(Fails(), 4)
    # The worst of all, 3 2 1 0, is lost with the five others that start with 3.
    assert found.failed == 6
    assert found.order[0] != 3
    # 2 3 1 0 swaps all pairs but (2, 3).
    assert found.value == pytest.approx(5 / 6)


def test_candidates_without_a_canonical_score_are_left_out():
    def f(query, texts):
        return [math.nan if text == "1" else -place for place, text in enumerate(texts)]

    found = run(scorer(f), 4)
    assert found.value == 1
    assert found.failed == 0
    lost = run(scorer(lambda query, texts: [math.nan] * len(texts)), 4)
    assert math.isnan(lost.value)
    assert lost.prompts == 1
    # A watched candidate without a score is missing, and stops no study of many slates.
    unseen = run(scorer(f), 4, objective="rank_drop", candidate="c1")
    assert (math.isnan(unseen.value), unseen.prompts) == (True, 1)
    with pytest.raises(UsageError, match="no candidate 'z'"):
        run(scorer(f), 4, objective="rank_drop", candidate="z")


def test_the_watched_candidate_is_found_among_those_that_have_scores():
    def f(query, texts):
        return [math.nan if text == "0" else -place for place, text in enumerate(texts)]

    # Canonical scores of 1, 2, 3 fall; candidate 2 is second of three and can lose one rank.
    found = run(scorer(f), 4, objective="rank_drop", candidate="c2")
    assert found.value == 1
    # The best of the canonical row, candidate 1, can lose two.
    assert run(scorer(f), 4, objective="rank_drop").value == 2


def test_noise_shows_in_the_confirmation():
    found = run(Toy(relevance="hash", noise=0.4), 12, budget=400)
    # The largest of 200 noisy values is partly luck, and reads lower again.
    assert found.value > found.random_mean
    assert found.confirmed < found.value
    assert found.floor > 0
    steady = run(Toy(relevance="hash", slot_bias=0.4), 12, budget=400)
    assert steady.confirmed == steady.value
    assert steady.floor == 0


def test_the_same_call_gives_the_same_answer():
    toy = Toy(relevance="hash", slot_bias=0.3, noise=0.1)
    assert run(toy, 9, budget=60) == run(toy, 9, budget=60)
    assert run(toy, 9, budget=60) != run(toy, 9, budget=60, seed=1)


def test_rows_are_told_apart_and_readings_again_are_repeats():
    seen = []

    class Watched:
        def __getattr__(self, name):
            return getattr(Toy(), name)

        def score(self, shown):
            seen.extend((one.row, one.kind) for one in shown)
            return [Scored(np.zeros(len(one.slate)), prompts=1) for one in shown]

    run(Watched(), 7, budget=20)
    assert seen[0] == (0, "canonical")
    assert len(set(seen)) == len(seen) == 20
    assert [kind for _, kind in seen[-2:]] == ["repeat", "repeat"]
