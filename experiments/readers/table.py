"""Make README.md from README.head.md and results/*.json.

python table.py
"""

from __future__ import annotations

import json
from pathlib import Path

HERE = Path(__file__).parent
SHOWN = {"gold": "gold alone", "top": "5, gold among them", "all": "all", "own": "own five",
         "none": "none"}  # fmt: skip


def cell(estimate: dict | None) -> str:
    if estimate is None or estimate["mean"] is None:
        return "–"
    if estimate["low"] is None:
        return f"{estimate['mean']:.3f}"
    return f"{estimate['mean']:.3f} [{estimate['low']:.3f}, {estimate['high']:.3f}]"


def answer_lines(name: str, record: dict) -> list[str]:
    lines = []
    for collection, found in record["looks"].items():
        for kind, one in found["sets"].items():
            values = one["estimates"]
            cells = [name, collection, str(len(one["ids"])), SHOWN[kind], cell(values["f1"]),
                     cell(values["right"]), cell(values["own_order"]),
                     f"{one['abstains']:.3f}"]  # fmt: skip
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def verdict_lines(name: str, record: dict) -> list[str]:
    lines = []
    for collection, found in record["looks"].items():
        for kind, one in found["sets"].items():
            majority = one["majority"]
            values = one["estimates"]
            cells = [name, collection, str(len(one["ids"])), SHOWN[kind], cell(values["right"]),
                     f"{majority['share']:.3f} ({majority['label']})",
                     f"{one['balanced_accuracy']:.3f}", cell(values["own_order"])]  # fmt: skip
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def headed(titles: list[str], lines: list[str]) -> list[str]:
    return [f"| {' | '.join(titles)} |", "|" + "---|" * len(titles), *lines, ""] if lines else []


def fits(name: str, record: dict) -> list[str]:
    words = {True: "fit", False: "unfit", None: "not known"}
    return [f"- {name}, {collection}: {words[found['fitness']['fit']]}; {found['fitness']['reason']}."
            for collection, found in record["looks"].items()]  # fmt: skip


def main() -> None:
    records = [json.loads(path.read_text()) for path in sorted((HERE / "results").glob("*.json"))]
    read = {"answer": {}, "verdict": {}}
    for one in records:
        if "looks" in one:
            read[one["task"]][one["reader"]] = one
    answers = [line for name, one in read["answer"].items() for line in answer_lines(name, one)]
    verdicts = [line for name, one in read["verdict"].items() for line in verdict_lines(name, one)]
    common = ["reader", "set", "slates", "passages"]
    page = [(HERE / "README.head.md").read_text()]
    page += headed([*common, "F1", "exact match", "own order", "abstains"], answers)
    page += headed([*common, "accuracy", "majority", "balanced", "own order"], verdicts)
    page += [line for some in read.values() for name, one in some.items() for line in fits(name, one)]
    (HERE / "README.md").write_text("\n".join(page).rstrip() + "\n")


if __name__ == "__main__":
    main()
