"""Which prompts go through a model together; free of torch."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.errors import UsageError


def batches(lengths: Sequence[int], token_budget: int) -> list[list[int]]:
    """Group prompts, longest first, so that padded tokens stay within a budget.

    Returns:
        Lists of indices; a prompt longer than the budget stands alone.

    Raises:
        UsageError: the budget is under 1.
    """
    if token_budget < 1:
        raise UsageError(f"the token budget must be at least 1, got {token_budget}")
    groups: list[list[int]] = []
    room = 0
    for index in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        if room < 1:
            groups.append([])
            room = max(1, token_budget // max(1, lengths[index]))
        groups[-1].append(index)
        room -= 1
    return groups
