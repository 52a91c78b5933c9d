import math

import numpy as np
import pytest

from evenhand.decide.advice import TradeOff
from evenhand.decide.advisor import SlateScores, _regions, advise, cuts, density
from evenhand.decide.threshold import fit_f1
from evenhand.errors import NothingMeasuredError, UsageError
from evenhand.measure import decision


def a_slate(key="q", canonical=(0.9, 0.6, 0.3, 0.1), random=None, relevance=(1, 1, 0, 0), **more):
    canonical = np.array(canonical)
    random = np.tile(canonical, (3, 1)) if random is None else np.array(random)
    hits = None if relevance is None else np.array(relevance, dtype=bool)
    return SlateScores(key, canonical, random, hits, **more)


def test_cuts_stand_between_scores():
    rows = [np.array([0.1, 0.5, np.nan]), np.array([0.5, 0.9])]
    np.testing.assert_allclose(cuts(rows, 10), [0.3, 0.7])
    assert len(cuts([np.array([0.5, 0.5])], 10)) == 0
    # 100 scores have 99 cuts; 5 of them, both ends included
    few = cuts([np.arange(100.0)], 5)
    np.testing.assert_allclose(few, [0.5, 24.5, 49.5, 73.5, 98.5], atol=1)
    with pytest.raises(NothingMeasuredError):
        cuts([np.array([np.nan])], 10)


def test_density_counts_what_is_near():
    scores = np.array([0.0, 0.1, 0.2, 0.9, np.nan])
    # within .15 of .1: three of four; of .5: none; of .8: .9
    np.testing.assert_allclose(density(scores, np.array([0.1, 0.5, 0.8]), 0.15), [0.75, 0, 0.25])
    assert np.isnan(density(np.array([np.nan]), np.array([0.1]), 0.1)).all()


def test_the_curve_by_hand():
    # the lower two swap sides of .45 in the second row
    random = [[0.9, 0.6, 0.3, 0.1], [0.9, 0.3, 0.6, 0.1]]
    found = advise([a_slate(random=random)], floor=0.0, most=0.99)
    # cuts .2 .45 .75
    np.testing.assert_allclose(found.curve.threshold, [0.2, 0.45, 0.75])
    # F1: keep 3 of which 2 relevant: 4/5; keep 2: 1; keep 1: 2/3
    np.testing.assert_allclose(found.curve.f1, [0.8, 1, 2 / 3])
    # sets at .45: {0,1} and {0,2}: 1/3
    np.testing.assert_allclose(found.curve.overlap, [1, 1 / 3, 1])
    np.testing.assert_allclose(found.curve.retained, [0.75, 0.5, 0.25])
    # sd over two rows: 0, .3/sqrt(2), .3/sqrt(2), 0
    assert found.bandwidth == pytest.approx(0.15 / 2**0.5)
    assert found.threshold == pytest.approx(0.45)
    # under a floor the best steady cut is taken: F1 .8
    assert advise([a_slate(random=random)], floor=0.5, most=0.99).threshold == pytest.approx(0.2)


def test_agrees_with_the_f1_fit_and_the_measures():
    rng = np.random.default_rng(3)
    slates = []
    for key in range(12):
        hits = rng.random(8) < 0.4
        base = rng.random(8) * 0.6 + hits * 0.4
        slates.append(a_slate(f"q{key}", base, base + rng.normal(0, 0.05, (5, 8)), hits))
    found = advise(slates, floor=0.0, most=0.999, points=1000)
    fitted = fit_f1([one.canonical for one in slates], [one.relevance for one in slates])
    assert found.threshold == pytest.approx(fitted)
    at = found.index
    kept = [decision.retained_sets(one.random, found.threshold) for one in slates]
    assert found.curve.overlap[at] == pytest.approx(np.mean([decision.overlap(one) for one in kept]))
    assert found.curve.overlap_without_empty[at] == pytest.approx(
        np.nanmean([decision.overlap_without_empty(one) for one in kept])
    )
    # read on the other half of the slates it is not above what it was picked for
    assert 0 < found.held_out_f1 <= found.curve.f1[at] + 1e-12


def test_refuses_keep_all_and_keep_none():
    constant = advise([a_slate(canonical=(0.5, 0.5), relevance=(1, 0))])
    assert constant.threshold is None
    assert "all scores are equal" in constant.reason
    # two candidates of one slate: the only cut keeps one half, more than `most`
    high = advise([a_slate(canonical=(0.9, 0.1), relevance=(1, 1))], most=0.4)
    assert (high.threshold, high.index) == (None, None)
    assert "more than 40%" in high.reason
    # the random rows keep nothing at the cut
    low = advise([a_slate(canonical=(0.9, 0.1), relevance=(1, 0), random=np.zeros((2, 2)))])
    assert low.threshold is None
    assert "none" in low.to_text()


def test_no_cut_is_steady_enough():
    random = [[0.9, 0.1], [0.1, 0.9]]
    found = advise([a_slate(canonical=(0.9, 0.1), relevance=(1, 0), random=random)], floor=0.5)
    assert found.threshold is None
    assert "no cut reaches an overlap of 0.500" in found.reason
    assert "steadiest has 0.000" in found.reason
    alone = advise([a_slate(canonical=(0.9, 0.1), relevance=(1, 0), random=[[0.9, 0.1]])])
    assert "two random rows" in alone.reason


def test_without_grades_the_sparsest_cut():
    # a gap between .3 and .7; scores move by .02
    base = np.array([0.1, 0.15, 0.2, 0.25, 0.3, 0.7, 0.75, 0.8])
    moved = np.array([base - 0.02, base + 0.02])
    found = advise([a_slate(canonical=base, random=moved, relevance=None)])
    assert found.threshold == pytest.approx(0.5)
    assert math.isnan(found.held_out_f1)
    assert "no grades" in found.reason
    assert found.regions[0].low <= 0.5 <= found.regions[0].high
    assert found.regions[0].density == 0


def test_text_shows_the_pick_and_the_curve():
    slates = [a_slate(f"q{i}", np.linspace(0, 1, 40), relevance=np.arange(40) > 29) for i in range(4)]
    found = advise(slates, revision="r+s")
    text = found.to_text(lines=6)
    assert text.splitlines()[0].startswith(f"advised threshold: {found.threshold:.6g} (")
    marked = [line for line in text.splitlines() if line.startswith("*")]
    assert len(marked) == 1
    assert "1.000" in marked[0]
    assert sum(line.startswith(("*", "  0")) for line in text.splitlines()) <= 6 + 1 + 5
    assert found.revision == "r+s"


@pytest.mark.parametrize("wrong", [{"floor": 1.1}, {"most": 1.0}, {"most": 0.0}, {"points": 0}])
def test_wrong_settings(wrong):
    with pytest.raises(UsageError, match=f"{next(iter(wrong))} must"):
        advise([a_slate()], **wrong)


def test_an_end_of_the_allowed_range_on_a_slope_is_no_sparse_region():
    curve = TradeOff(*[np.arange(6.0)] * 5, np.array([0.1, 0.2, 0.4, 0.3, 0.35, 0.2]))
    # rising from the left end: the first allowed cut (1) is no valley; 3 is one
    allowed = np.array([False, True, True, True, True, True])
    assert [(one.low, one.high) for one in _regions(curve, allowed, 5)] == [(3, 3)]
    # a valley that is not allowed is not named, and its neighbour does not take its place
    allowed[3] = False
    assert _regions(curve, allowed, 5) == ()


def test_keeping_everything_stands_beside_the_advice():
    # one of three is relevant: keeping all three has F1 2*1/(3+1) = .5
    rows = np.array([[0.9, 0.2, 0.1]] * 4)
    slates = [SlateScores(f"q{i}", rows[0], rows, np.array([True, False, False])) for i in range(4)]
    found = advise(slates)
    assert found.keep_all_f1 == pytest.approx(0.5)
    assert "F1 of keeping everything: 0.500" in found.to_text()
    assert "no better than keeping everything" not in found.to_text()
    backwards = [SlateScores(f"q{i}", rows[0], rows, np.array([False, False, True])) for i in range(4)]
    assert "no better than keeping everything" in advise(backwards).to_text()


def test_no_relevant_candidate_is_no_advice():
    # With nothing relevant every threshold has F1 0: the sparsest would be advised on nothing.
    with pytest.raises(UsageError, match="no candidate of the 2 slates with grades is relevant"):
        advise([a_slate("a", relevance=(0, 0, 0, 0)), a_slate("b", relevance=(0, 0, 0, 0))])
    # One relevant candidate of one slate, or no grades at all, is another matter.
    assert advise([a_slate("a", relevance=(0, 0, 0, 0)), a_slate("b")]).curve.f1.max() > 0
    assert np.isnan(advise([a_slate(relevance=None)]).curve.f1).all()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: advise(None), "slates must be a list of SlateScores"),
        (lambda: advise([1]), "slates must hold SlateScores, got 1"),
        (lambda: advise([a_slate()], floor="x"), "floor must be a finite number, got 'x'"),
        (lambda: advise([a_slate()], floor=float("nan")), "floor must be a finite number, got nan"),
        (lambda: advise([a_slate()], most=None), "most must lie between 0 and 1, got None"),
        (lambda: advise([a_slate()], points=2.5), "points must be at least 1, a whole number, got 2.5"),
        (lambda: advise([a_slate()], regions="x"), "regions must be at least 0"),
        (lambda: advise([a_slate()], seed=None), "seed must be a whole number"),
        (lambda: a_slate(canonical=("a", "b")), "canonical scores must be numbers"),
        (lambda: a_slate(relevance=(1, 0)), r"relevance of shape \(2,\)"),
        (lambda: advise([a_slate()]).to_text(lines=1.5), "lines must be at least 1"),
        (lambda: cuts([np.array([1.0, 2.0])], None), "points must be at least 1"),
    ],
)
def test_wrong_kinds_are_refused_by_name(call, said):
    with pytest.raises(UsageError, match=said):
        call()


def test_no_slate_is_nothing_measured():
    with pytest.raises(NothingMeasuredError, match="no slate"):
        advise([])


def test_a_failed_canonical_row_is_left_out_of_f1():
    lost = [
        a_slate(f"lost{i}", canonical=(np.nan,) * 4, random=[[0.9, 0.6, 0.3, 0.1]] * 3) for i in (1, 2)
    ]
    whole, part = advise([a_slate()]), advise([a_slate(), *lost])
    # Counted as 0 the mean would be a third of it.
    np.testing.assert_allclose(part.curve.f1, whole.curve.f1)
    assert part.keep_all_f1 == whole.keep_all_f1
    assert (part.slates, part.lost, whole.lost) == (3, 2, 0)
    assert "2 of 3 slates without a canonical row, left out of F1" in part.to_text()
    assert "without a canonical row" not in whole.to_text()


def test_a_sparse_place_of_one_cut_has_no_width():
    base = np.array([0.1, 0.15, 0.2, 0.25, 0.3, 0.7, 0.75, 0.8])
    found = advise([a_slate(canonical=base, random=[base - 0.02, base + 0.02], relevance=None)])
    assert "  at 0.5: density 0.0000" in found.to_text()
    assert " 0.5 to 0.5" not in found.to_text()
