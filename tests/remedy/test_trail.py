import numpy as np
import pytest

from evenhand.remedy.rules import Rule
from evenhand.remedy.spending import looks
from evenhand.remedy.trail import Trail
from evenhand.types import Candidate, Presentation, Scored, Shown, Slate

NAN = float("nan")
ORDERS = (Presentation((0, 1, 2, 3), ((0, 1), (2, 3))), Presentation((2, 0, 1, 3), ((2, 0), (1, 3))))


def trail(*rows, threshold=0.5, most=4, span=None):
    slate = Slate("s", "q", tuple(Candidate(f"c{i}", "t") for i in range(4)))
    made = Trail(Shown(slate, ORDERS[0]), Rule(threshold), looks(2, most, 0.2), span)
    made.begin(ORDERS, [Scored(np.array(row), prompts=2, tokens=9) for row in rows])
    return made


def test_means_and_errors_by_hand():
    # Means .5 .7 .2 .9; variances (ddof 1) .02 .02 .02 0: their mean is .015, and
    # R = .0003 / .000225 / 3 < 1, so all share .015 and the errors are sqrt(.0075).
    made = trail([0.4, 0.6, 0.1, 0.9], [0.6, 0.8, 0.3, 0.9])
    found = made.evidence()
    np.testing.assert_allclose(found.mean, [0.5, 0.7, 0.2, 0.9])
    np.testing.assert_allclose(found.error, np.sqrt(0.0075))
    np.testing.assert_array_equal(found.df, 4)
    # On 4 degrees of freedom the level of the first look (.2 ln(1 + e/2 - 1/2) = .1240) needs
    # |t| > 1.95: .4 / .0866 = 4.62 and -.3 / .0866 = -3.46 are, .2 / .0866 = 2.31 is, 0 is not.
    np.testing.assert_array_equal(made.doubtful(), [0])


def test_a_window_counts_for_the_doubtful_a_whole_order_for_all():
    made = trail([0.4, 0.6, 0.1, 0.9], [0.6, 0.8, 0.3, 0.9])
    window = Presentation((0, 3), ((3, 0),), omitted=(1, 2))
    made.add(window, Scored(np.array([0.8, np.nan, np.nan, 0.1]), prompts=1, tokens=4), np.array([0]))
    np.testing.assert_allclose(made.evidence().mean, [0.6, 0.7, 0.2, 0.9])
    made.add(ORDERS[1], Scored(np.array([0.6, 0.4, 0.2, 0.9]), prompts=2, tokens=9), np.array([0]))
    np.testing.assert_allclose(made.evidence().mean, [0.6, 0.6, 0.2, 0.9])
    np.testing.assert_array_equal(made.evidence().shows, [4, 3, 3, 3])
    scored = made.scored()
    assert (scored.prompts, scored.tokens, scored.failure) == (7, 31, None)


def test_the_last_show_is_the_last():
    made = trail([0.4, 0.6, 0.1, 0.9], [0.6, 0.8, 0.3, 0.9], most=2)
    assert made.doubtful().tolist() == []
    assert not made.settled(made.evidence())[0]


def test_missing_scores_are_neither_doubtful_nor_settled():
    made = trail([0.4, np.nan, 0.1, 0.9], [0.6, 0.8, 0.3, 0.9])
    found = made.evidence()
    np.testing.assert_array_equal(np.isnan(found.mean), [False, True, False, False])
    assert 1 not in made.doubtful()
    assert not made.settled(found)[1]
    assert np.isnan(made.scored().scores[1])


def test_means_are_kept_in_the_span():
    assert trail([1.2] * 4, [1.0] * 4, span=(0.0, 1.0)).scored().scores.tolist() == [1.0] * 4
    assert trail([1.2] * 4, [1.0] * 4).scored().scores.tolist() == pytest.approx([1.1] * 4)


def test_doubt_of_a_top():
    slate = Slate("s", "q", tuple(Candidate(f"c{i}", "t") for i in range(4)))
    made = Trail(Shown(slate, ORDERS[0]), Rule(top=2), looks(2, 4, 0.2))
    made.begin(ORDERS, [Scored(np.array(r)) for r in ([0.4, 0.6, 0.1, 0.9], [0.6, 0.8, 0.3, 0.9])])
    doubt = made.doubt(np.random.default_rng(0))
    np.testing.assert_array_equal(doubt.chosen, [False, True, False, True])
    # Candidates 0 and 1 stand at the boundary, further apart than 2 from it and than 3.
    assert min(doubt.flip_again[:2]) > max(doubt.flip_again[2:])
    assert min(doubt.flip_single[:2]) > min(doubt.flip_again[:2])


def test_what_is_said_of_whole_answers_stands():
    # A ranking that was repaired has all scores, and a remark; a companion's failure is no one's.
    made = trail([0.4, 0.6, 0.1, 0.9], [0.6, 0.8, 0.3, 0.9])
    window = Presentation((0, 3), ((3, 0),), omitted=(1, 2))
    lost = Scored(np.array([0.8, NAN, NAN, NAN]), prompts=1, failure="a companion broke")
    made.add(window, lost, np.array([0]))
    assert made.scored().failure is None
    whole = Scored(np.array([0.8, NAN, NAN, 0.9]), prompts=1, failure="repaired: 1")
    made.add(window, whole, np.array([0]))
    assert made.scored().failure == "repaired: 1"
