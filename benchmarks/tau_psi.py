"""How much faster tau-PSI is than a loop over scipy's kendalltau.

Both are timed in this process, on the same random scores, in alternating
rounds; the best round of each counts. The scipy loop reads a part of the slates
only and is scaled to all of them, which the output says.

    python benchmarks/tau_psi.py [--slates 1000] [--rows 10] [--candidates 100]
"""

import argparse
import itertools
import json
import os
import platform
import time
from pathlib import Path

# One thread for both: the ratio must not depend on how many cores are free.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import scipy
from scipy import stats

from evenhand.measure.order import tau_psi, tau_psi_many


def scipy_loop(slates):
    """tau-PSI of each slate from one kendalltau call per pair of rows."""
    values = []
    for rows in slates:
        taus = [stats.kendalltau(a, b).statistic for a, b in itertools.combinations(rows, 2)]
        values.append((1 - float(np.mean(taus))) / 2)
    return np.array(values)


def timed(function, *arguments):
    start = time.perf_counter()
    values = function(*arguments)
    return time.perf_counter() - start, values


def measure(slates, rows, candidates, scipy_slates, rounds):
    stack = np.random.default_rng(0).random((slates, rows, candidates))
    part = stack[:scipy_slates]
    best = {"one": float("inf"), "many": float("inf"), "scipy": float("inf")}
    furthest = 0.0
    for _ in range(rounds):
        for name, function, given in (
            ("scipy", scipy_loop, part),
            ("one", lambda given: np.array([tau_psi(slate) for slate in given]), stack),
            ("many", tau_psi_many, stack),
        ):
            seconds, values = timed(function, given)
            best[name] = min(best[name], seconds)
            if name == "scipy":
                expected = values
            else:
                furthest = max(furthest, float(np.abs(values[: len(part)] - expected).max()))
    scaled = best["scipy"] * slates / len(part)
    return {
        "slates": slates,
        "rows": rows,
        "candidates": candidates,
        "rounds": rounds,
        "scipy_slates_timed": len(part),
        "scipy_seconds_scaled_to_all_slates": round(scaled, 4),
        "tau_psi_seconds": round(best["one"], 4),
        "tau_psi_many_seconds": round(best["many"], 4),
        "ratio_one_slate_a_call": round(scaled / best["one"], 1),
        "ratio_all_slates_in_one_call": round(scaled / best["many"], 1),
        "largest_difference_of_a_value": furthest,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slates", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=10)
    parser.add_argument("--candidates", type=int, default=100)
    parser.add_argument("--scipy-slates", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "tau_psi.json")
    given = parser.parse_args()
    result = measure(
        given.slates, given.rows, given.candidates, min(given.scipy_slates, given.slates), given.rounds
    )
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=2))
    print(
        f"tau-PSI of {result['slates']} slates is {result['ratio_all_slates_in_one_call']} times "
        f"faster than the scipy loop (timed on {result['scipy_slates_timed']} slates and scaled)."
    )


if __name__ == "__main__":
    main()
