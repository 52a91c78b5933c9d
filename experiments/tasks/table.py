"""Make README.md's tables from results/TASK/*.json and *.npz.

python table.py            # writes README.md beside this file
python table.py RESULTS    # prints the tables of another folder
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from matrices import values

from evenhand.measure.family import holm
from evenhand.measure.paired import paired
from evenhand.measure.stats import estimate

HERE = Path(__file__).parent
SHOWN = {
    "served": "served", "shuffled": "shuffled", "in order": "pairs in order", "psi": "tau-PSI",
    "overlap": "overlap", "pair flip": "pair flip", "residual": "residual", "spread": "spread",
}  # fmt: skip
QUALITY = {"qa": "nDCG@10", "responses": "accuracy"}
# What is asked, b against a; on each of the measures.
ASKED = (("single", "across-4"), ("single", "within-4"), ("within-4", "across-4"),
         ("single", "augmentation"), ("single", "averaged"), ("single", "across-20"),
         ("averaged", "across-4"), ("within-20", "across-20"), ("across-4", "isolated"))  # fmt: skip
TESTED = ("shuffled", "psi", "overlap", "pair flip")

Arms = dict[str, list[dict]]


def arms_of(folder: Path) -> Arms:
    """Records by arm, one a seed, each with its per-slate values by collection."""
    found: Arms = defaultdict(list)
    for path in sorted(folder.glob("*.json")):
        record = json.loads(path.read_text())
        record["values"] = {name: values(path.with_suffix(".npz"), name) for name in record["means"]}
        found[record["arm"]].append(record)
    first = {"start": 0, "stage1": 1, "single": 2}
    return dict(sorted(found.items(), key=lambda item: (first.get(item[0], 3), item[0])))


def over_seeds(records: list[dict], collection: str, name: str) -> np.ndarray:
    """(seeds, slates) values."""
    return np.array([one["values"][collection][name] for one in records], dtype=np.float64)


def cell(per_seed: np.ndarray) -> str:
    found = estimate(per_seed.mean(axis=0))
    return f"{found.mean:.3f} [{found.low:.3f}, {found.high:.3f}]"


def table(task: str, arms: Arms, collection: str) -> list[str]:
    quality = QUALITY[task]
    titles = [f"{quality} {t}" if t in ("served", "shuffled") else t for t in SHOWN.values()]
    head = ["arm", "seeds", *titles, "tokens a row", "training"]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for name, records in arms.items():
        cells = [cell(over_seeds(records, collection, key)) for key in SHOWN]
        tokens = over_seeds(records, collection, "tokens").mean()
        cost = (
            f"{np.mean([one['tokens'] for one in records]) / 1e6:.1f} M tokens, "
            f"{np.mean([one['seconds'] for one in records]):.0f} s"
        )
        row = [name, str(len(records)), *cells, f"{tokens:.0f}", cost]
        lines.append(f"| {' | '.join(row)} |")
    return lines


def tests(task: str, arms: Arms, collections: list[str]) -> list[str]:
    """Paired differences over slates and seeds; Holm over all of a task."""
    names, found = [], []
    for collection in collections:
        for a, b in ASKED:
            for key in TESTED if a in arms and b in arms else ():
                pair = [over_seeds(arms[one], collection, key) for one in (a, b)]
                title = QUALITY[task] + " shuffled" if key == "shuffled" else SHOWN[key]
                names.append(f"{collection} | {b} less {a} | {title}")
                found.append(paired(*pair))
    lines = [
        "| collection | arms | measure | difference | p, Holm over these |",
        "|---|---|---|---|---|",
    ]
    for name, one, p in zip(names, found, holm([one.p for one in found]), strict=True):
        interval = f"{one.difference:+.4f} [{one.low:+.4f}, {one.high:+.4f}]"
        lines.append(f"| {name} | {interval} | {p:.4f} |")
    return lines


def tables(results: Path) -> str:
    lines: list[str] = []
    for task in (name for name in QUALITY if (results / name).is_dir()):
        arms = arms_of(results / task)
        collections = list(next(iter(arms.values()))[0]["means"])
        for collection in collections:
            count = next(iter(arms.values()))[0]["means"][collection]["slates"]
            floor = [
                one["means"][collection]["noise"]
                for one in arms.get("stage1", []) if "noise" in one["means"][collection]
            ]  # fmt: skip
            noise = (
                f"; noise floor (canonical rows read again, tau-PSI): {floor[0]:.5f}" if floor else ""
            )
            lines += ["", f"## {collection}, {count} slates{noise}", "", *table(task, arms, collection)]
        lines += ["", f"## {task}: paired differences", "", *tests(task, arms, collections)]
    return "\n".join(lines) + "\n"


def main() -> None:
    if len(sys.argv) > 1:
        print(tables(Path(sys.argv[1])))
        return
    text = (HERE / "README.head.md").read_text() + tables(HERE / "results")
    (HERE / "README.md").write_text(text)


if __name__ == "__main__":
    main()
