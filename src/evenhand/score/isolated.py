"""Isolated candidates: what they share once, then a branch for each of them.

A branch starts where the shared part ends, at the same position ids whichever
branch it is, and is cut by its own length alone. So its ids and positions are
those of a prompt that shows its candidate and no other; and that prompt needs no
branch: its one candidate sees all that stands before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evenhand.score.prompt import AnswerLine, Part, WindowPrompt, too_long


def isolated_prompt(
    slate: str, parts: Sequence[Part], context: int, max_candidate_tokens: int | None
) -> WindowPrompt:
    """Return the prompt of one window of isolated candidates.

    Args:
        slate: id of the slate, for messages.
        parts: the shared parts (index -1), then those of one branch after the other.
        context: most tokens of the shared part and one branch together.
        max_candidate_tokens: cut of each candidate; None = only what the context forces.

    Raises:
        InputError: shared part and answer form leave no room for a candidate.
    """
    ids = [token for part in parts if part.segment.index < 0 for token in part.ids]
    shared = len(ids)
    branches, positions = [0] * shared, list(range(shared))
    own: dict[int, list[Part]] = {}
    for part in parts:
        if part.segment.index >= 0:
            own.setdefault(part.segment.index, []).append(part)
    readouts, truncated, escaped = [], [], []
    grades: tuple[int, ...] = ()
    for slot in sorted(own):
        [candidate], [line] = _candidate(own[slot]), _lines(own[slot])
        others = [part for part in own[slot] if part is not candidate]
        fixed = shared + sum(len(part.ids) for part in others) + len(line.head)
        # Also for an empty candidate: whether a prompt fits must not depend on who is in it.
        if fixed >= context:
            raise too_long(slate, fixed, context, "a shorter query")
        kept = candidate.ids[: context - fixed][:max_candidate_tokens]
        branch = [*kept, *(token for part in others for token in part.ids), *line.head]
        ids += branch
        branches += [slot + 1 if len(own) > 1 else 0] * len(branch)
        positions += range(shared, shared + len(branch))
        # Nothing is read after the readout, so nothing is shown there.
        readouts.append(len(ids) - 1)
        truncated.append(len(candidate.ids) - len(kept))
        escaped.append(candidate.escaped)
        grades = line.grades
    return WindowPrompt(
        tuple(ids), tuple(branches), tuple(positions), tuple(readouts),
        grades, tuple(truncated), tuple(escaped),
    )  # fmt: skip


def _candidate(branch: Sequence[Part]) -> list[Part]:
    return [part for part in branch if part.segment.kind == "candidate"]


def _lines(branch: Sequence[Part]) -> list[AnswerLine]:
    return [part.line for part in branch if part.line is not None]


def pieces(prompt: WindowPrompt, token_budget: int) -> list[WindowPrompt]:
    """Cut a prompt that is longer than a budget between branches; each piece has the shared part.

    A piece holds as many branches as fit the budget, but always as many tokens as
    reading the shared part again costs. A prompt without branches stays whole.

    Returns:
        Pieces whose slots, put one after the other, are those of the prompt. Cuts and
        escapes are not repeated in them: they stand in the prompt.
    """
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

    def kept(values: tuple[int, ...]) -> tuple[int, ...]:
        return values[:shared] + values[start:end]

    readouts = tuple(r - start + shared for r in prompt.readouts if start <= r < end)
    branches = kept(prompt.branches) if len(readouts) > 1 else (0,) * (shared + end - start)
    return replace(
        prompt, ids=kept(prompt.ids), branches=branches, positions=kept(prompt.positions),
        readouts=readouts, truncated=(), escaped=(),
    )  # fmt: skip
