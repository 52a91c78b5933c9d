"""What is asked again and what is reused."""

from dataclasses import replace

import numpy as np
import pytest

from evenhand.errors import ScorerError, UsageError
from evenhand.score.cache import Cached
from evenhand.score.function import scorer
from evenhand.score.toy import Toy
from evenhand.types import Candidate, Presentation, Scored, Shown, Slate, Surface


def slate_of(*texts, slate_id="s"):
    return Slate(slate_id, "q", tuple(Candidate(f"c{i}", text) for i, text in enumerate(texts)))


def shown(slate, order, row=0, kind="random", surface=None):
    order = tuple(order)
    return Shown(slate, Presentation(order, (order,), surface or Surface()), row, kind)


class Counting:
    """A toy that notes the rows it was asked for, and costs one prompt and ten tokens."""

    def __init__(self, **dials):
        self.toy = Toy(**dials)
        self.asked = []
        self.name, self.revision, self.scale = "counting", "r1", "raw"
        self.order_free = self.toy.order_free
        self.channels, self.surface = frozenset({"order"}), Surface()
        self.max_window, self.default_window = 7, 5

    def score(self, shown):
        self.asked += [item.row for item in shown]
        return [replace(scored, prompts=1, tokens=10) for scored in self.toy.score(shown)]


def run_of(slate, orders):
    """Canonical row, random rows, repeat row."""
    n = range(len(slate))
    random = [shown(slate, order, row) for row, order in enumerate(orders, start=1)]
    return [
        shown(slate, n, 0, "canonical"),
        *random,
        shown(slate, n, len(orders) + 1, "repeat"),
    ]


def test_identity_is_the_scorers():
    inner = Counting()
    cached = Cached(inner)
    for name in ("name", "revision", "scale", "order_free", "channels", "max_window", "default_window"):
        assert getattr(cached, name) == getattr(inner, name)
    assert cached.surface is inner.surface
    assert cached.scorer is inner


def test_an_order_free_scorer_is_asked_once_and_once_more_for_the_repeat_row():
    slate = slate_of("a", "b", "c")
    inner = Counting(relevance="hash")
    results = Cached(inner).score(run_of(slate, [(2, 1, 0), (1, 0, 2)]))
    assert inner.asked == [0, 3]
    assert [scored.prompts for scored in results] == [1, 0, 0, 1]
    assert [scored.tokens for scored in results] == [10, 0, 0, 10]
    for scored in results:
        np.testing.assert_array_equal(scored.scores, results[0].scores)


def test_order_free_scores_are_reused_between_calls_but_not_across_surfaces():
    slate = slate_of("a", "b")
    inner = Counting(relevance="hash")
    cached = Cached(inner)
    for row, surface in enumerate([Surface(), Surface(), Surface(rubric="response")]):
        cached.score([shown(slate, (0, 1), row, surface=surface)])
    assert inner.asked == [0, 2]


def test_other_scorers_share_rows_of_equal_presentation_only():
    slate = slate_of("a", "b", "c")
    inner = Counting(relevance="slot")
    orders = [(2, 1, 0), (0, 1, 2), (2, 1, 0)]
    results = Cached(inner).score(run_of(slate, orders))
    # row 2 is the canonical order again, row 3 is row 1 again; row 4 is the repeat row
    assert inner.asked == [0, 1, 4]
    assert [scored.prompts for scored in results] == [1, 1, 0, 0, 1]
    # 1 - slot/3 by canonical index
    np.testing.assert_allclose(
        [scored.scores for scored in results[1:3]], [[1 / 3, 2 / 3, 1], [1, 2 / 3, 1 / 3]]
    )
    np.testing.assert_array_equal(results[3].scores, results[1].scores)


def test_windows_belong_to_the_presentation():
    slate = slate_of("a", "b", "c")
    inner = Counting(relevance="slot")
    order = (0, 1, 2)
    cuts = [(order,), ((0, 1), (2,)), (order,)]
    Cached(inner).score([Shown(slate, Presentation(order, cut), row) for row, cut in enumerate(cuts)])
    assert inner.asked == [0, 1]


def test_slates_are_told_apart_by_content_not_by_id():
    inner = Counting(relevance="hash")
    first, changed = slate_of("a", "b"), slate_of("a", "B")
    twin = slate_of("a", "b")
    Cached(inner).score([shown(slate, (0, 1), row) for row, slate in enumerate([first, changed, twin])])
    assert inner.asked == [0, 1]


def test_the_repeat_row_neither_reads_nor_writes():
    slate = slate_of("a", "b")
    inner = Counting(relevance="hash")
    cached = Cached(inner)
    for row, kind in enumerate(["repeat", "canonical", "repeat", "random"]):
        cached.score([shown(slate, (0, 1), row, kind)])
    assert inner.asked == [0, 1, 2]


def test_an_unsteady_scorer_is_not_made_steady():
    calls = 0

    def drifting(query, texts):
        nonlocal calls
        calls += 1
        return [float(calls)] * len(texts)

    canonical, repeat = Cached(scorer(drifting)).score(run_of(slate_of("a", "b"), []))
    assert canonical.scores.tolist() == [1, 1]
    assert repeat.scores.tolist() == [2, 2]


def test_the_least_recently_used_slate_is_forgotten():
    slates = [slate_of(text, "b") for text in ("a", "x", "y")]
    inner = Counting(relevance="hash")
    cached = Cached(inner, max_slates=2)
    # a x | a again (kept, now newer than x) | y pushes out x | a kept | x asked again
    for row, place in enumerate([0, 1, 0, 2, 0, 1]):
        cached.score([shown(slates[place], (0, 1), row)])
    assert inner.asked == [0, 1, 3, 5]


def test_missing_scores_are_shared_within_a_call_and_tried_again_in_the_next():
    calls = 0

    def once_down(query, texts):
        nonlocal calls
        calls += 1
        if calls == 1:
            raise ConnectionError("down")
        return [1.0] * len(texts)

    slate = slate_of("a", "b")
    cached = Cached(scorer(once_down, order_free=True))
    for scored in cached.score([shown(slate, (0, 1)), shown(slate, (1, 0), 1)]):
        assert np.isnan(scored.scores).all()
        assert scored.failure == "the function raised ConnectionError: down"
    assert calls == 1
    (scored,) = cached.score([shown(slate, (0, 1), 2)])
    assert scored.scores.tolist() == [1, 1]


def test_reused_arrays_belong_to_their_row():
    class Rich(Counting):
        def score(self, shown):
            ones = np.ones(2)
            return [
                Scored(
                    ones.copy(), np.ones((2, 4)), ones.copy(), 1, 1, ones.astype(int), ones.astype(int)
                )
                for _ in shown
            ]

    slate = slate_of("a", "b")
    cached = Cached(Rich(relevance="hash"))
    first, second = cached.score([shown(slate, (0, 1)), shown(slate, (1, 0), 1)])
    for scored in (first, second):
        for name in ("scores", "grades", "label_mass", "truncated", "escaped"):
            getattr(scored, name)[:] = 9
    (third,) = cached.score([shown(slate, (0, 1), 2)])
    for name in ("scores", "grades", "label_mass", "truncated", "escaped"):
        assert (getattr(third, name) == 1).all()


def test_a_scorer_that_loses_rows_is_an_error():
    class Short(Counting):
        def score(self, shown):
            return super().score(shown)[:-1]

    with pytest.raises(ScorerError, match="counting gave 1 results for 2 rows"):
        Cached(Short(relevance="slot")).score(
            [shown(slate_of("a", "b"), order) for order in [(0, 1), (1, 0)]]
        )


def test_no_rows_ask_nothing():
    inner = Counting()
    assert Cached(inner).score([]) == []
    assert inner.asked == []


def test_a_cache_of_nothing_is_refused():
    with pytest.raises(UsageError, match="at least 1, got 0"):
        Cached(Toy(), max_slates=0)


def test_what_records_and_remedies_read_is_the_scorers():
    inner = Counting()
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        Cached(inner).colour  # noqa: B018
    assert not hasattr(Cached(inner), "visibilities")
    inner.visibilities, inner.facts, inner.dtype = frozenset({"isolated"}), {"draws": True}, "float32"
    cached = Cached(inner)
    assert (cached.visibilities, cached.facts, cached.dtype) == (
        {"isolated"},
        {"draws": True},
        "float32",
    )


def test_a_scorer_that_draws_is_asked_in_every_row():
    """What two rows draw must not be shared between them, be their presentations the same."""
    slate = slate_of("a", "b", "c")
    same = [shown(slate, (0, 1, 2), row) for row in (1, 2, 3)]
    for draws, asked in ((False, [1]), (True, [1, 2, 3])):
        inner = Counting(slot_bias=0.2)
        inner.draws = draws
        cached = Cached(inner)
        cached.score(same)
        cached.score(same)
        assert inner.asked == asked
