"""Make README.md's tables from results/.

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
TESTED = ("shuffled", "psi", "overlap")
BASELINE = "single"
Arms = dict[str, dict[int, dict]]


def read(folder: Path) -> Arms:
    """Records of a folder by arm and seed; looks by design and collection in all of them."""
    found: Arms = {}
    for path in sorted(folder.glob("*.json")):
        record = json.loads(path.read_text())
        if "reorder" not in record["looks"]:
            record["looks"] = {"reorder": record["looks"]}
        found.setdefault(record["arm"], {})[record["seed"]] = record
    return found


def mean(
    seeds: dict[int, dict], which: list[int], design: str, collection: str, key: str
) -> np.ndarray:
    """Per-slate values, averaged over seeds."""
    looks = [seeds[seed]["looks"][design][collection] for seed in which]
    return np.mean([np.array(look["values"][key], dtype=float) for look in looks], axis=0)


def cell(values: np.ndarray) -> str:
    found = estimate(values)
    return f"{found.mean:.3f} [{found.low:.3f}, {found.high:.3f}]"


def table(arms: Arms, design: str = "reorder") -> list[str]:
    head = ["arm", "collection", "seeds", *TITLES, "tokens trained on"]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    order = sorted(arms, key=lambda name: (name != "start", name != BASELINE, name))
    for name in order:
        seeds = arms[name]
        which = sorted(seeds)
        for collection in seeds[which[0]]["looks"][design]:
            cells = [cell(mean(seeds, which, design, collection, key)) for key in VALUES]
            cost = f"{seeds[which[0]].get('tokens', 0) / 1e6:.1f} M"
            lines.append(f"| {' | '.join([name, collection, str(len(which)), *cells, cost])} |")
    return lines


def differences(
    arms: Arms, pairs: list[tuple[str, str]], designs: tuple[str, ...] = ("reorder",)
) -> list[str]:
    """Differences of arms on the seeds that both have; one family."""
    rows = []
    for design in designs:
        for name, other in pairs:
            which = sorted(arms[name].keys() & arms[other].keys())
            if not which:
                continue
            for collection in arms[name][which[0]]["looks"][design]:
                for key in TESTED:
                    a = mean(arms[other], which, design, collection, key)
                    b = mean(arms[name], which, design, collection, key)
                    rows.append((design, name, other, collection, key, len(which), paired(a, b)))
    lines = ["| design | arm less other | collection | seeds | what | difference | p, Holm |",
             "|" + "---|" * 7]  # fmt: skip
    for row, p in zip(rows, holm([row[-1].p for row in rows]), strict=True):
        design, name, other, collection, key, seeds, one = row
        title = TITLES[VALUES.index(key)]
        interval = f"{one.difference:+.4f} [{one.low:+.4f}, {one.high:+.4f}]"
        lines.append(f"| {design} | {name} less {other} | {collection} | {seeds} | {title} "
                     f"| {interval} | {p:.4f} |")  # fmt: skip
    return lines


def stage1(folder: Path) -> Arms:
    record = json.loads((folder / "stage1.json").read_text())
    return {f"stage 1, {name}": {0: {"looks": {"reorder": looks}, "tokens": record["tokens"]}}
            for name, looks in record["looks"].items()}  # fmt: skip


def main() -> None:
    results = HERE / "results"
    clean, shipped = read(results / "clean/arms"), read(results / "clean/shipped")
    other = read(results / "transductive/arms")
    against = [(name, BASELINE) for name in clean if name not in ("start", BASELINE)]
    held = {name: {s: one for s, one in seeds.items() if "held out" in one["looks"]}
            for name, seeds in clean.items()}  # fmt: skip
    parts = [
        "## Clean: the main table so far", "", *table({**stage1(results / "clean"), **clean}),
        "", "The same arms under `order` (slots move, companions stay), M = 3:", "",
        *table(clean, "order"),
        "", "On 100 slates held out of stage 2 (known items, five rows):", "", *table(held, "held out"),
        "", "Against single-order, paired over slates, means over the seeds that both have:", "",
        *differences(clean, against),
        "", "Companion mixing against the paper's views at equal lambda:", "",
        *differences(clean, [("across-10", "within-10")], ("reorder", "order")),
        "", "## Clean: what is shipped", "",
        "Stage 1 cut to rank 26, an adapter of rank 8 trained on it with the arm's objective:", "",
        *table(shipped), "", *differences(shipped, [("across-10", BASELINE)], ("reorder", "order")),
        "", "## Transductive: a first look, one seed", "",
        *table({**stage1(results / "transductive"), **other}), "",
        *differences(other, [("across-4", BASELINE)]),
    ]  # fmt: skip
    (HERE / "README.md").write_text(
        (HERE / "README.head.md").read_text() + "\n" + "\n".join(parts) + "\n"
    )


if __name__ == "__main__":
    main()
