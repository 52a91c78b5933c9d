"""Audit the untrained embedded default on every declared collection.

    EVENHAND_DATA=folder-of-collections python run.py audit runs/untrained
    python run.py collect runs/untrained

`audit` scores (minutes on a GPU, hours on a CPU; a stopped one goes on);
`collect` writes the estimates to results/*.json and the table to README.md.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
GRADED = ["--scorer", "smollm2-135m", "--dtype", "float32", "--set", "token_budget=98304"]
READER = ["--reader", "smollm2-135m", "--reader-top", "5", "--reader-task"]
AUDITS: dict[str, list[str]] = {
    "dl19": ["trec_dl19", *GRADED],
    "dl19_parallel": ["trec_dl19", *GRADED, "--visibility", "parallel"],
    "dl19_likelihood": ["trec_dl19", "--scorer", "ql:smollm2-135m", *GRADED[2:]],
    "dl20": ["trec_dl20", *GRADED],
    "novel": ["noveleval", *GRADED],
    "cran": ["cran", "--depth", "20", "--limit", "60", *GRADED],
    "hotpot": ["hotpotqa_dev500", "--limit", "60", *GRADED, *READER, "answer"],
    "musique": ["musique_train100", "--limit", "60", *GRADED, *READER, "answer"],
    "climate": ["climate_fever", "--depth", "20", "--limit", "60", *GRADED, *READER, "verdict"],
    "rm": ["rm_bench", "--limit", "60", *GRADED],
    "llmbar": ["llmbar", "--limit", "100", *GRADED],
}
CHANNELS = ["noveleval", *GRADED, "--width", "10", "--channels"]
CHANNELS += ["order,companions,marker,skeleton,rubric,window,membership"]
CHANNEL_COLUMNS = (
    "tauPSI",
    "CanonicalPSI",
    "Overlap",
    "Top1Flip",
    "PairFlip",
    "ScoreChange",
    "PoolPSI",
)
COLUMNS = (
    ("served", "nDCG@10", "nDCG@10 served"),
    ("shuffled", "nDCG@10", "shuffled"),
    ("stability", "tauPSI", "tau-PSI"),
    ("floor", "tauPSI", "floor"),
    ("decisions", "Overlap", "overlap"),
    ("decisions", "Retained", "retained"),
    ("decisions", "PairFlip", "pair flip"),
)


def audit(runs: Path) -> None:
    for name, words in AUDITS.items():
        command = [sys.executable, "-m", "evenhand.cli", "audit", *words, "--rows", "10"]
        subprocess.run([*command, "--out", str(runs / name)], check=True)
    command = [sys.executable, "-m", "evenhand.cli", "audit", *CHANNELS, "--rows", "10", "--json"]
    found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    (runs / "channels.json").write_text(found.stdout)


def channel_table(found: dict) -> list[str]:
    """One line a channel, the noise floor of every one in the last column."""
    lines = [f"| channel | rows | {' | '.join(CHANNEL_COLUMNS)} | tau-PSI floor |"]
    lines.append("|---|---|" + "---|" * (len(CHANNEL_COLUMNS) + 1))
    for name, one in found["channels"].items():
        cells = [cell(one["values"].get(measure)) for measure in CHANNEL_COLUMNS]
        floor = cell(one["floor"].get("tauPSI"))
        lines.append(f"| {name} | {one['rows']:g} | {' | '.join(cells)} | {floor} |")
    return lines


def kept(summary: dict) -> dict:
    """Everything but the values of single slates."""
    whole = {key: value for key, value in summary.items() if key not in ("per_slate", "slate_ids")}
    if whole.get("reader"):
        dropped = ("per_slate", "slate_ids", "outputs")
        whole["reader"] = {key: value for key, value in whole["reader"].items() if key not in dropped}
    return whole


def cell(estimate: dict | None) -> str:
    if estimate is None or estimate["mean"] is None:
        return "–"
    if estimate["low"] is None:
        return f"{estimate['mean']:.3f}"
    return f"{estimate['mean']:.3f} [{estimate['low']:.3f}, {estimate['high']:.3f}]"


def row(name: str, summary: dict) -> str:
    settings, counts = summary["settings"], summary["counts"]
    shown = f"{summary['scorer']['name']}, {settings['surface']['visibility']}, B={settings['width']}"
    cells = [name, " ".join(AUDITS[name][:1]), shown, str(counts["slates"])]
    cells += [cell(summary[part].get(measure)) for part, measure, _ in COLUMNS]
    reader = summary.get("reader")
    flip = reader["estimates"]["flip"]["score"] if reader else None
    cells.append(cell(flip) + ("" if not reader or reader["fitness"]["fit"] else " (unfit)"))
    return f"| {' | '.join(cells)} |"


def collect(runs: Path) -> None:
    results = HERE / "results"
    results.mkdir(exist_ok=True)
    lines = []
    for name in AUDITS:
        if not (runs / name / "summary.json").exists():
            print(f"{name}: not run", file=sys.stderr)
            continue
        summary = kept(json.loads((runs / name / "summary.json").read_text()))
        (results / f"{name}.json").write_text(json.dumps(summary, indent=1) + "\n")
        lines.append(row(name, summary))
    titles = ["run", "collection", "scorer", "slates", *(title for *_, title in COLUMNS), "reader flip"]
    head = (HERE / "README.head.md").read_text()
    table = [f"| {' | '.join(titles)} |", "|" + "---|" * len(titles), *lines]
    page = head + "\n" + "\n".join(table) + "\n"
    if (runs / "channels.json").exists():
        found = json.loads((runs / "channels.json").read_text())
        for one in found["channels"].values():
            one.pop("path", None)
        (results / "channels.json").write_text(json.dumps(found, indent=1) + "\n")
        page += "\n" + (HERE / "README.channels.md").read_text() + "\n"
        page += "\n".join(channel_table(found)) + "\n"
    (HERE / "README.md").write_text(page)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("audit", "collect"):
        sys.exit(__doc__)
    {"audit": audit, "collect": collect}[sys.argv[1]](Path(sys.argv[2]))
