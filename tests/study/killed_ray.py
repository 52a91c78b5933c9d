"""Run a study on two Ray workers; die by SIGKILL when so many slates are done.

Usage: killed_ray.py OUT PIDS DONE.
"""

from __future__ import annotations

import os
import signal
import sys
from functools import partial

import worker_scorers

from evenhand.present.design import design
from evenhand.study.ray import RayOptions, workers_on_ray
from evenhand.study.rows.run import run_study
from evenhand.types import Candidate, Slate

OUT, PIDS, FATAL = sys.argv[1], sys.argv[2], int(sys.argv[3])


def progress(done, total):
    if done >= FATAL:
        os.kill(os.getpid(), signal.SIGKILL)


slates = [
    Slate(f"s{i}", f"query {i}", tuple(Candidate(f"c{j}", f"text {j}") for j in range(4)), {"c0": 3})
    for i in range(9)
]
with workers_on_ray(partial(worker_scorers.watched, PIDS, 0.1), RayOptions(2)) as engine:
    drawn = design(rows=3, width=3)
    run_study(engine.scorer, slates, drawn, OUT, part_size=1, engine=engine, progress=progress)
