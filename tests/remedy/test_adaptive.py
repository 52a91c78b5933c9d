import numpy as np
import pytest

from evenhand.errors import UsageError
from evenhand.remedy import parse
from evenhand.remedy.adaptive import adaptive
from evenhand.score.toy import Toy
from evenhand.seeds import generator
from evenhand.types import Candidate, Presentation, Scored, Shown, Slate, Surface


def slate(n, name="s"):
    return Slate(name, f"query {name}", tuple(Candidate(f"c{i}", f"text {i}") for i in range(n)))


def show(one, width, row=0, kind="canonical", omitted=()):
    order = tuple(i for i in range(len(one)) if i not in omitted)
    windows = tuple(order[at : at + width] for at in range(0, len(order), width))
    return Shown(one, Presentation(order, windows, omitted=omitted), row, kind)


class Asked:
    """Scores by a function of (Shown, call number), and remembers what it was asked."""

    name, revision, scale, order_free = "asked", "1", "raw", False
    channels = frozenset({"order", "companions", "window"})
    max_window = default_window = None
    surface = Surface()

    def __init__(self, function, scale="raw"):
        self.function, self.calls, self.scale = function, [], scale

    def score(self, shown):
        self.calls.append(list(shown))
        return [self._one(one) for one in shown]

    def _one(self, one):
        scores = np.asarray(self.function(one, len(self.calls)), dtype=float)
        scores = np.where(one.presentation.included(), scores, np.nan)
        windows = len(one.presentation.windows)
        reason = "it broke" if np.isnan(scores[list(one.presentation.order)]).any() else None
        return Scored(scores, prompts=windows, tokens=7 * windows, failure=reason)


def noisy(means, sd):
    """Independent noise by call and candidate; nothing depends on order."""

    def function(one, call):
        drawn = generator(call, one.slate.id, f"noise {one.presentation.order}")
        return np.array(means) + sd * drawn.standard_normal(len(means))

    return function


# Options


def test_spec_and_name():
    assert parse("adaptive:threshold=.5") == adaptive(threshold=0.5)
    assert parse("adaptive:best") == adaptive(top=1)
    assert parse("adaptive:top=10,first=3,most=20,alpha=.1,share=0,seed=4").name == (
        "adaptive:top=10,first=3,most=20,alpha=0.1,share=0"
    )
    for text in ("adaptive:threshold=0.5", "adaptive:best", "adaptive:top=3,most=6"):
        assert parse(text).name == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("adaptive", "one of threshold=T, top=K"),
        ("adaptive:0.5", "unknown decision 0.5"),
        ("adaptive:worst", "unknown decision 'worst'"),
        ("adaptive:threshold=.5,top=3", "one of threshold=T, top=K.* got threshold=0.5 and top=3"),
        ("adaptive:best,top=3", "best is top=1"),
        ("adaptive:best,threshold=.5", "one of threshold=T, top=K"),
        ("adaptive:best,first=1", "first must be at least 2, got 1; one order says nothing"),
        ("adaptive:best,first=4,most=3", r"most must be at least first \(4\), got 3"),
        ("adaptive:best,most=101", "most must be at most 100, got 101"),
        ("adaptive:best,alpha=0", "alpha must be at least 1e-12 and under 1, got 0"),
        ("adaptive:best,alpha=high", "alpha must be at least 1e-12 and under 1, got 'high'"),
        ("adaptive:best,share=1.5", "share must lie from 0 to 1, got 1.5"),
        ("adaptive:best,seed=x", "seed must be a whole number"),
        ("adaptive:top=0", "top must be at least 1"),
        ("adaptive:best,orders=3", "unknown option 'orders'"),
    ],
)
def test_refused(text, message):
    with pytest.raises(UsageError, match=message):
        parse(text)


def test_threshold_outside_a_unit_scale_is_refused():
    with pytest.raises(UsageError, match=r"threshold 1.5 is outside the scores of asked"):
        adaptive(threshold=1.5)(Asked(noisy([0.5], 0), scale="unit"))
    # Other scales have no bounds: everything is settled on one side.
    scorer = adaptive(threshold=99)(Asked(noisy([0.5, 0.1], 0.1)))
    ((scored, doubt),) = scorer.explain([show(slate(2), 2)])
    assert scored.prompts == 2
    assert doubt.settled.all()
    assert not doubt.chosen.any()


# Who is shown again, and at what cost


def test_settled_candidates_leave_and_the_cost_is_true():
    # 40 candidates in 4 windows, one at the threshold, the others 50 sd away.
    means = [0.5] + [0.0] * 39
    inner = Asked(noisy(means, 0.01))
    remedy = adaptive(threshold=0.5, first=3, most=8, alpha=1e-6)
    ((scored, doubt),) = remedy(inner).explain([show(slate(40), 10)])
    # Three whole orders of 4 windows, five looks of one window with 9 companions each.
    assert [len(one.presentation.windows) for call in inner.calls for one in call] == [4] * 3 + [1] * 5
    assert (scored.prompts, scored.tokens) == (17, 7 * 17)
    assert all(0 in call[0].presentation.order for call in inner.calls)
    assert len(inner.calls[-1][0].presentation.order) == 10
    np.testing.assert_array_equal(doubt.shows, [8] + [3] * 39)
    np.testing.assert_array_equal(doubt.settled, [False] + [True] * 39)
    # Companions are no observation: their mean is that of the first three orders.
    first = np.array([noisy(means, 0.01)(one, 1) for one in inner.calls[0]])
    np.testing.assert_allclose(scored.scores[1:], first.mean(axis=0)[1:])


def test_one_inner_call_a_look_for_all_slates():
    inner = Asked(noisy([0.5] * 4, 0.1))
    adaptive(threshold=0.5, most=4, alpha=1e-9)(inner).score(
        [show(slate(4, name), 2) for name in ("a", "b", "c")]
    )
    assert [len(call) for call in inner.calls] == [6, 3, 3]


def test_a_whole_order_counts_for_all():
    # One window: all are shown in every look, and all scores count.
    inner = Asked(noisy([0.5, 0.0, 1.0], 0.1))
    ((scored, doubt),) = adaptive(threshold=0.5, most=5, alpha=1e-9)(inner).explain([show(slate(3), 3)])
    np.testing.assert_array_equal(doubt.shows, [5, 5, 5])
    seen = np.array(
        [noisy([0.5, 0.0, 1.0], 0.1)(one, 1 + i) for i, call in enumerate(inner.calls) for one in call]
    )
    np.testing.assert_allclose(scored.scores, seen.mean(axis=0))


def test_order_free_scorers_pass_through():
    toy, shown = Toy(relevance="hash"), [show(slate(5), 2)]
    assert toy.order_free
    remedied = adaptive(threshold=0.5)(toy)
    ((scored, doubt),) = remedied.explain(shown)
    (plain,) = toy.score(shown)
    for got in (scored, remedied.score(shown)[0]):
        np.testing.assert_array_equal(got.scores, plain.scores)
        assert (got.prompts, got.tokens) == (plain.prompts, plain.tokens)
    np.testing.assert_array_equal(doubt.flip_again, 0)
    np.testing.assert_array_equal(doubt.shows, 1)
    assert doubt.settled.all()


def test_score_and_explain_agree_and_repeat_shares_draws():
    remedied = adaptive(top=3)(Toy(relevance="hash", slot_bias=0.2))
    one = slate(12)
    shown = [show(one, 4), show(one, 4, 1, "random"), show(one, 4, 2, "repeat")]
    plain, explained = remedied.score(shown), remedied.explain(shown)
    for a, (b, doubt) in zip(plain, explained, strict=True):
        np.testing.assert_array_equal(a.scores, b.scores)
        np.testing.assert_array_equal(b.scores, doubt.mean)
    np.testing.assert_array_equal(plain[0].scores, plain[2].scores)
    assert (plain[0].scores != plain[1].scores).any()


# Edges


@pytest.mark.parametrize("text", ["adaptive:threshold=.5", "adaptive:top=3", "adaptive:best"])
@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_small_slates(text, n):
    toy = Toy(relevance="hash", slot_bias=0.5, noise=0.1)
    ((scored, doubt),) = parse(text)(toy).explain([show(slate(n), 4)])
    assert scored.scores.shape == doubt.mean.shape == (n,)
    assert not np.isnan(scored.scores).any()
    if n:
        assert 2 <= scored.prompts <= 12
    if "top" in text:
        # All of up to 3 are in the top 3: nothing is in doubt.
        assert doubt.settled.all()
        assert doubt.chosen.all()
        np.testing.assert_array_equal(doubt.flip_single, 0)


@pytest.mark.parametrize("value", [0.5, 0.2])
def test_equal_scores_without_noise_are_settled(value):
    ((scored, doubt),) = adaptive(threshold=0.5)(Asked(noisy([value] * 6, 0))).explain(
        [show(slate(6), 3)]
    )
    np.testing.assert_array_equal(scored.scores, value)
    # At the threshold is kept.
    assert doubt.chosen.tolist() == [value >= 0.5] * 6
    assert doubt.settled.all()
    np.testing.assert_array_equal(doubt.flip_again, 0)


def test_a_place_is_not_settled_for_nothing():
    # The score is the slot alone: all true means are .55, and every decision is a coin.
    remedied = adaptive(threshold=0.55)(Toy(relevance="slot"))
    explained = remedied.explain([show(slate(20, f"s{i}"), 10) for i in range(20)])
    assert np.mean([scored.prompts / 2 for scored, _ in explained]) > 11
    # At most alpha = .3 of the candidates are ever called settled.
    assert np.mean([doubt.settled.mean() for _, doubt in explained]) < 0.33
    assert np.mean([doubt.flip_again.mean() for _, doubt in explained]) > 0.38


def test_two_orders_that_look_alike_do_not_settle_two_candidates():
    # Two candidates have two orders: both are shown, so the slot effect is seen.
    remedied = adaptive(threshold=0.6, most=3)(Toy(relevance="slot"))
    for i in range(10):
        ((scored, doubt),) = remedied.explain([show(slate(2, f"s{i}"), 2)])
        assert scored.prompts == 3
        assert (doubt.standard_error > 0.1).all()


def test_a_failed_order_is_missing_and_never_settled():
    def function(one, call):
        return np.full(6, np.nan) if one.slate.id == "bad" else noisy([0.5] * 6, 0.1)(one, call)

    inner = Asked(function)
    good, bad = (
        adaptive(threshold=0.5, most=4)
        .__call__(inner)
        .explain([show(slate(6, "good"), 3), show(slate(6, "bad"), 3)])
    )
    assert np.isnan(bad[0].scores).all()
    assert (bad[0].failure, bad[0].prompts) == ("it broke", 4)
    assert not bad[1].settled.any()
    assert np.isnan(bad[1].flip_again).all()
    assert np.isnan(bad[1].standard_error).all()
    assert not np.isnan(good[0].scores).any()
    assert good[0].failure is None


def test_a_failure_in_a_later_look_is_missing_for_the_doubtful_alone():
    def function(one, call):
        scores = noisy([0.5] + [0.0] * 19, 0.01)(one, call)
        return np.full(20, np.nan) if call > 2 else scores

    ((scored, doubt),) = adaptive(threshold=0.5, alpha=1e-6)(Asked(function)).explain(
        [show(slate(20), 5)]
    )
    np.testing.assert_array_equal(np.isnan(scored.scores), [True] + [False] * 19)
    np.testing.assert_array_equal(doubt.settled, [False] + [True] * 19)
    assert scored.failure == "it broke"


def test_a_companion_that_fails_does_not_count():
    def function(one, call):
        scores = noisy([0.5] + [0.0] * 19, 0.01)(one, call)
        if call > 1:
            scores[1:] = np.nan
        return scores

    (scored,) = adaptive(threshold=0.5, alpha=1e-6)(Asked(function)).score([show(slate(20), 5)])
    assert not np.isnan(scored.scores).any()
    assert scored.failure is None


def test_omitted_candidates_are_neither_shown_nor_missing():
    inner = Asked(noisy([0.5] * 8, 0.1))
    ((scored, doubt),) = adaptive(top=2)(inner).explain([show(slate(8), 4, omitted=(3, 7))])
    assert {i for call in inner.calls for one in call for i in one.presentation.order} == {
        0,
        1,
        2,
        4,
        5,
        6,
    }
    np.testing.assert_array_equal(np.isnan(scored.scores), [i in (3, 7) for i in range(8)])
    assert scored.failure is None
    assert doubt.chosen.sum() == 2
    np.testing.assert_array_equal(doubt.shows[[3, 7]], 0)


def test_scores_stay_on_a_unit_scale():
    # Company is good for some of them: set to average company, 1 would become more than 1.
    def function(one, call):
        window = one.presentation.window_of()
        best = np.linspace(0, 1, 30)
        mean = np.array([best[window == w].mean() for w in window])
        return np.clip(best + 0.5 - mean, 0, 1)

    (scored,) = adaptive(threshold=0.5)(Asked(function, "unit")).score([show(slate(30), 5)])
    assert scored.scores.min() >= 0
    assert scored.scores.max() <= 1
