"""Spread: errors and flips of averages by hand and by simulation; null where there is one order."""

import numpy as np
import pytest
from scipy import stats

from evenhand.remedy import apply
from evenhand.score.toy import Toy
from evenhand.serve.ask import slate_of
from evenhand.serve.spread import Teller, told_average
from evenhand.types import Presentation, Scored, Shown

TOY = Toy(relevance="hash", slot_bias=0.4)


def shown(n=8, query="q", row=0):
    slate = slate_of(query, [f"text {i}" for i in range(n)])
    order = tuple(range(n))
    return Shown(slate, Presentation(order, (order,)), row, "random" if row else "canonical")


def parts(*rows):
    return [Scored(np.array(row, dtype=float)) for row in rows]


def test_standard_errors_of_an_average_by_hand():
    # Two orders, two documents: variances (.1^2)/2 = .005 and (.3^2)/2 = .045, mean .025, mean
    # square .001025; R = .001025 / .000625 / (1 + 2/1) = .5467 < 1, so the prior is one variance,
    # .025, for both: sd .158114, error of the mean of two .111803.
    told = told_average(shown(2), parts([0.2, 0.9], [0.3, 0.6]), "mean", None)
    assert told.scored.scores == pytest.approx([0.25, 0.75])
    assert told.error == pytest.approx([0.111803] * 2, abs=1e-6)
    assert told.flip is None
    assert told.keep is None


def test_flip_probability_of_an_average_by_hand():
    # As above; under 4 documents nothing is assumed of where they lie, so another mean is .25 +
    # t * sqrt(2) * .111803. Degrees of freedom: those of the slate, 2 documents x 1 = 2. Document
    # 0 is .25 under the cut .5: P(t_2 > .25 / .158114 = 1.581139) = .1273.
    told = told_average(shown(2), parts([0.2, 0.9], [0.3, 0.6]), "mean", 0.5)
    by_hand = stats.t.sf(0.25 / (np.sqrt(2) * 0.1118034), 2)
    assert by_hand == pytest.approx(0.1273, abs=1e-4)
    assert told.flip == pytest.approx([by_hand, by_hand], abs=1e-5)
    assert told.keep.tolist() == [False, True]


def test_a_document_that_lacks_one_score_has_nothing():
    told = told_average(shown(3), parts([0.2, np.nan, 0.4], [0.3, 0.5, 0.6]), "mean", 0.3)
    assert np.isnan(told.scored.scores).tolist() == [False, True, False]
    assert np.isnan(told.error).tolist() == [False, True, False]
    assert np.isnan(told.flip).tolist() == [False, True, False]


@pytest.mark.parametrize("fuse", ["mean", "borda", "rrf"])
def test_scores_are_those_of_the_remedy(fuse):
    name = f"average:4,fuse={fuse}"
    (told,) = Teller(TOY, [name]).tell([shown()], [0.5])
    (plain,) = apply(TOY, [name]).score([shown()])
    assert told.scored.scores.tolist() == plain.scores.tolist()
    assert told.scored.prompts == plain.prompts == 4
    assert told.error.min() >= 0


def test_one_order_has_no_spread():
    for remedies in ([], ["interleave"], ["average:1"]):
        (told,) = Teller(TOY, remedies).tell([shown()], [0.5])
        assert told.error is None
        assert told.flip is None
        assert told.keep is not None


def test_an_order_free_scorer_has_no_spread():
    for remedies in (["average:4"], ["adaptive:threshold=0.5"]):
        (told,) = Teller(Toy(relevance="hash"), remedies).tell([shown()], [0.5])
        assert (told.error, told.flip) == (None, None)
        assert told.keep is not None


def test_adaptive_tells_its_own_doubt():
    teller = Teller(TOY, ["adaptive:threshold=0.5"])
    (told,) = teller.tell([shown()], [0.5])
    ((scored, doubt),) = apply(TOY, ["adaptive:threshold=0.5"]).explain([shown()])
    assert told.scored.scores.tolist() == scored.scores.tolist()
    assert told.flip.tolist() == doubt.flip_again.tolist()
    assert told.error.tolist() == doubt.standard_error.tolist()
    assert told.keep.tolist() == doubt.chosen.tolist()
    assert teller.orders == 12


@pytest.mark.parametrize(
    ("k", "n", "fuse", "cut"),
    [
        (4, 20, "mean", 0.3), (2, 20, "mean", 0.3), (8, 20, "mean", 0.3), (4, 6, "mean", 0.3),
        (4, 20, "borda", 0.5), (4, 20, "rrf", 0.0145),
    ],
)  # fmt: skip
def test_flip_probabilities_are_about_what_happens(k, n, fuse, cut):
    # 300 slates: the mean stated probability beside the share of decisions that differ between two
    # independent runs (row 1 draws other orders than row 0), of all and of those called uncertain.
    teller = Teller(TOY, [f"average:{k},fuse={fuse}"])
    runs = [[shown(n, f"q{i}", row=row) for i in range(300)] for row in (0, 1)]
    told, other = (teller.tell(one, [cut] * 300) for one in runs)
    stated = np.concatenate([one.flip for one in told])
    happened = np.concatenate([a.keep != b.keep for a, b in zip(told, other, strict=True)])
    assert happened.mean() > 0.01
    unsure = stated >= 0.1
    assert stated.mean() == pytest.approx(happened.mean(), rel=0.25)
    assert stated[unsure].mean() == pytest.approx(happened[unsure].mean(), rel=0.25)
    assert happened[~unsure].mean() < 0.05


@pytest.mark.parametrize(("k", "n", "fuse"), [(4, 20, "mean"), (2, 20, "mean"), (4, 6, "borda")])
def test_standard_errors_are_those_of_independent_runs(k, n, fuse):
    # Squares of errors stated beside half the squared difference of two runs, both the variance.
    teller = Teller(TOY, [f"average:{k},fuse={fuse}"])
    runs = [[shown(n, f"q{i}", row=row) for i in range(300)] for row in (0, 1)]
    told, other = (teller.tell(one, [None] * 300) for one in runs)
    stated = np.mean([one.error**2 for one in told])
    pairs = zip(told, other, strict=True)
    happened = np.mean([(a.scored.scores - b.scored.scores) ** 2 / 2 for a, b in pairs])
    assert stated == pytest.approx(happened, rel=0.1)


def test_a_decision_of_an_order_free_scorer_is_the_remedys_own():
    for name, kept in (("adaptive:best", 1), ("adaptive:top=3", 3)):
        (told,) = Teller(Toy(relevance="hash"), [name]).tell([shown()], [None])
        assert (told.error, told.flip, int(told.keep.sum())) == (None, None, kept)
        assert np.flatnonzero(told.keep).tolist() == sorted(np.argsort(-told.scored.scores)[:kept])


def test_orders_multiply():
    assert Teller(TOY, ["average:4", "adaptive:best,most=6"]).orders == 24


def test_balanced_orders_say_nothing_of_their_spread():
    (told,) = Teller(TOY, ["average:4,latin=true"]).tell([shown()], [0.5])
    (wanted,) = apply(TOY, ["average:4,latin=true"]).score([shown()])
    assert told.scored.scores.tolist() == wanted.scores.tolist()
    assert told.error is None
    assert told.flip is None
    assert told.keep is not None
