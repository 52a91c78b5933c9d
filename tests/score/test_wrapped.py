import asyncio

import numpy as np
import pytest

from evenhand.errors import ScorerError, UsageError
from evenhand.score.wrapped import pairwise
from evenhand.types import Candidate, Presentation, Scorer, Shown, Slate


def shown(texts, *windows):
    cut = windows or (tuple(range(len(texts))),)
    slate = Slate("s", "q", tuple(Candidate(f"c{i}", text) for i, text in enumerate(texts)))
    return Shown(slate, Presentation(tuple(i for window in cut for i in window), cut))


def longer(query, a, b):
    return 0.9 if len(a) > len(b) else 0.1 if len(a) < len(b) else 0.5


def first(query, a, b):
    return True


def scores(f, item, **options):
    (scored,) = pairwise(f, **options).score([item])
    return scored


def test_wins_are_counted_not_probabilities():
    # bbb beats both others, cc one, a none: of two others 2/2, 1/2, 0.
    scored = scores(longer, shown(["a", "bbb", "cc"]))
    np.testing.assert_array_equal(scored.scores, [0, 1, 0.5])
    # 3 pairs, both ways round.
    assert (scored.prompts, scored.tokens, scored.failure) == (6, 0, None)


def test_a_judge_that_favours_a_place_gives_ties():
    scored = scores(first, shown(["a", "bbb", "cc"]))
    np.testing.assert_array_equal(scored.scores, [0.5, 0.5, 0.5])


def test_half_a_point_where_the_orders_disagree():
    def odd(query, a, b):
        """x beats y shown first and loses to it shown second; all else by length."""
        return "a" if {a, b} == {"x", "y"} else longer(query, a, b)

    # x and y half each; both lose to zz: 0.25, 0.25, 1.
    np.testing.assert_array_equal(scores(odd, shown(["x", "y", "zz"])).scores, [0.25, 0.25, 1])


def test_the_order_inside_a_window_moves_nothing():
    texts = ["a", "bbb", "cc", "dddd", "e"]
    expected = scores(longer, shown(texts)).scores
    for order in ((4, 3, 2, 1, 0), (2, 0, 4, 1, 3)):
        np.testing.assert_array_equal(scores(longer, shown(texts, order)).scores, expected)
    # a and e are tied and lose to the others: (0 + 0 + 0 + 1/2) / 4.
    np.testing.assert_array_equal(expected, [0.125, 0.75, 0.5, 1, 0.125])


def test_windows_meet_nobody_else_and_one_alone_has_half():
    scored = scores(longer, shown(["a", "bbb", "cc"], (0, 2), (1,)))
    np.testing.assert_array_equal(scored.scores, [0, 0.5, 1])
    assert scored.prompts == 2


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("a", 1.0),
        (" B ", 0.0),
        ("tie", 0.5),
        (True, 1.0),
        (False, 0.0),
        (0.51, 1.0),
        (np.float32(0.2), 0.0),
        (np.array(0.5), 0.5),
        (0, 0.0),
    ],
)
def test_what_a_judge_may_say(answer, expected):
    other = {0.0: 1.0, 1.0: 0.0, 0.5: 0.5}[expected]
    scored = scores(lambda query, a, b: answer if a == "x" else other, shown(["x", "y"]))
    np.testing.assert_array_equal(scored.scores, [expected, 1 - expected])


@pytest.mark.parametrize(
    "answer", ["c", "", 1.5, -0.1, [1], object(), 10**400, 1j, np.array([0.1, 0.9])]
)
def test_no_preference_at_all_is_an_error(answer):
    with pytest.raises(ScorerError, match="a judge returns the probability"):
        scores(lambda query, a, b: answer, shown(["x", "y"]))


@pytest.mark.parametrize("answer", [None, float("nan")])
def test_no_answer_leaves_both_without_a_score(answer):
    scored = scores(
        lambda query, a, b: answer if (a, b) == ("cc", "a") else longer(query, a, b),
        shown(["a", "bbb", "cc"]),
    )
    np.testing.assert_array_equal(scored.scores, [np.nan, 1, np.nan])
    assert (
        scored.failure == "1 pairs without preference, 2 candidates missing: the judge gave no answer"
    )
    assert scored.prompts == 6


def broken(query, a, b):
    raise TimeoutError("too slow")


async def broken_async(query, a, b):
    raise TimeoutError("too slow")


@pytest.mark.parametrize("f", [broken, broken_async])
def test_a_judge_that_raises(f):
    scored = scores(f, shown(["a", "b"]))
    assert np.isnan(scored.scores).all()
    assert scored.failure.endswith("the judge raised TimeoutError: too slow")


def test_a_coroutine_function_eight_at_a_time():
    open_now, most = 0, 0

    async def judge(query, a, b):
        nonlocal open_now, most
        open_now += 1
        most = max(most, open_now)
        await asyncio.sleep(0.001)
        open_now -= 1
        return longer(query, a, b)

    scored = scores(judge, shown(["a", "bbb", "cc", "dddd"]))
    np.testing.assert_allclose(scored.scores, [0, 2 / 3, 1 / 3, 1])
    assert most == 8

    async def inside():
        return scores(judge, shown(["a", "bbb"])).scores

    np.testing.assert_array_equal(asyncio.run(inside()), [0, 1])


def test_what_it_declares():
    scorer = pairwise(longer, max_window=4)
    assert isinstance(scorer, Scorer)
    assert (scorer.name, scorer.scale, scorer.order_free) == ("longer", "unit", False)
    assert (scorer.max_window, scorer.default_window, scorer.unseen) == (4, 4, ())
    assert scorer.revision == pairwise(longer).revision != pairwise(first).revision
    assert pairwise(longer, name="n", revision="2").revision == "pairs 2"
    with pytest.raises(ScorerError, match="a window of 5 .* at most 4"):
        scorer.score([shown(["a", "b", "c", "d", "e"])])


@pytest.mark.parametrize(
    ("f", "options", "said"),
    [
        ("gpt", {}, "a judge is a function"),
        (lambda query, texts: 1, {}, "cannot be called as f"),
        (longer, {"max_window": 0}, "max_window must be at least 1"),
    ],
)
def test_refused(f, options, said):
    with pytest.raises(UsageError, match=said):
        pairwise(f, **options)
