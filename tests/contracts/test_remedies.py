"""What every remedied scorer keeps to: the contract of scorers, and a failure's reason and price.

A remedy joins the suite by one line in REMEDIED.
"""

import numpy as np
import pytest

from evenhand.remedy import REMEDIES, apply
from evenhand.study.rows.declared import check_declarations
from evenhand.types import Candidate, Presentation, Scored, Scorer, Shown, Slate, Surface, slate_to_dict

REMEDIED = {
    "adaptive": ["adaptive:best"],
    "average": ["average:3"],
    "average latin": ["average:3,latin=true"],
    "average borda": ["average:3,fuse=borda"],
    "average rrf": ["average:3,fuse=rrf"],
    "calibrate": ["calibrate"],
    "interleave": ["interleave"],
    "isolated": ["isolated"],
    "sorted": ["sorted"],
    "all in a row": ["calibrate", "interleave", "average:2"],
}
FAILS = "no answer"


class Grader:
    """Grades (0, 1) by the length of a text and its slot; fails or skips where a text says so."""

    name, revision, scale, order_free = "grader", "1", "unit", False
    channels = frozenset({"order", "companions", "window", "membership"})
    max_window = default_window = None
    surface = Surface()
    visibilities = ("sequential", "isolated")

    def score(self, shown):
        return [self._one(one) for one in shown]

    def _one(self, one):
        texts = [candidate.text for candidate in one.slate.candidates]
        windows = len(one.presentation.windows)
        if "fail" in texts:
            return Scored.failed(len(texts), FAILS, prompts=windows, tokens=5 * windows)
        blind = one.presentation.surface.visibility == "isolated"
        place = np.zeros(len(texts)) if blind else one.presentation.slots()
        high = 1 / (1 + np.exp(-np.array([len(text) for text in texts]) / 10 - place))
        high[[text == "skip" for text in texts]] = np.nan
        high[~one.presentation.included()] = np.nan
        skipped = "skip" in texts
        return Scored(
            high, np.stack([1 - high, high], axis=1), prompts=windows, tokens=5 * windows,
            failure="one was skipped" if skipped else None,
        )  # fmt: skip


@pytest.fixture(params=sorted(REMEDIED))
def names(request):
    return REMEDIED[request.param]


def slate(name, *texts):
    return Slate(name, "q", tuple(Candidate(f"{name}{i}", text) for i, text in enumerate(texts)))


TEXTS = ("a", "four words of text", "", "[1] Grades: 3", "twelve", "the last of all the texts here")


def shown(one, backward=False, row=0, kind="canonical"):
    order = tuple(range(len(one)))[:: -1 if backward else 1]
    windows = tuple(order[at : at + 4] for at in range(0, len(order), 4))
    return Shown(one, Presentation(order, windows), row, kind)


def many():
    found = []
    for one in (slate("s", *TEXTS), slate("t", *TEXTS[:2]), slate("u", "x"), slate("v")):
        found += [shown(one), shown(one, True, 1, "random"), shown(one, False, 2, "repeat")]
    return found


def test_every_remedy_is_here():
    assert {name.partition(":")[0] for names in REMEDIED.values() for name in names} == set(REMEDIES)


def test_it_is_a_scorer(names):
    made = apply(Grader(), names)
    assert isinstance(made, Scorer)
    check_declarations(made)
    assert made.name == " + ".join(["grader", *made.remedies])
    assert made.scale in ("unit", "raw")


def test_identity_does_not_move(names):
    made, other = apply(Grader(), names), apply(Grader(), names)
    before = (made.name, made.revision)
    made.score(many())
    assert (made.name, made.revision) == before == (other.name, other.revision)


def test_one_answer_per_shown_in_order(names):
    for one, scored in zip(many(), apply(Grader(), names).score(many()), strict=True):
        assert scored.scores.shape == (len(one.slate),)
        assert not np.isnan(scored.scores).any()
        assert scored.failure is None
        assert scored.prompts >= len(one.presentation.windows)
        assert scored.tokens == 5 * scored.prompts
        if scored.grades is not None:
            np.testing.assert_allclose(scored.grades @ [0, 1], scored.scores)


def test_nothing_gives_nothing(names):
    assert apply(Grader(), names).score([]) == []


def test_inputs_are_left_alone(names):
    given = many()
    before = [(slate_to_dict(one.slate), one.presentation, one.row, one.kind) for one in given]
    apply(Grader(), names).score(given)
    assert before == [(slate_to_dict(one.slate), one.presentation, one.row, one.kind) for one in given]


def test_the_same_call_gives_the_same_answer(names):
    made = apply(Grader(), names)
    for one, other in zip(made.score(many()), made.score(many()), strict=True):
        np.testing.assert_array_equal(one.scores, other.scores)


def test_a_failed_slate_is_missing_with_its_reason_and_its_price(names):
    broken = slate("b", "a", "fail", "b")
    found = apply(Grader(), names).score([shown(slate("s", *TEXTS)), shown(broken)])
    assert not np.isnan(found[0].scores).any()
    assert np.isnan(found[1].scores).all()
    assert FAILS in found[1].failure
    assert found[1].prompts >= 1
    assert found[1].tokens == 5 * found[1].prompts


def test_a_candidate_without_a_score_stays_in_place(names):
    (found,) = apply(Grader(), names).score([shown(slate("b", "a", "skip", "b", "cc"))])
    assert np.isnan(found.scores).tolist() == [False, True, False, False]
    assert "one was skipped" in found.failure


def test_names_of_candidates_do_not_matter(names):
    one = slate("s", *TEXTS)
    other = Slate(
        "s", one.query, tuple(Candidate(f"x{i}", c.text) for i, c in enumerate(one.candidates))
    )
    made = apply(Grader(), names)
    (first,), (second,) = made.score([shown(one)]), made.score([shown(other)])
    np.testing.assert_array_equal(first.scores, second.scores)
