"""Isolated candidates: what they share once, then a branch for each of them.

A branch starts where the shared part ends, at the same position ids whichever
branch it is, and is cut by its own length alone. So its ids and positions are
those of a prompt that shows its candidate and no other; and that prompt needs no
branch: its one candidate sees all that stands before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from evenhand.score.prompt import Part, Row, WindowPrompt, joined, plain_rows, row_of, too_long


def isolated_prompt(
    slate: str,
    form: Sequence[Part],
    query: NDArray[np.int32],
    candidates: Sequence[NDArray[np.int32]],
    context: int,
    max_candidate_tokens: int | None,
) -> WindowPrompt:
    """Return the prompt of one window of isolated candidates.

    Args:
        slate: id of the slate, for messages.
        form: of a window of one; what stands before its candidate is shared.
        query: ids of the query. candidates: ids of each candidate, by slot.
        context: most tokens of the shared part and one branch together.
        max_candidate_tokens: cut of each candidate; None = only what the context forces.

    Raises:
        InputError: shared part and answer form leave no room for a candidate.
    """
    place = next(i for i, part in enumerate(form) if part.segment.kind == "candidate")
    [line] = [part.line for part in form if part.line is not None]
    opening = _ids(form[:place], query)
    # Nothing is read after the readout, so nothing is shown there.
    closing = np.concatenate([_ids(form[place + 1 :], query), row_of(line.head)])
    shared, fixed = len(opening), len(opening) + len(closing)
    # Also for an empty candidate: whether a prompt fits must not depend on who is in it.
    if fixed >= context:
        raise too_long(slate, fixed, context, "a shorter query")
    kept = [ids[: context - fixed][:max_candidate_tokens] for ids in candidates]
    parts = [part for ids in kept for part in (ids, closing)]
    sizes = [len(ids) + len(closing) for ids in kept]
    marks = [slot if len(kept) > 1 else 0 for slot in range(1, len(kept) + 1)]
    starts = np.cumsum([0, *sizes])
    branches = np.repeat(row_of([0, *marks]), [shared, *sizes])
    rising = np.arange(shared + int(starts[-1]), dtype=np.int32)
    positions = rising - np.repeat(row_of([0, *starts[:-1]]), [shared, *sizes])
    return WindowPrompt(
        joined([opening, *parts]), Row(branches), Row(positions),
        tuple((shared + starts[1:] - 1).tolist()), line.grades,
        tuple([len(ids) - len(own) for ids, own in zip(candidates, kept, strict=True)]),
    )  # fmt: skip


def _ids(parts: Sequence[Part], query: NDArray[np.int32]) -> NDArray[np.int32]:
    nothing = np.empty(0, dtype=np.int32)
    own = [query if part.segment.kind == "query" else row_of(part.ids) for part in parts]
    return np.concatenate([nothing, *own])


def pieces(prompt: WindowPrompt, token_budget: int) -> list[WindowPrompt]:
    """Cut a prompt that is longer than a budget between branches; each piece has the shared part.

    A piece holds as many branches as fit the budget, but always as many tokens as
    reading the shared part again costs. A prompt without branches stays whole.

    Returns:
        Pieces whose slots, put one after the other, are those of the prompt. Cuts and
        escapes are not repeated in them: they stand in the prompt.
    """
    if len(prompt.ids) <= token_budget:
        return [prompt]
    shared = prompt.branches.count(0)
    most = max(token_budget, 2 * shared)
    if len(prompt.ids) <= most or shared == len(prompt.ids):
        return [prompt]
    found: list[WindowPrompt] = []
    start, end, slots = shared, shared, 0
    for readout in prompt.readouts:
        if slots and shared + readout + 1 - start > most:
            found.append(_piece(prompt, shared, start, end))
            start, slots = end, 0
        end, slots = readout + 1, slots + 1
    found.append(_piece(prompt, shared, start, end))
    return found


def _piece(prompt: WindowPrompt, shared: int, start: int, end: int) -> WindowPrompt:
    """Return the shared part with the branches of the tokens start to end."""

    def kept(values: Sequence[int]) -> Row:
        return joined([row_of(values[:shared]), row_of(values[start:end])])

    readouts = tuple(r - start + shared for r in prompt.readouts if start <= r < end)
    branches = kept(prompt.branches) if len(readouts) > 1 else plain_rows(shared + end - start)[0]
    return replace(
        prompt, ids=kept(prompt.ids), branches=branches, positions=kept(prompt.positions),
        readouts=readouts, truncated=(), escaped=(),
    )  # fmt: skip
