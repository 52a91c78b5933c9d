import math

import numpy as np
import pytest

from evenhand.score.services.answers import (
    Label,
    Likely,
    chat_text,
    first_choice,
    grade_probabilities,
    label_logprobs,
    next_token,
    prompt_token,
    text_of,
    usage_of,
)

LABELS = [Label(text, 32 + int(text)) for text in "0123"]


def listed(*entries):
    return {"choices": [{"logprobs": {"content": [{"token": "x", "top_logprobs": list(entries)}]}}]}


def keyed(**found):
    return {"choices": [{"logprobs": {"top_logprobs": [found]}}]}


def test_full_vocabulary_probabilities_give_score_and_label_mass():
    # case C13: .02 .03 .04 .01 -> (.03 + .08 + .03) / .10 / 3 = .14 / .3 = .4667, mass .10
    grades, score, mass = grade_probabilities(np.log([0.02, 0.03, 0.04, 0.01]))
    np.testing.assert_allclose(grades, [0.2, 0.3, 0.4, 0.1])
    assert score == pytest.approx(0.46667, abs=1e-5)
    assert mass == pytest.approx(0.10)


def test_far_below_the_float_range_still_has_a_score():
    # equal log-probabilities: mean grade 1.5 of 3, whatever their level
    grades, score, mass = grade_probabilities(np.full(4, -2000.0))
    np.testing.assert_allclose(grades, 0.25)
    assert (score, mass) == (pytest.approx(0.5), 0.0)


@pytest.mark.parametrize("gone", [math.nan, None])
def test_a_missing_grade_is_missing_and_no_floor(gone):
    values = np.array([-1.0, -2.0, math.nan, -0.5]) if gone else np.full(4, -np.inf)
    grades, score, mass = grade_probabilities(values)
    assert np.isnan(grades).all()
    assert math.isnan(score)
    assert math.isnan(mass)


def test_a_grade_of_probability_zero_is_told_and_not_missing():
    # p = 0, 1/2, 1/2, 0 -> (1 + 2) / 2 / 3
    _, score, mass = grade_probabilities(np.array([-np.inf, math.log(0.5), math.log(0.5), -np.inf]))
    assert (score, mass) == (pytest.approx(0.5), pytest.approx(1.0))


def test_mass_is_never_above_one():
    _, _, mass = grade_probabilities(np.log([0.25001, 0.25001, 0.25001, 0.25001]))
    assert mass == 1.0


def test_next_token_of_chat_completions_by_text():
    found = next_token(listed({"token": "2", "logprob": -0.5, "bytes": [50]}))
    assert found == [Likely(-0.5, "2", None)]


def test_next_token_with_ids_beside_texts():
    found = next_token(listed({"token": "2", "logprob": -0.5, "id": 34}))
    assert found == [Likely(-0.5, "2", 34)]


def test_next_token_of_completions_by_text_and_by_id():
    assert next_token(keyed(**{"2": -0.5})) == [Likely(-0.5, "2", None)]
    assert next_token(keyed(**{"token_id:34": -0.5})) == [Likely(-0.5, None, 34)]


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        {"choices": []},
        {"choices": [{}]},
        {"choices": [{"logprobs": None}]},
        {"choices": [{"logprobs": {"content": []}}]},
        {"choices": [{"logprobs": {"content": None}}]},
        {"choices": [{"logprobs": {}}]},
        listed(),
        listed({"token": "2"}),
        listed({"token": "2", "logprob": None}),
        listed({"token": None, "logprob": -1}),
        listed({"token": "token_id:x", "logprob": -1}),
        keyed(),
        keyed(**{"2": True}),
        {"choices": [{"logprobs": {"top_logprobs": [None]}}]},
    ],
)
def test_answers_without_log_probabilities_tell_none(body):
    assert next_token(body) is None


def test_prompt_token_of_a_place():
    place = {"34": {"logprob": -0.5, "rank": 1, "decoded_token": "2"}}
    body = {"choices": [{"prompt_logprobs": [None, place]}]}
    assert prompt_token(body, 2, 1) == [Likely(-0.5, "2", 34)]
    assert prompt_token(body, 2, 0) is None
    # of another number of places nothing can be told
    assert prompt_token(body, 3, 1) is None


@pytest.mark.parametrize(
    "places",
    [
        None,
        "ab",
        [None, {"x": {"logprob": -1}}],
        [None, {"3": {}}],
        [None, 7],
        [None, {"3": 1}],
        [None, {}],
        [None, {"3": {"logprob": 10**400}}],
        [None, {"3": {"logprob": 2.5}}],
        [None, {"3": {"logprob": float("nan")}}],
        [None, {"3": {"logprob": -1, "decoded_token": 5}}],
    ],
)
def test_prompt_token_of_what_is_none(places):
    assert prompt_token({"choices": [{"prompt_logprobs": places}]}, 2, 1) is None


def test_labels_by_id_where_known_else_by_exact_text():
    likely = [Likely(-1.0, "2", 34), Likely(-2.0, "3", 99), Likely(-3.0, "1"), Likely(-4.0, " 0")]
    # by id: 34 is grade 2, and 99 is not grade 3 although it is spelled so; by text: "1"
    np.testing.assert_array_equal(label_logprobs(likely, LABELS), [np.nan, -3.0, -1.0, np.nan])
    texts = [Label(label.text) for label in LABELS]
    np.testing.assert_array_equal(label_logprobs(likely, texts), [np.nan, -3.0, -1.0, -2.0])


def test_two_tokens_of_one_text_are_one_label():
    likely = [Likely(math.log(0.2), "1"), Likely(math.log(0.3), "1")]
    assert label_logprobs(likely, [Label("1")])[0] == pytest.approx(math.log(0.5))


def test_texts():
    assert text_of({"choices": [{"message": {"content": "a"}}]}) == "a"
    assert text_of({"choices": [{"text": "b"}]}) == "b"
    for body in (None, {}, {"choices": [{"message": {"content": None}}]}, {"choices": [{"text": 3}]}):
        assert text_of(body) is None
    assert first_choice({"choices": ["x"]}) is None


def test_usage():
    assert usage_of({"usage": {"prompt_tokens": 7, "completion_tokens": 2}}) == (7, 2)
    assert usage_of({"usage": {"prompt_tokens": 7}}) == (7, 0)
    for body in (None, [], {}, {"usage": None}, {"usage": {}}, {"usage": {"prompt_tokens": -1}}):
        assert usage_of(body) is None
    assert usage_of({"usage": {"prompt_tokens": True, "completion_tokens": 2}}) is None


def test_log_probabilities_that_are_none():
    def told(value):
        return next_token({"choices": [{"logprobs": {"top_logprobs": [{"0": value}]}}]})

    for wrong in (10**400, 0.5, float("nan"), float("inf"), "-1", True, None):
        assert told(wrong) is None
    # Rounding, and a probability of 0, are none of the server's faults.
    assert told(1e-6) == [Likely(1e-6, "0")]
    assert told(float("-inf")) == told(-(10**400)) == [Likely(-math.inf, "0")]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"choices": [{"message": {"content": "x"}}]}, ("x", None)),
        ({"choices": [{"message": {"content": None}}]}, (None, None)),
        ({"choices": [{"message": {"content": ["x"]}}]}, (None, "the answer holds no text")),
        ({"choices": [{"message": {}}]}, (None, "the answer is no chat completion")),
        ({"choices": [{"text": "x"}]}, (None, "the answer is no chat completion")),
        ({"choices": {}}, (None, "the answer is no chat completion")),
        ([], (None, "the answer is no chat completion")),
    ],
)
def test_the_text_of_chat_or_why_there_is_none(body, expected):
    assert chat_text(body) == expected
