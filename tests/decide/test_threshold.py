import itertools
import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.decide.threshold import (
    ThresholdConsumer,
    check_threshold,
    cross_fit,
    fit_f1,
    fold_of,
    quantile,
    relevant,
    retained,
)
from evenhand.errors import NothingMeasuredError, UsageError
from evenhand.types import Candidate, Consumer, Decision, Slate

NAN = float("nan")


def slate(ids, grades=None, name="q"):
    return Slate(name, "a query", tuple(Candidate(key, f"text {key}") for key in ids), grades)


def mean_f1(scores, relevance, threshold):
    """Mean set-F1 over slates, set by set."""
    values = []
    for row, wanted in zip(scores, relevance, strict=True):
        keep = {i for i, score in enumerate(row) if score >= threshold}
        hits = {i for i, hit in enumerate(wanted) if hit}
        values.append(2 * len(keep & hits) / (len(keep) + len(hits)) if keep & hits else 0.0)
    return sum(values) / len(values)


def test_retained_is_at_or_above_and_never_missing():
    assert retained([0.5, 0.49, NAN], 0.5).tolist() == [True, False, False]
    assert retained([[1], [0]], 0.5).tolist() == [[True], [False]]


def test_relevant_by_grade():
    graded = slate("abcd", {"a": 2, "b": 1, "c": -1})
    assert relevant(graded).tolist() == [True, True, False, False]
    assert relevant(graded, 2).tolist() == [True, False, False, False]
    assert relevant(slate("ab")) is None
    with pytest.raises(UsageError, match="at least 1"):
        relevant(graded, 0)


def test_f1_by_hand():
    # Kept .9: F1 2/3; .9 .8: 1; .9 .8 .2: .8. Best above .2: the midpoint of .8 and .2.
    assert fit_f1([[0.9, 0.8, 0.2]], [[1, 1, 0]]) == pytest.approx(0.5)
    # Everything is relevant: keep everything, at the lowest score.
    assert fit_f1([[0.9, 0.8, 0.2]], [[1, 1, 1]]) == 0.2
    # All equal: the only threshold there is.
    assert fit_f1([[0.4, 0.4]], [[1, 0]]) == 0.4


def test_equal_f1_takes_the_higher_threshold():
    # Slate 1: F1 1 at .9, then 2/3 from .5. Slate 2: 0 at .9, 2/3 at .5 (one of two), 1 at .1.
    # Means: .5, .6667, .8333 at .1. Without its last candidate: .5 and .6667.
    scores, relevance = [[0.9, 0.5], [0.5, 0.1]], [[1, 0], [1, 1]]
    assert fit_f1(scores, relevance) == 0.1
    # One slate with relevant .9 and .3, three kept: F1 2/3 at .9, 1/2 at .6, 2 * 2 / (3 + 2) at .3.
    assert fit_f1([[0.9, 0.6, 0.3]], [[1, 0, 1]]) == 0.3
    # Relevant .9 and .1 of .9 .6 .3 .1: 2/3, 1/2, 2/5, 2/3. Equal at .9 and .1: midpoint .75.
    assert fit_f1([[0.9, 0.6, 0.3, 0.1]], [[1, 0, 0, 1]]) == pytest.approx(0.75)


graded_slates = st.lists(
    st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=6),
    min_size=1,
    max_size=5,
).filter(lambda slates: any(hit for rows in slates for _, hit in rows))


@settings(max_examples=50, deadline=None)
@given(graded_slates)
def test_f1_equals_trying_every_threshold(slates):
    scores = [[score / 6 for score, _ in rows] for rows in slates]
    relevance = [[hit for _, hit in rows] for rows in slates]
    levels = sorted({score for rows in scores for score in rows})
    tried = [levels[0], *[(a + b) / 2 for a, b in itertools.pairwise(levels)]]
    values = [mean_f1(scores, relevance, t) for t in tried]
    best = max(t for t, value in zip(tried, values, strict=True) if value > max(values) - 1e-9)
    assert fit_f1(scores, relevance) == pytest.approx(best, abs=1e-12)


def test_neighbouring_floats_are_still_told_apart():
    low = 0.3
    high = math.nextafter(low, 1)
    assert fit_f1([[high, low]], [[1, 0]]) == high
    # So far apart that their difference is no float.
    assert fit_f1([[1e308, -1e308]], [[1, 0]]) == 1e308
    assert fit_f1([[0.0, -math.inf]], [[1, 0]]) == 0.0


def test_missing_scores_move_no_threshold_but_stay_relevant():
    # The relevant candidate without a score is never kept: F1 at .9 is 2/3, at .2 it is 1/2.
    assert fit_f1([[0.9, 0.2, NAN]], [[1, 0, 1]]) == pytest.approx(0.55)
    assert fit_f1([[NAN, NAN], [0.9, 0.2]], [[1, 1], [1, 0]]) == pytest.approx(0.55)


def test_f1_refuses_what_it_cannot_fit():
    with pytest.raises(NothingMeasuredError, match="no scored candidate is relevant"):
        fit_f1([[0.1, 0.2]], [[0, 0]])
    with pytest.raises(NothingMeasuredError, match="no score is there"):
        fit_f1([[NAN]], [[1]])
    with pytest.raises(UsageError, match="1 slates of scores, 2 of relevance"):
        fit_f1([[0.1]], [[1], [0]])
    with pytest.raises(UsageError, match="do not match"):
        fit_f1([[0.1, 0.2]], [[1]])


def test_a_thousand_slates_of_a_hundred_take_seconds_at_most():
    rng = np.random.default_rng(0)
    scores = list(rng.random((1000, 100)))
    relevance = [row + rng.normal(0, 0.3, 100) > 0.9 for row in scores]
    start = time.perf_counter()
    found = fit_f1(scores, relevance)
    assert time.perf_counter() - start < 3
    nearby = [mean_f1(scores[:50], relevance[:50], t) for t in (0.2, found, 0.98)]
    assert max(nearby) == nearby[1]


def test_quantile_by_hand():
    # .8 of the way along 0 .. 10 over both slates together.
    assert quantile([[0, 1, 2, 3, 4, NAN], [5, 6, 7, 8, 9, 10]]) == pytest.approx(8.0)
    assert quantile([[0, 10]], 0.5) == 5.0


def test_fixed_thresholds_must_be_in_range():
    assert check_threshold(0.5, [[0.1, NAN], [0.9]]) == 0.5
    assert check_threshold(0.9, [[0.1], [0.9]]) == 0.9
    for outside in (0.91, 0.09, NAN):
        with pytest.raises(UsageError, match=r"outside the observed scores, 0\.1 to 0\.9"):
            check_threshold(outside, [[0.1], [0.9]])
    with pytest.raises(NothingMeasuredError):
        check_threshold(0.5, [])


def test_folds_are_even_and_do_not_depend_on_the_order():
    ids = [f"q{i}" for i in range(21)]
    folds = dict(zip(ids, fold_of(ids), strict=True))
    assert sorted(folds.values()).count(0) == 11
    assert dict(zip(ids[::-1], fold_of(ids[::-1]), strict=True)) == folds
    assert fold_of(ids, seed=1).tolist() != fold_of(ids).tolist()


def test_each_fold_uses_the_threshold_of_the_other():
    # Every slate says the same, apart from a level that tells the folds apart.
    ids = [f"q{i}" for i in range(8)]
    folds = fold_of(ids)
    scores = [np.array([0.9, 0.2]) + 0.01 * fold for fold in folds]
    found = cross_fit(ids, scores, [[1, 0]] * 8)
    # Fold 0 is at .9 and .2, fitted .55, and used by fold 1; fold 1 gives .56.
    assert found.rule == "f1"
    assert found.folds == pytest.approx((0.56, 0.55))
    assert found.thresholds == pytest.approx([(0.56, 0.55)[fold] for fold in folds])
    assert found.fold_of.tolist() == folds.tolist()
    assert found.reason == ""
    back = cross_fit(ids[::-1], scores[::-1], [[1, 0]] * 8)
    np.testing.assert_array_equal(back.thresholds, found.thresholds[::-1])


def test_ungraded_slates_get_a_threshold_and_give_none():
    ids = [f"q{i}" for i in range(8)]
    scores = [[0.9, 0.2]] * 8
    relevance = [[1, 0]] * 8
    whole = cross_fit(ids, scores, relevance)
    part = cross_fit([*ids, "more"], [*scores, [5, 6]], [*relevance, None])
    assert part.rule == whole.rule == "f1"
    assert part.folds == pytest.approx(whole.folds)
    assert len(part.thresholds) == 9


@pytest.mark.parametrize(
    ("relevance", "reason"),
    [
        ([None, None], "no slate has grades"),
        ([[0, 0], [0, 0]], "only 0 of 2 slates hold a scored relevant candidate, and each half"),
        ([[1, 0], None], "only 1 of 2 slates hold a scored relevant candidate, and each half"),
    ],
)
def test_quantile_where_nothing_can_be_fitted(relevance, reason):
    found = cross_fit(["q1", "q2"], [[0, 1], [2, 10]], relevance)
    # 0 1 2 10 at .8: position 2.4, 2 + .4 * 8.
    assert (found.rule, found.folds) == ("quantile", (pytest.approx(5.2),))
    assert found.thresholds == pytest.approx([5.2, 5.2])
    assert reason in found.reason


def test_failed_rows_and_folds_are_told_as_the_reason():
    ids, hits = [f"q{i}" for i in range(4)], [[1, 0]] * 4
    lost = cross_fit(ids, [[0, 1], *[[NAN, NAN]] * 3], hits)
    assert lost.reason == (
        "only 1 of 4 slates hold a scored relevant candidate, and in 3 more the canonical row has no "
        "scores for any"
    )
    fold = cross_fit(ids, [[0, 1]] * 4, hits).fold_of
    one_half = [[1, 0] if own else [0, 0] for own in fold]
    assert cross_fit(ids, [[0, 1]] * 4, one_half).reason == (
        "2 of 4 slates hold a scored relevant candidate, all in one half of them, and each half "
        "needs one"
    )


def test_a_single_slate_uses_the_quantile():
    assert cross_fit(["q"], [[0, 1]], [[0, 1]]).rule == "quantile"


def test_cross_fit_refuses_what_does_not_match():
    with pytest.raises(UsageError, match="1 slate ids, 2 slates of scores and 1 of relevance"):
        cross_fit(["q"], [[1], [2]], [None])
    with pytest.raises(NothingMeasuredError):
        cross_fit(["q"], [[NAN]], [None])


def test_consumer_keeps_ids_in_canonical_order():
    abc = slate("cab")
    keep: Consumer = ThresholdConsumer(0.5)
    scores = np.array([0.5, NAN, 0.7])
    assert keep.decide(abc, scores, 3) == Decision("q", 3, "threshold", ("c", "b"))
    assert keep.decide(abc, np.zeros(3), 0).value == ()
    assert keep.decide(abc, np.full(3, NAN), 0).value is None
    assert ThresholdConsumer({"q": 0.6}).decide(abc, scores, 0).value == ("b",)


def test_consumer_refuses_what_does_not_match():
    with pytest.raises(UsageError, match="2 scores for the 3 candidates of slate 'q'"):
        ThresholdConsumer(0.5).decide(slate("abc"), np.zeros(2), 0)
    with pytest.raises(UsageError, match="no threshold for slate 'q'; there are 1"):
        ThresholdConsumer({"r": 0.5}).decide(slate("abc"), np.zeros(3), 0)
