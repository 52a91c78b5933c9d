import math
import string

import pytest

from evenhand.decide.answers import exact_match, first_line, normalise, token_f1


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ("The Eiffel Tower!", "eiffel tower"),
        ("  a  cat,\tan apple ", "cat apple"),
        ("U.S.A.", "usa"),
        # punctuation goes before articles, so no space is left where the hyphen was
        ("the-end", "theend"),
        ("Theory of a theatre", "theory of theatre"),
        ("the", ""),
        ("", ""),
        ("Zoë’s", "zoë’s"),
    ],
)
def test_normalise(answer, wanted):
    assert normalise(answer) == wanted


def test_every_ascii_punctuation_goes():
    assert normalise(string.punctuation) == ""


def test_exact_match_takes_the_best_alias():
    assert exact_match("the Paris", ["London", "Paris."]) == 1
    assert exact_match("Paris, France", ["London", "Paris."]) == 0


def test_token_f1_by_hand():
    # given: big red dog (3), gold: red dog house (3), shared 2: p = r = 2/3, F1 = 2/3
    assert token_f1("the big red dog", ["red dog house"]) == pytest.approx(2 / 3)
    # given 1 word, gold 2: p = 1, r = 1/2, F1 = 2/3; the other alias shares nothing
    assert token_f1("paris", ["london", "Paris France"]) == pytest.approx(2 / 3)
    # repeated words count as often as both hold them: shared 1 of 2 and 1: p 1/2, r 1, F1 2/3
    assert token_f1("very very", ["very"]) == pytest.approx(2 / 3)
    assert token_f1("rome", ["paris"]) == 0


@pytest.mark.parametrize("value", [exact_match, token_f1])
def test_empty_answers_by_squads_rule(value):
    assert value("", [""]) == 1
    assert value("the", [""]) == 1
    assert value("", ["paris"]) == 0
    assert value("paris", [""]) == 0
    assert math.isnan(value("paris", []))


def test_first_line():
    assert first_line("\n  Paris \nbecause") == "Paris"
    assert first_line(" \n") == ""
