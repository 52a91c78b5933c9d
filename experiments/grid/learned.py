"""The tables of what was trained: teachers and their students, the recipe of stage 1."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from evenhand.measure.family import holm
from evenhand.measure.paired import paired
from evenhand.measure.stats import estimate

VALUES = {"shuffled": "nDCG@10 shuffled", "psi": "tau-PSI", "overlap": "overlap"}


def records(folder: Path) -> list[dict]:
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def pooled(looks: dict, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Per-slate values of all lists, and the list of each."""
    values = [v for look in looks.values() for v in look["values"][name]]
    listed = [key for key, look in looks.items() for _ in look["ids"]]
    return np.array([np.nan if v is None else v for v in values], dtype=float), np.array(listed)


def over_lists(looks: dict, name: str) -> str:
    """Mean over lists of the means over slates, and its interval."""
    values, listed = pooled(looks, name)
    found = paired(np.zeros(len(values)), values, listed)
    return f"{found.difference:.3f} [{found.low:.3f}, {found.high:.3f}]"


def teacher_lines(results: Path) -> list[str]:
    """One line a teacher, and how silver-beta goes with its student."""
    found = sorted(records(results / "teachers"), key=lambda one: one["beta"])
    if not found:
        return []
    lines = ["", "## Teachers and their students", ""]
    lines += ["| teacher | silver-beta | label nDCG@10, known item | "
              + " | ".join(f"student {title}" for title in VALUES.values()) + " |"]  # fmt: skip
    lines.append("|" + "---|" * (3 + len(VALUES)))
    for one in found:
        own = estimate(np.array(one["label_quality"]))
        beta = "0, order-free" if one["order_free"] else f"{one['beta']:.4f}"
        cells = [f"{own.mean:.3f} [{own.low:.3f}, {own.high:.3f}]"]
        cells += [over_lists(one["looks"], name) for name in VALUES]
        lines.append(f"| {one['teacher']} | {beta} | {' | '.join(cells)} |")
    return lines + correlation_lines(found)


def correlation_lines(found: list[dict]) -> list[str]:
    """Rank correlations over teachers, Holm over these."""
    from scipy.stats import pearsonr, spearmanr

    if len(found) < 4:
        return []
    columns = {
        "silver-beta": [one["beta"] for one in found],
        "label nDCG@10": [float(np.mean(one["label_quality"])) for one in found],
        "student nDCG@10": [float(np.nanmean(pooled(one["looks"], "shuffled")[0])) for one in found],
        "student tau-PSI": [float(np.nanmean(pooled(one["looks"], "psi")[0])) for one in found],
    }
    pairs = (("silver-beta", "student nDCG@10"), ("label nDCG@10", "student nDCG@10"),
             ("silver-beta", "label nDCG@10"), ("silver-beta", "student tau-PSI"))  # fmt: skip
    ranks = [spearmanr(columns[a], columns[b]) for a, b in pairs]
    lines = [
        "",
        f"| over {len(found)} teachers | Spearman | p, Holm over these | Pearson |",
        "|---|---|---|---|",
    ]
    adjusted = holm([float(one.pvalue) for one in ranks])
    for (a, b), rank, p in zip(pairs, ranks, adjusted, strict=True):
        straight = pearsonr(columns[a], columns[b]).statistic
        lines.append(f"| {a} and {b} | {rank.statistic:+.2f} | {p:.3f} | {straight:+.2f} |")
    return lines


def recipe_lines(results: Path) -> list[str]:
    """One line a setting of stage 1, less the reference on the same slates."""
    found = {f"{one['setting']} {one['seed']}": one for one in records(results / "recipe")}
    if not found:
        return []
    differences = {}
    for key, one in found.items():
        base = found.get(f"reference {one['seed']}")
        if base is not None and one is not base:
            a, listed = pooled(base["looks"], "shuffled")
            differences[key] = paired(a, pooled(one["looks"], "shuffled")[0], listed)
    adjusted = dict(zip(differences, holm([one.p for one in differences.values()]), strict=True))
    lines = ["", "## Stage 1, one thing changed", ""]
    lines += ["| setting | steps | M tokens | " + " | ".join(VALUES.values())
              + " | shuffled less the reference | p, Holm over these |"]  # fmt: skip
    lines.append("|" + "---|" * (5 + len(VALUES)))
    order = sorted(found, key=lambda key: (not key.startswith("reference"), key))
    for key in order:
        one, gap, p = found[key], "", ""
        if key in differences:
            own = differences[key]
            gap, p = f"{own.difference:+.3f} [{own.low:+.3f}, {own.high:+.3f}]", f"{adjusted[key]:.4f}"
        cells = [over_lists(one["looks"], name) for name in VALUES]
        name = one["setting"] + (f", seed {one['seed']}" if one["seed"] else "")
        shown = [name, str(one["steps"]), f"{one['tokens'] / 1e6:.0f}", *cells, gap, p]
        lines.append(f"| {' | '.join(shown)} |")
    return lines
