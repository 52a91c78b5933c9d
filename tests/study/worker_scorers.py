"""Scorers for tests of workers; workers import this file, found through PYTHONPATH."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from evenhand.errors import ScorerError
from evenhand.score.toy import Toy


@dataclass(frozen=True, slots=True)
class Watched(Toy):
    """A toy that leaves a file named after its process and the slate it is at, and takes its time."""

    folder: str = ""
    pause: float = 0.0

    def score(self, shown):
        if shown:
            Path(self.folder, f"{os.getpid()}.{shown[0].slate.id}").touch()
        time.sleep(self.pause)
        return Toy.score(self, shown)


class Deadly(Toy):
    """A toy whose process dies at one slate."""

    def score(self, shown):
        if any(one.slate.id == "s4" for one in shown):
            os._exit(1)
        return Toy.score(self, shown)


class Refusing(Toy):
    """A toy that fails at one slate."""

    def score(self, shown):
        if any(one.slate.id == "s4" for one in shown):
            raise ScorerError("no more of slate s4")
        return Toy.score(self, shown)


def watched(folder, pause):
    return Watched(slot_bias=0.2, noise=0.1, folder=folder, pause=pause)


def deadly():
    return Deadly(slot_bias=0.2)


def refusing():
    return Refusing(slot_bias=0.2)


def other():
    """Another scorer in each process that opens it."""
    return Toy(slot_bias=0.001 * (os.getpid() % 997 + 1))
