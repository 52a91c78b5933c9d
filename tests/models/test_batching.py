import pytest

from evenhand.errors import ScorerError, UsageError
from evenhand.models.batching import batches, halved, stream_length


def test_batches_keep_to_the_budget_longest_first():
    # budget 100: 60 alone (1 x 60), then 40 and 30 share 2 x 40, then 20 and 10
    assert batches([10, 60, 40, 30, 20], 100) == [[1], [2, 3], [4, 0]]
    assert batches([5, 5, 5], 1) == [[0], [1], [2]]
    assert batches([], 10) == []
    with pytest.raises(UsageError, match="at least 1, got 0"):
        batches([1], 0)


def test_without_padding_prompts_count_as_long_as_they_are():
    # 60 + 40 fill 100; 30 + 20 + 10 are 60. Padded, 40 and 30 would take 80 together.
    assert batches([10, 60, 40, 30, 20], 100, padded=False) == [[1, 2], [3, 4, 0]]
    # Beyond the budget a prompt stands alone, and an empty one takes a place.
    assert batches([120, 0, 0], 1, padded=False) == [[0], [1], [2]]


def test_halves_of_a_batch():
    error = MemoryError("full")
    assert halved([4, 2, 0], [1] * 5, ["s"] * 5, error) == [[2, 0], [4]]
    with pytest.raises(ScorerError, match="slate 'b': one prompt of 7 tokens does not fit") as raised:
        halved([1], [3, 7], ["a", "b"], error)
    assert raised.value.__cause__ is error


@pytest.mark.parametrize(
    ("tokens", "wanted"),
    [(1, 16384), (16384, 16384), (16385, 32768), (40_000, 49152), (65536, 65536), (70_000, 81920)],
)
def test_a_stream_has_one_of_four_lengths_but_for_a_group_beyond_the_budget(tokens, wanted):
    assert stream_length(tokens, 65536) == wanted


def test_under_a_small_budget_lengths_stay_few():
    # A quarter of 1000 is 250; groups of hundreds of lengths would be hundreds of shapes.
    assert {stream_length(tokens, 1000) for tokens in range(1, 8000)} == {4096, 8192}
