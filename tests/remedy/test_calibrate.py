import math

import numpy as np
import pytest

from evenhand.errors import UsageError
from evenhand.remedy.calibrate import calibrate, calibrated, corrected
from evenhand.score.function import scorer
from evenhand.score.toy import Toy
from evenhand.types import Candidate, Presentation, Scored, Shown, Slate

NAN = float("nan")


def row(*values):
    return np.array([values], dtype=float)


def test_the_prior_is_taken_out_in_proportion_to_doubt():
    # p = .5 .5: a = ln 2 = .6931; .5 - .6931 (.75 - .5) = .3267 and .5 + .1733 = .6733, sum 1.
    found = corrected(row(0.5, 0.5), row(0.75, 0.25))
    np.testing.assert_allclose(found, row(0.5 - math.log(2) / 4, 0.5 + math.log(2) / 4))


def test_what_falls_under_zero_is_clipped_and_the_rest_normalised():
    # p = .97 .01 .01 .01: a = -.97 ln .97 - .03 ln .01 = .029546 + .138155 = .167701.
    # probe .1 .7 .1 .1: .97 + .15 a = .995155; .01 - .45 a = -.065465 -> 0; .01 + .15 a = .035155.
    # Sum .995155 + 2 * .035155 = 1.065465.
    found = corrected(row(0.97, 0.01, 0.01, 0.01), row(0.1, 0.7, 0.1, 0.1))
    np.testing.assert_allclose(found, row(0.934010, 0, 0.032995, 0.032995), atol=1e-6)


def test_no_prior_and_no_doubt_change_nothing():
    flat, sure = row(0.25, 0.25, 0.25, 0.25), row(0, 0, 1, 0)
    np.testing.assert_allclose(corrected(row(0.1, 0.2, 0.3, 0.4), flat), row(0.1, 0.2, 0.3, 0.4))
    # Entropy 0 with 0 ln 0 = 0.
    np.testing.assert_array_equal(corrected(sure, row(0.7, 0.1, 0.1, 0.1)), sure)


def test_missing_grades_stay_missing():
    found = corrected(np.array([[NAN, 0.5], [0.5, 0.5]]), np.array([[0.5, 0.5], [0.5, 0.5]]))
    np.testing.assert_array_equal(found, [[NAN, NAN], [0.5, 0.5]])


def test_something_is_always_left_of_probabilities():
    rng = np.random.default_rng(0)
    p, probe = rng.dirichlet([0.2] * 4, 500), rng.dirichlet([0.2] * 4, 500)
    np.testing.assert_allclose(corrected(p, probe).sum(axis=1), 1)


def test_of_numbers_that_are_none_nothing_may_be_left():
    # All .1 under a probe of all 1: a = 4 * .1 ln 10 = .921; .1 - .921 * .75 < 0 everywhere.
    assert np.isnan(corrected(row(0.1, 0.1, 0.1, 0.1), row(1, 1, 1, 1))).all()


def test_each_candidate_is_corrected_by_the_probe_at_its_slot(grader, show):
    one = show((2, 0, 1, 5, 4, 3), width=4)
    (found,) = calibrate()(grader()).score([one])
    (plain,) = grader().score([one])
    steps = np.exp(0.5 * np.arange(4)[:, None] * np.arange(4))
    priors = steps / steps.sum(axis=1, keepdims=True)
    slots = one.presentation.slots()
    expected = np.array([corrected(plain.grades[[i]], priors[[slots[i]]])[0] for i in range(6)])
    np.testing.assert_allclose(found.grades, expected, rtol=1e-12)
    np.testing.assert_allclose(found.scores, expected @ np.arange(4) / 3, rtol=1e-12)
    np.testing.assert_array_equal(found.label_mass, plain.label_mass)
    np.testing.assert_array_equal(found.truncated, plain.truncated)


def test_a_slot_only_scorer_spreads_less_over_its_slots(grader, show, make_slate):
    same = Slate("s", "q", tuple(Candidate(f"c{i}", "0") for i in range(6)))
    (plain,) = grader().score([show(slate=same)])
    (found,) = calibrate()(grader()).score([show(slate=same)])
    assert np.ptp(found.scores) < 0.8 * np.ptp(plain.scores)


def test_the_first_that_needs_a_probe_pays_for_it(grader, show):
    inner = grader()
    made = calibrate()(inner)
    # Windows of 4 and 2: two probes, 10 tokens each, beside two windows.
    costs = [(s.prompts, s.tokens) for s in made.score([show(width=4), show((1, 0, 2, 3, 4, 5), 4, 1)])]
    assert costs == [(4, 40), (2, 20)]
    (again,) = made.score([show(width=4, row=2, kind="random")])
    assert (again.prompts, again.tokens) == (2, 20)
    assert sum(len(call) for call in inner.asked) == 2 + 2 + 1


def test_probes_are_content_free_windows_of_the_query(grader, show):
    inner = grader()
    calibrate()(inner).score([show(width=4)])
    (probes, _) = inner.asked
    assert [len(one.slate) for one in probes] == [4, 2]
    assert {c.text for one in probes for c in one.slate.candidates} == {"N/A"}
    assert {one.slate.query for one in probes} == {"which number"}
    assert [one.presentation.windows for one in probes] == [((0, 1, 2, 3),), ((0, 1),)]


def test_other_queries_widths_and_surfaces_have_their_own(grader, show, make_slate):
    inner = grader()
    made = calibrate()(inner)
    usual = show()
    wordy = Shown(
        usual.slate,
        usual.presentation.with_surface(type(inner.surface)(rubric="answer_support")),
    )
    made.score([usual, show(slate=make_slate(query="other")), show(width=3), wordy])
    assert len(inner.asked[0]) == 4


def test_repeat_rows_read_their_own_probe(grader, show):
    inner = grader()
    made = calibrate()(inner)
    made.score([show()])
    (found,) = made.score([show(row=7, kind="repeat")])
    assert found.prompts == 2
    assert inner.asked[2][0].kind == "repeat"
    (later,) = made.score([show(row=7, kind="repeat")])
    assert later.prompts == 2


def test_memory_is_bounded(grader, show, make_slate, monkeypatch):
    monkeypatch.setattr("evenhand.remedy.calibrate.MOST_PROBES", 2)
    inner = grader()
    made = calibrate()(inner)
    for query in ("a", "b", "c", "c", "a"):
        made.score([show(slate=make_slate(query=query))])
    # a b c read, c known, a forgotten: 4 probes and 5 slates.
    assert len(inner.asked) == 9
    assert len(made._known) == 2


def test_a_failed_probe_leaves_its_windows_missing_and_is_not_kept(grader, show):
    inner = grader(broken=["N/A"])
    made = calibrate()(inner)
    (found,) = made.score([show()])
    assert np.isnan(found.scores).all()
    assert found.failure == "the probe gave no grades to calibrate 6 candidates by"
    assert (found.prompts, found.tokens) == (2, 12)
    inner.broken = frozenset()
    assert made.score([show()])[0].failure is None


def test_a_failed_slate_keeps_its_reason(grader, show):
    (found,) = calibrate()(grader(broken=["0.25"])).score([show()])
    assert np.isnan(found.scores).all()
    assert found.failure == "cannot read it"


def test_only_the_windows_of_a_failed_probe_are_missing():
    grades = np.full((3, 4), 0.25)
    answer = Scored(np.full(3, 0.5), grades=grades)
    shown = Presentation((0, 1, 2), ((0, 1), (2,)))
    found = calibrated(shown, answer, [np.full((2, 4), 0.25), np.empty((0, 0))])
    np.testing.assert_allclose(found.scores, [0.5, 0.5, NAN])
    assert found.failure == "the probe gave no grades to calibrate 1 candidates by"


def test_scores_without_grades_are_refused_before_the_slates_are_read(show):
    calls = []

    def f(query, texts):
        calls.append(texts)
        return [0.5] * len(texts)

    made = calibrate()(scorer(f, scale="unit", revision="1"))
    with pytest.raises(UsageError, match="corrects grade probabilities, and f gives scores alone"):
        made.score([show(), show(row=1)])
    assert calls == [["N/A"] * 6]


def test_numbers_that_are_no_expected_grades_are_refused_at_once():
    with pytest.raises(UsageError, match="the scores of toy:slot_bias=0.3 are raw"):
        calibrate()(Toy(slot_bias=0.3))


def test_an_empty_slate_is_no_error(grader, show, make_slate):
    (found,) = calibrate()(grader()).score([show(slate=make_slate(0))])
    assert found.scores.shape == (0,)
    assert found.failure is None


def test_long_queries_are_remembered_by_their_hash(grader, show, make_slate):
    made = calibrate()(grader())
    queries = ["a" * 100_000, "a" * 99_999 + "b", "short"]
    for query in queries:
        first, again = (made.score([show(slate=make_slate(query=query))])[0] for _ in range(2))
        # The probe is paid for once.
        assert first.prompts == again.prompts + 1
        assert first.scores.tolist() == again.scores.tolist()
    kept = [probe[0] for probe in made._known]
    assert [len(text) for text in kept] == [64, 64, 5]
    assert len(set(kept)) == 3


def test_a_memory_that_another_thread_reads_is_not_changed(grader, show, make_slate, monkeypatch):
    monkeypatch.setattr("evenhand.remedy.calibrate.MOST_PROBES", 2)
    made = calibrate()(grader())
    made.score([show(slate=make_slate(query=query)) for query in ("a", "b")])
    held = made._known
    queries = [probe[0] for probe in held]
    made.score([show(slate=make_slate(query=query)) for query in ("c", "d")])
    assert [probe[0] for probe in held] == queries == ["a", "b"]
    assert [probe[0] for probe in made._known] == ["c", "d"]
