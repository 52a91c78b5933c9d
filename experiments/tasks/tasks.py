"""The two tasks: rubric, width, cut, tests, and the arms of ../grader shown their way."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

# Behind this folder, whose own modules have names of that one's.
sys.path.append(str(Path(__file__).resolve().parents[1] / "grader"))

from arm import Arm, arm
from arms import put
from common import SURFACE, kept_labels, slates_of, snapshot

from evenhand.train.views import Views
from evenhand.types import Surface

__all__ = ["ARMS", "TASKS", "Task", "kept_labels", "put", "slates_of", "snapshot"]

# The required ones first: a run that is stopped has those.
ARMS = ("single", "across-4", "within-4", "augmentation", "averaged", "isolated", "across-20",
        "within-20")  # fmt: skip


@dataclass(frozen=True)
class Task:
    """What is graded and how it is shown.

    Attributes:
        width: B. cut: tokens of a candidate. slates: that the arms are trained on.
        tests: collections. measure: of quality.
    """

    name: str
    rubric: str
    width: int
    cut: int
    slates: int
    tests: tuple[str, ...]
    measure: str

    @property
    def surface(self) -> Surface:
        return replace(SURFACE, rubric=self.rubric)

    def arm(self, name: str) -> Arm:
        """An arm of ../grader with this task's rubric and width."""
        found = arm(name)
        surface = replace(found.surface, rubric=self.rubric)
        return replace(found, views=replace(found.views, surface=surface, widths=(self.width,)))

    @property
    def stage1(self) -> Views:
        """How the task is taught: each slate in one random order."""
        return Views(mix="across", count=1, widths=(self.width,), surface=self.surface)


TASKS = {
    "qa": Task(
        "qa", "answer_support", 10, 160, 480, ("hotpotqa_dev500", "musique_train100"), "nDCG@10"
    ),
    # Grades are 0 and 1: nDCG@1 is 1 where the best-scored response is a right one.
    "responses": Task("responses", "response_quality", 4, 320, 1000, ("rm_bench",), "nDCG@1"),
}
