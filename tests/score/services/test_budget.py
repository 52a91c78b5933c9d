import pytest

from evenhand.score.services.budget import as_count, reported_tokens


@pytest.mark.parametrize(
    ("body", "tokens"),
    [
        ({"usage": {"total_tokens": 12, "prompt_tokens": 12}}, 12),
        ({"usage": {"prompt_tokens": 10, "completion_tokens": 3}}, 13),
        ({"meta": {"tokens": {"input_tokens": 7, "output_tokens": 0}}}, 7),
        ({"meta": {"billed_units": {"input_tokens": 5, "search_units": 1}}}, 5),
        ({"meta": {"billed_units": {"search_units": 1}, "tokens": {"input_tokens": 9}}}, 9),
        ([{"meta_info": {"prompt_tokens": 4}}, {"meta_info": {"prompt_tokens": 5}}], 9),
        ([{"meta_info": {"prompt_tokens": 4}}, {}], None),
        ([], None),
        ({"usage": {"rerank_units": 1}}, None),
        ({"usage": {"total_tokens": -1}}, None),
        ({"usage": {"total_tokens": float("nan")}}, None),
        ({"usage": {"total_tokens": True}}, None),
        ({"usage": {"total_tokens": 4.0}}, 4),
        ({"usage": "12"}, None),
        ("usage", None),
        (None, None),
    ],
)
def test_tokens_as_services_tell_them(body, tokens):
    assert reported_tokens(body) == tokens


@pytest.mark.parametrize(
    ("value", "count"),
    [
        (0, 0),
        (7, 7),
        (4.0, 4),
        (4.5, None),
        (-1, None),
        (True, None),
        ("3", None),
        (None, None),
        (2**53 - 1, 2**53 - 1),
        (10**30, None),
        (float("inf"), None),
        (float("nan"), None),
    ],
)
def test_whole_numbers_as_they_come(value, count):
    assert as_count(value) == count
