"""Which prompts go through a model together; free of torch."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.errors import ScorerError, UsageError

# Under a small budget, where a group alone may be longer, the lengths would be many.
_GRAIN = 4096


def stream_length(tokens: int, budget: int) -> int:
    """Return the length of a packed stream for so many tokens: quarters of the budget.

    So few lengths come up that few shapes are compiled, and little of a stream is empty.

    Returns:
        The smallest multiple of a quarter of the budget, or of 4096, that holds the tokens.
    """
    quarter = max(_GRAIN, -(-budget // 4))
    return max(1, -(-tokens // quarter)) * quarter


def batches(lengths: Sequence[int], token_budget: int, *, padded: bool = True) -> list[list[int]]:
    """Group prompts, longest first, so that their tokens stay within a budget.

    Args:
        lengths: tokens of each prompt. token_budget: of a group.
        padded: count each prompt as long as the longest of its group; else as it is.

    Returns:
        Lists of indices; a prompt longer than the budget stands alone.

    Raises:
        UsageError: the budget is under 1.
    """
    if token_budget < 1:
        raise UsageError(f"the token budget must be at least 1, got {token_budget}")
    groups: list[list[int]] = []
    room = longest = 0
    for index in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        size = max(1, longest if padded else lengths[index])
        if not groups or size > room:
            groups.append([])
            room, longest = token_budget, lengths[index]
            size = max(1, longest)
        groups[-1].append(index)
        room -= size
    return groups


def halved(
    chosen: Sequence[int], lengths: Sequence[int], names: Sequence[str], error: BaseException
) -> list[list[int]]:
    """Return the two halves of a batch that did not fit the memory, the first to be read last.

    Args:
        chosen: its prompts. lengths, names: tokens and slate of every prompt. error: what was said.

    Raises:
        ScorerError: it is one prompt; the message names the slate.
    """
    if len(chosen) == 1:
        raise ScorerError(
            f"slate {names[chosen[0]]!r}: one prompt of {lengths[chosen[0]]} tokens does not "
            "fit the memory; use a smaller width, shorter candidates or another device"
        ) from error
    half = len(chosen) // 2
    return [list(chosen[half:]), list(chosen[:half])]
