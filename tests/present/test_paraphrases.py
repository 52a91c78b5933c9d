"""Wordings: enough of them, all different, all on the same four grades."""

import pytest

from evenhand.present.paraphrases import PARAPHRASES
from evenhand.present.texts import RUBRICS, wordings

NAMES = ("answer_support", "counter_argument", "relevance", "response_quality")


@pytest.mark.parametrize("name", NAMES)
def test_every_rubric_has_three_paraphrases(name):
    forms = wordings(name)
    assert forms == (name, f"{name}/2", f"{name}/3", f"{name}/4")
    assert wordings(f"{name}/3") == forms
    rubrics = [RUBRICS[form] for form in forms]
    for texts in ([r.system for r in rubrics], [r.task for r in rubrics], [r.levels for r in rubrics]):
        assert len(set(texts)) == 4
    # What the query and the candidates are called is no part of the wording.
    assert len({(r.query, r.candidate) for r in rubrics}) == 1
    for rubric in rubrics:
        assert len(rubric.levels) == len(set(rubric.levels)) == 4
        assert "0" in rubric.system
        assert "3" in rubric.system


def test_paraphrases_belong_to_rubrics():
    assert tuple(sorted(PARAPHRASES)) == NAMES
    assert set(RUBRICS) == {form for name in NAMES for form in wordings(name)}


def test_an_unknown_rubric_has_no_wordings():
    assert wordings("nothing") == ()
