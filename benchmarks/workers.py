"""Slates a second of an audit in one process and by 1, 2, ... workers on Ray.

Each count of workers scores the same slates into a new folder, by parts of the same
size. `start` is until the scorer is described (Ray itself and one load of the model);
`first_part` is from there to the first part (the workers' own loads); `rate` is of the
slates after the first N parts of N workers, once all are up. `equal` compares the scores with those of
one process: `bytes` whether the tables are the same file, else the largest difference.
Every process has one thread, so that counts compare.

    python benchmarks/workers.py [--scorer smollm2-135m] [--data demo] [--limit 12] [--workers 1,2]
"""

import argparse
import json
import os
import platform
import tempfile
import time
from functools import partial
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pyarrow.parquet as pq
import ray

from evenhand.cli.inputs import open_slates
from evenhand.present.design import design
from evenhand.score import open_scorer
from evenhand.study.ray import RayOptions, workers_on_ray
from evenhand.study.rows.run import run_study


def timed(scorer, slates, drawn, folder, engine, part_size, workers=1):
    """Return when the first part stood, and the rate in slates a second once each worker gave one."""
    began, marks = time.perf_counter(), []
    run_study(
        scorer, slates, drawn, folder, part_size=part_size, engine=engine,
        progress=lambda done, _: marks.append((time.perf_counter() - began, done)),
    )  # fmt: skip
    (first, _), (warm, some), (last, all_) = marks[1], marks[workers], marks[-1]
    return {"first_part": first, "rate": (all_ - some) / (last - warm), "seconds": last}


def compared(folder, reference):
    """Return how the scores of two runs differ."""
    same = (folder / "scores.parquet").read_bytes() == (reference / "scores.parquet").read_bytes()
    one, two = (
        np.asarray(pq.read_table(path / "scores.parquet").column("score"), dtype=float)
        for path in (folder, reference)
    )
    return {"bytes": same, "largest_difference": float(np.nanmax(np.abs(one - two)))}


def measure(given, folder):
    slates = list(open_slates(given.data, limit=given.limit))
    opener = partial(open_scorer, given.scorer)
    scorer = opener()
    drawn = design(rows=given.rows, width=scorer.default_window)
    alone = timed(scorer, slates, drawn, folder / "alone", None, given.part_size)
    found = {"one_process": alone, "workers": {}}
    for workers in given.workers:
        began, out = time.perf_counter(), folder / str(workers)
        with workers_on_ray(opener, RayOptions(workers)) as engine:
            start = time.perf_counter() - began
            took = timed(engine.scorer, slates, drawn, out, engine, given.part_size, workers)
        equal = compared(out, folder / "alone")
        found["workers"][workers] = {"start": start, **took, "equal": equal}
    return {"slates": len(slates), **found}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--scorer", default="smollm2-135m")
    parser.add_argument("--data", default="demo", help="demo, a collection's folder, a JSONL file")
    parser.add_argument("--limit", type=int, default=12, help="slates")
    parser.add_argument("--rows", type=int, default=2, help="M, random rows")
    parser.add_argument("--part-size", type=int, default=1)
    parser.add_argument(
        "--workers", default=[1, 2], type=lambda text: [int(one) for one in text.split(",")]
    )
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "workers.json")
    return parser.parse_args()


def main():
    given = arguments()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(given, Path(folder))
    machine = {"cores": os.cpu_count(), "load": os.getloadavg(), "kind": platform.machine()}
    settings = {name: getattr(given, name) for name in ("scorer", "data", "rows", "part_size")}
    versions = {"python": platform.python_version(), "ray": ray.__version__}
    result = {"settings": settings, "machine": machine, "versions": versions, **found}
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
