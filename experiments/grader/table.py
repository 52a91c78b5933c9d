"""Make README.md's tables from results/*.json.

python table.py
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from evenhand.measure.family import holm
from evenhand.measure.paired import paired
from evenhand.measure.stats import estimate

HERE = Path(__file__).parent
VALUES = ("served", "shuffled", "psi", "overlap", "residual")
TITLES = ("nDCG@10 served", "shuffled", "tau-PSI", "overlap", "normalised residual")


def cell(values: list[float]) -> str:
    found = estimate(np.array(values, dtype=float))
    return f"{found.mean:.3f} [{found.low:.3f}, {found.high:.3f}]"


def line(name: str, collection: str, look: dict, cost: str) -> str:
    cells = [cell(look["values"][key]) for key in VALUES]
    return f"| {' | '.join([name, collection, str(len(look['ids'])), *cells, cost])} |"


def main() -> None:
    head = ["arm", "collection", "slates", *TITLES, "training"]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    stage1 = json.loads((HERE / "results/stage1.json").read_text())
    for name, looks in stage1["looks"].items():
        cost = f"{stage1['tokens'] / 1e6:.0f} M tokens, {stage1['seconds']:.0f} s"
        lines += [line(f"stage 1, {name}", c, one, cost) for c, one in looks.items()]
    arms = {}
    for path in sorted((HERE / "results/arms").glob("*.json")):
        arm = json.loads(path.read_text())
        if arm["arm"] == "start":
            continue
        arms[arm["arm"]] = arm
        cost = f"{arm['tokens'] / 1e6:.0f} M tokens, {arm['seconds']:.0f} s"
        lines += [line(arm["arm"], c, one, cost) for c, one in arm["looks"].items()]
    names, found = [], []
    for collection, one in arms["across-4"]["looks"].items():
        other = arms["single"]["looks"][collection]
        for key in ("shuffled", "psi", "overlap"):
            names.append(f"{collection}, {TITLES[VALUES.index(key)]}")
            found.append(paired(np.array(other["values"][key]), np.array(one["values"][key])))
    tests = ["", "| across-4 less single | difference | p, Holm over these |", "|---|---|---|"]
    for name, one, p in zip(names, found, holm([one.p for one in found]), strict=True):
        interval = f"{one.difference:+.4f} [{one.low:+.4f}, {one.high:+.4f}]"
        tests.append(f"| {name} | {interval} | {p:.4f} |")
    text = (HERE / "README.head.md").read_text() + "\n" + "\n".join(lines + tests) + "\n"
    (HERE / "README.md").write_text(text)


if __name__ == "__main__":
    main()
