"""What a run of all arms would take: tokens of every part, and seconds at given rates."""

from __future__ import annotations

import numpy as np
from session import arm_settings, data_of, stage1_settings
from tasks import Task

from evenhand.train.feed import prompt_builder
from evenhand.train.forecast import forecast, outlined
from evenhand.train.labels import Labelled
from evenhand.types import Slate, Surface

# Tokens a second on one H200, and seconds before the first step of a training and after its last.
TRAINING, BRANCHED, READING, AROUND = 260_000, 80_000, 600_000, 6.0
SAMPLED = 60


def row_tokens(builder, slates: list[Slate], width: int, surface: Surface) -> float:
    """Tokens of one row of all slates, from some of them."""
    chosen = slates[:: max(1, len(slates) // SAMPLED)]
    shown = [
        len(builder.build(slate, range(start, min(start + width, len(slate))), surface).ids)
        for slate in chosen for start in range(0, len(slate), width)
    ]  # fmt: skip
    return sum(shown) / len(chosen) * len(slates)


def parts_of(args, task: Task, slates: dict[str, list[Slate]]) -> list[tuple[str, float, float]]:
    """(name, tokens, seconds) of everything that a task takes with one seed."""
    outline = outlined(args.base)
    builder = prompt_builder(outline, task.cut)
    gold = [Labelled(slate, slate.gains()) for slate in slates["stage1"]]
    made = [Labelled(slate, np.full(len(slate), 0.5)) for slate in slates["arms"]]

    def look(surface: Surface, rows: int) -> float:
        every = [slates[name] for name in task.tests]
        return (rows + 1) * sum(row_tokens(builder, one, task.width, surface) for one in every)

    taught = forecast(stage1_settings(args, task), gold).tokens
    seen = look(task.surface, args.rows + 1)
    orders = max(task.arm(name).orders for name in args.arms)
    labels = orders * row_tokens(builder, slates["arms"], task.width, task.surface)
    parts = [("stage 1", taught, taught / TRAINING + AROUND), ("look at it", seen, seen / READING),
             (f"labels of {orders} orders", labels, labels / READING)]  # fmt: skip
    for name in args.arms:
        surface = task.arm(name).surface
        alone = surface.visibility == "isolated"
        tokens = forecast(arm_settings(args, task, name, 0), made).tokens
        seen = look(surface, 2 if alone else args.rows)
        seconds = tokens / (BRANCHED if alone else TRAINING) + AROUND + seen / READING
        parts.append((name, tokens + seen, seconds))
    return parts


def dry_run(args, tasks: list[Task]) -> None:
    """Print every part of the work and the sum."""
    whole = 0.0
    for task in tasks:
        slates = data_of(args, task)
        print(f"{task.name}:", ", ".join(f"{len(found)} of {name}" for name, found in slates.items()))
        for place, (name, tokens, seconds) in enumerate(parts_of(args, task, slates)):
            times = len(args.seeds) if place > 2 else 1
            whole += times * seconds
            print(f"  {name:22} {tokens / 1e6:6.1f} M tokens {seconds:5.0f} s, {times} times")
    print(f"about {whole:.0f} s in all, one after the other")
