"""Train a tiny model; die by SIGKILL at the given one of the points where it could.

Usage: killed_training.py MODEL OUT POINT. Points are counted over steps, and over states
while they are written and before and after they get their name. Point 0 never comes: the
run ends, writes its weights and prints how many points it passed.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

from evenhand.models.load import load
from evenhand.train.labels import Labelled
from evenhand.train.loop import train
from evenhand.train.settings import Descent, Run, Training, Weights
from evenhand.train.step import Objective
from evenhand.train.views import Views
from evenhand.types import Candidate, Slate

MODEL, OUT, FATAL = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
passed = 0


def point(*_: object) -> None:
    global passed
    passed += 1
    if passed == FATAL:
        os.kill(os.getpid(), signal.SIGKILL)


whole_save, whole_replace = torch.save, Path.replace


def save(state, path):
    Path(path).write_bytes(b"half of a state")
    point()
    whole_save(state, path)


def renamed(self, target):
    point()
    found = whole_replace(self, target)
    point()
    return found


torch.save, Path.replace = save, renamed
rng = np.random.default_rng(7)
slates = [
    Labelled(
        Slate(f"s{i}", "egg", tuple(Candidate(f"c{j}", f"egg water {j}") for j in range(4))),
        rng.random(4),
    )
    for i in range(4)
]
settings = Training(
    base=MODEL,
    views=Views(widths=(3,)),
    objective=Objective(consistency=2.0),
    weights=Weights(rank=2, alpha=4, dropout=0.2),
    descent=Descent(rate=1e-2),
    run=Run(windows=4, epochs=2, save_every=1),
)
loaded = load(f"hf:{MODEL}", device="cpu")
train(loaded, slates, settings, OUT, progress=point)
total = passed
FATAL = 0
save_file({n: v.detach().clone() for n, v in loaded.model.named_parameters()}, OUT / "end.safetensors")
print(total)
