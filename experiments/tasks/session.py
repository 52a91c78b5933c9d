"""One task with its data, readers and settings of training."""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import matrices
from reading import Reader
from tasks import Task, slates_of

from evenhand.models.load import Loaded
from evenhand.seeds import generator
from evenhand.train.settings import Descent, Run, Training, Weights
from evenhand.train.step import Objective
from evenhand.types import Shown, Slate, Surface

# Branches are padded to the longest prompt, and nothing of them is compiled.
ISOLATED_BUDGET = 16384


@dataclass
class Session:
    """One task with its data, the model and the readers of it."""

    args: argparse.Namespace
    task: Task
    loaded: Loaded
    slates: dict[str, list[Slate]]
    readers: dict[str, Reader]

    @property
    def results(self) -> Path:
        return self.args.out / "results" / self.task.name

    @property
    def work(self) -> Path:
        return self.args.out / "work" / self.task.name

    @property
    def tests(self) -> dict[str, list[Slate]]:
        return {name: self.slates[name] for name in self.task.tests}

    def result(self, name: str, seed: int) -> Path:
        return self.results / f"{name}-{seed}.json"

    def reader(self, surface: Surface) -> Reader:
        """The reader of a surface, made when it is first asked for."""
        if surface.visibility not in self.readers:
            made = Reader(self.loaded, surface, self.task.cut, self.task.width)
            if surface.visibility == "sequential" and self.loaded.device.type == "cuda":
                few = [slate for slates in self.tests.values() for slate in slates[:8]]
                made = made.compiled(shown_of(few, surface, self.task.width, 2))
            self.readers[surface.visibility] = made
        return self.readers[surface.visibility]


def shown_of(slates: list[Slate], surface: Surface, width: int, rows: int) -> list[Shown]:
    """Every slate in its canonical order and in random ones."""
    shown = {"rows": rows, "width": width, "seed": 0, "surface": asdict(surface)}
    return [one for slate in slates for one in matrices.plan_of(slate, shown).shown(slate)]


def sampled(slates: list[Slate], most: int | None) -> list[Slate]:
    """So many slates of all sources, whatever their order in the file."""
    order = generator(0, "", "sample of slates").permutation(len(slates))[:most]
    return [slates[i] for i in sorted(order)]


def data_of(args, task: Task) -> dict[str, list[Slate]]:
    folder = args.slates / task.name
    found = {name: slates_of(folder, name)[0] for name in ("stage1", "arms", *task.tests)}
    found["stage1"] = sampled(found["stage1"], args.limit)
    found["arms"] = sampled(found["arms"], args.limit or task.slates)
    return found | {name: found[name][: args.tests] for name in task.tests}


def settings_of(args, chosen, *, steps: int, rate: float, seed: int, cut: int) -> Training:
    isolated = chosen.surface.visibility == "isolated"
    return Training(
        base=args.base, views=chosen.views, objective=chosen.objective, weights=chosen.weights,
        descent=Descent(rate=rate, warmup=0.1, ramp=0.1),
        run=Run(
            windows=args.windows, epochs=50, steps=steps, seed=seed,
            token_budget=ISOLATED_BUDGET if isolated else args.budget,
            half=not args.plain, compiled=not args.plain and not isolated,
            workers=args.workers, max_candidate_tokens=cut,
        ),
    )  # fmt: skip


def stage1_settings(args, task: Task) -> Training:
    chosen = replace(task.arm("single"), views=task.stage1, objective=Objective(error="soft_grade"),
                     weights=Weights(method="full"))  # fmt: skip
    return settings_of(
        args, chosen, steps=args.stage1_steps, rate=args.stage1_rate, seed=0, cut=task.cut
    )


def arm_settings(args, task: Task, name: str, seed: int) -> Training:
    chosen = task.arm(name)
    steps = max(1, round(args.steps * chosen.steps))
    return settings_of(args, chosen, steps=steps, rate=args.rate * chosen.rate, seed=seed, cut=task.cut)
