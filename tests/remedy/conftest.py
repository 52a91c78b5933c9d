"""A scorer with grade probabilities whose slots have a prior, and slates to show it."""

import numpy as np
import pytest

from evenhand.present.windows import cut
from evenhand.types import Candidate, Presentation, Scored, Shown, Slate, Surface


class Grader:
    """Grades from the number in a text, tilted by the slot; blind candidates have no slot."""

    name, revision, scale, order_free = "grader", "1", "unit", False
    channels = frozenset({"order", "companions", "window", "membership"})
    max_window = default_window = None
    surface = Surface()
    visibilities = ("sequential", "isolated")
    unseen = ("a model",)

    def __init__(self, tilt=0.5, broken=()):
        self.tilt, self.broken, self.asked = tilt, frozenset(broken), []

    def score(self, shown):
        self.asked.append(list(shown))
        return [self._one(one) for one in shown]

    def _one(self, one):
        texts = [candidate.text for candidate in one.slate.candidates]
        if self.broken & set(texts):
            return Scored.failed(len(texts), "cannot read it", prompts=1, tokens=2)
        slots = one.presentation.slots()
        blind = one.presentation.surface.visibility == "isolated"
        tilt = np.zeros(len(texts)) if blind else self.tilt * slots
        steps = np.array([0.0 if t == "N/A" else float(t) for t in texts]) + tilt
        odds = np.exp(steps[:, None] * np.arange(4))
        grades = odds / odds.sum(axis=1, keepdims=True)
        scores = np.where(one.presentation.included(), grades @ np.arange(4) / 3, np.nan)
        windows = len(one.presentation.windows)
        return Scored(
            scores, grades=grades, label_mass=np.full(len(texts), 0.9), prompts=windows,
            tokens=10 * windows, truncated=slots.clip(0),
        )  # fmt: skip


@pytest.fixture
def grader():
    return Grader


@pytest.fixture
def make_slate():
    def make(n=6, name="s", query="which number"):
        return Slate(name, query, tuple(Candidate(f"c{i}", f"{i / 4 - 0.5}") for i in range(n)))

    return make


@pytest.fixture
def show(make_slate):
    """Show a slate in an order, cut into windows."""

    def make(order=None, width=None, row=0, kind="canonical", slate=None, rule="contiguous"):
        slate = make_slate() if slate is None else slate
        order = tuple(range(len(slate))) if order is None else tuple(order)
        windows = [[order[p] for p in window] for window in cut(len(order), width, rule)]
        return Shown(slate, Presentation(order, windows), row, kind)

    return make
