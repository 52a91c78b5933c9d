"""Train a tiny model in as many processes as were started; the first writes its weights.

Usage: shared_training.py MODEL OUT METHOD.
"""

from __future__ import annotations

import json
import os
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

MODEL, OUT, METHOD = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
torch.set_num_threads(1)
# Sizes differ, so that processes have other candidates, tokens and micro-batches; the last is idle.
slates = [
    Labelled(
        Slate(f"s{i}", "egg", tuple(Candidate(f"c{j}", "egg water " * (1 + j % 3)) for j in range(n))),
        np.linspace(0, 1, n),
    )
    for i, n in enumerate((2, 5, 3, 7, 4))
]
settings = Training(
    base=MODEL,
    views=Views(widths=(3,)),
    objective=Objective(consistency=2.0, weighting="position"),
    weights=Weights(method=METHOD, rank=2, alpha=4, dropout=0.0),
    descent=Descent(rate=1e-3, ramp=0.5),
    run=Run(windows=4, epochs=2, save_every=2, token_budget=2000),
)
loaded = load(f"hf:{MODEL}", device="cpu")
outcome = train(loaded, slates, settings, OUT)
if os.environ.get("RANK", "0") == "0":
    weights = {n: v.detach().clone() for n, v in loaded.model.named_parameters()}
    save_file(weights, OUT / "end.safetensors")
    (OUT / "log.json").write_text(json.dumps(outcome.log))
