import pytest

from evenhand.errors import UsageError
from evenhand.models.batching import batches


def test_batches_keep_to_the_budget_longest_first():
    # budget 100: 60 alone (1 x 60), then 40 and 30 share 2 x 40, then 20 and 10
    assert batches([10, 60, 40, 30, 20], 100) == [[1], [2, 3], [4, 0]]
    assert batches([5, 5, 5], 1) == [[0], [1], [2]]
    assert batches([], 10) == []
    with pytest.raises(UsageError, match="at least 1, got 0"):
        batches([1], 0)
