"""What a scorer says of itself is the same from another process."""

from __future__ import annotations

import pickle
from types import SimpleNamespace

import pytest

from evenhand.errors import ScorerError
from evenhand.remedy import apply
from evenhand.score import open_scorer
from evenhand.study.elsewhere import Elsewhere, described
from evenhand.study.rows.run import describe
from evenhand.train.teacher import GradesTeacher, teacher_facts
from evenhand.types import Scorer


def sent(scorer):
    return Elsewhere(pickle.loads(pickle.dumps(described(scorer))))


@pytest.mark.parametrize(
    "scorer",
    [
        open_scorer("toy", slot_bias=0.3),
        apply(open_scorer("toy", slot_bias=0.3), ["average:2"], seed=0),
        apply(open_scorer("toy", slot_bias=0.3), ["adaptive:threshold=0.5"], seed=0),
        apply(open_scorer("toy", slot_bias=0.3), ["sorted"], seed=0),
    ],
    ids=["toy", "average", "adaptive", "sorted"],
)
def test_records_say_the_same_of_both(scorer):
    other = sent(scorer)
    assert isinstance(other, Scorer)
    assert describe(other) == describe(scorer)
    assert teacher_facts(other) == teacher_facts(scorer)
    assert other.surface == scorer.surface
    for name in ("draws", "settles_at", "unseen", "trained"):
        assert getattr(other, name, None) == getattr(scorer, name, None)


def test_human_grades_are_described(tmp_path):
    assert teacher_facts(sent(GradesTeacher())) == teacher_facts(GradesTeacher())


def test_what_a_scorer_was_trained_on_is_told_through_remedies():
    toy = open_scorer("toy")
    inner = SimpleNamespace(**{name: getattr(toy, name) for name in ("name", "revision")})
    inner.trained = "its form"
    outer = {name: getattr(toy, name) for name in described(toy)}
    assert described(SimpleNamespace(**outer, inner=inner))["trained"] == "its form"


def test_it_scores_nothing():
    with pytest.raises(ScorerError, match=r"toy is opened by workers alone"):
        sent(open_scorer("toy")).score([])
