"""Run `evenhand demo` and keep what it prints: results.json, and the table of the README.

    python make.py [OUT]

OUT (default runs/demo) is the folder of the runs; a demo that was stopped goes on there.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
README = HERE.parents[1] / "README.md"
ROWS = {
    "nDCG@10 served": ("served", "nDCG@10"),
    "nDCG@10 shuffled": ("shuffled", "nDCG@10"),
    "tauPSI (0 stable, .5 unrelated)": ("stability", "tauPSI"),
    "its noise floor": ("floor", "tauPSI"),
    "retained-set overlap": ("decisions", "Overlap"),
    "retained share": ("decisions", "Retained"),
}
COLUMNS = ("untrained", "single-order", "evenhand-smol", "the same, isolated", "ql: untrained")


def table(results: list[dict]) -> list[str]:
    """The lines of the README's table."""
    lines = [f"| | {' | '.join(COLUMNS)} |", "|---" * (1 + len(COLUMNS)) + "|"]
    for label, (part, measure) in ROWS.items():
        cells = [f"{one[part][measure]['mean']:.3f}" for one in results]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return lines


def with_table(readme: str, lines: list[str]) -> str:
    """The README with the demo's table in place of the one it had."""
    before, heading, after = readme.partition("## What the demo prints\n")
    old = after.splitlines()
    first = next(i for i, line in enumerate(old) if line.startswith("|"))
    last = next(i for i in range(first, len(old)) if not old[i].startswith("|"))
    return before + heading + "\n".join([*old[:first], *lines, *old[last:]]) + "\n"


def main() -> None:
    out = sys.argv[1] if len(sys.argv) > 1 else "runs/demo"
    command = [sys.executable, "-m", "evenhand.cli", "demo", "--out", out, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout)
    for one, path in zip(found["results"], shown_paths(found), strict=True):
        one["path"] = path
    (HERE / "results.json").write_text(json.dumps(found, indent=2) + "\n")
    README.write_text(with_table(README.read_text(), table(found["results"])))


def shown_paths(found: dict) -> list[str]:
    """Where each run is, without the folders of this machine."""
    return [f"runs/demo/{Path(one['path']).name}" for one in found["results"]]


if __name__ == "__main__":
    main()
