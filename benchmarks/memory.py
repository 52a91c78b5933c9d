"""Peak memory of a whole study (score, merge, analyse) for 100 and for 1,000 slates.

Each size runs in a process of its own with the toy scorer on slates of 100
candidates of 80 words, M = 10, B = 20. Prints MiB, and writes
benchmarks/results/memory.json. `baseline` is the process after its imports.

Usage: python benchmarks/memory.py [SLATES ...]
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CANDIDATES, WORDS, ROWS, WIDTH = 100, 80, 10, 20


def slates(count):
    from evenhand.types import Candidate, Slate

    for i in range(count):
        candidates = tuple(
            Candidate(f"c{j}", " ".join(f"w{(i * j + k) % 997}" for k in range(WORDS)))
            for j in range(CANDIDATES)
        )
        yield Slate(
            f"s{i}", f"query {i}", candidates, {f"c{j}": (i + j) % 4 for j in range(0, CANDIDATES, 7)}
        )


def peak():
    """Return the peak resident size of this process in MiB."""
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / (2**20 if sys.platform == "darwin" else 2**10)


def measure(count):
    from evenhand.present.design import design
    from evenhand.score.toy import Toy
    from evenhand.study.found.analyse import analyse
    from evenhand.study.rows.run import run_study

    baseline, start = peak(), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        run = run_study(
            Toy(slot_bias=0.3, noise=0.05),
            slates(count),
            design(rows=ROWS, width=WIDTH),
            Path(folder) / "run",
        )
        scored, scored_peak = time.perf_counter(), peak()
        analyse(run)
    return {
        "slates": count,
        "baseline_mib": round(baseline, 1),
        "scored_peak_mib": round(scored_peak, 1),
        "peak_mib": round(peak(), 1),
        "score_seconds": round(scored - start, 1),
        "analyse_seconds": round(time.perf_counter() - scored, 1),
    }


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--one":
        print(json.dumps(measure(int(sys.argv[2]))))
        return
    results = []
    for count in map(int, sys.argv[1:] or ("100", "1000")):
        command = [sys.executable, __file__, "--one", str(count)]
        ended = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        results.append(json.loads(ended.stdout))
        print(results[-1])
    setting = {"candidates": CANDIDATES, "words": WORDS, "rows": ROWS, "width": WIDTH, "scorer": "toy"}
    path = Path(__file__).parent / "results" / "memory.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"setting": setting, "results": results}, indent=2) + "\n")


if __name__ == "__main__":
    main()
