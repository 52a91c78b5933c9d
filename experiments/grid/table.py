"""Make README.md's tables from the JSON files under results/.

    python table.py [RESULTS] [--out README.md]

What has not been run has no line. The grader that is neither `stage1` nor `single` is
the best arm.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from learned import recipe_lines, teacher_lines

from evenhand.measure.family import holm
from evenhand.measure.paired import Paired, paired
from evenhand.measure.stats import estimate

HERE = Path(__file__).resolve().parent
BM25 = ("dl19", "dl20")
WIDTHS = (1, 4, 10, 20, 50)
LISTS = ("dl19", "dl20", "dl19-splade", "dl20-splade", "novel", "cran")
MIDDLE = "B10-contiguous-reorder"
TITLES = {"served": "nDCG@10 served", "shuffled": "shuffled", "psi": "tau-PSI",
          "overlap_own": "overlap", "overlap_plain": "overlap", "kept_plain": "kept",
          "floor": "floor of tau-PSI"}  # fmt: skip

ARMS = "tau-PSI under `reorder`, the best arm less single-order"
RULES = "nDCG@10 served, interleaved less contiguous windows"

Cells = dict[str, dict[str, dict]]


def read(results: Path) -> Cells:
    """Cells by grader and name; teachers and recipe are other folders."""
    found: Cells = {}
    for path in sorted(results.glob("*/*.json")):
        record = json.loads(path.read_text())
        if "cell" in record:
            found.setdefault(record["grader"], {})[record["cell"]] = record
    return found


def by_id(cell: dict, name: str) -> dict[str, float]:
    """Values by slate id; what is missing is NaN."""
    values = cell["values"].get(name) or [None] * len(cell["ids"])
    return {
        key: float("nan") if v is None else v for key, v in zip(cell["ids"], values, strict=True)
    }  # fmt: skip


def interval(mean: float, low: float, high: float) -> str:
    return "–" if np.isnan(mean) else f"{mean:.3f} [{low:.3f}, {high:.3f}]"


def shown(cell: dict | None, name: str) -> str:
    """Mean and 95% interval over the slates of a cell."""
    if cell is None:
        return "–"
    found = estimate(np.array(list(by_id(cell, name).values())))
    return interval(found.mean, found.low, found.high)


def ordered(cells: Cells) -> list[str]:
    """Graders: stage1, single, then the others."""
    first = [name for name in ("stage1", "single") if name in cells]
    return first + sorted(set(cells) - set(first))


def grid_lines(cells: Cells) -> list[str]:
    """One line a list, width and grader."""
    columns = ("shuffled", "psi", "overlap_own", "floor")
    head = ["list", "B", "grader", "slates", "M", "served, contiguous", "served, interleaved"]
    lines = ["", "## The grid", "", row([*head, *(TITLES[name] for name in columns)])]
    lines.append("|" + "---|" * (len(head) + len(columns)))
    for listed in LISTS:
        for width, design in [*((width, "reorder") for width in WIDTHS), (10, "order")]:
            for grader in ordered(cells):
                one = cells[grader].get(f"{listed}-B{width}-contiguous-{design}-plain")
                if one is None:
                    continue
                label = f"{width}, `order`" if design == "order" else str(width)
                dealt = None if design == "order" else interleaved_cell(cells, grader, listed, width)
                rows = "any" if one["order_free"] else str(one["rows"])
                lines.append(row([
                    listed, label, grader, str(len(one["ids"])), rows, shown(one, "served"),
                    shown(dealt, "served"), *(shown(one, name) for name in columns),
                ]))  # fmt: skip
    return lines


def interleaved_cell(cells: Cells, grader: str, listed: str, width: int) -> dict | None:
    name = f"{listed}-B{width}-interleaved-reorder-plain"
    return cells[grader].get(name) or (
        cells[grader].get(f"{listed}-{MIDDLE}-interleave") if width == 10 else None
    )


def row(parts: list[str]) -> str:
    return f"| {' | '.join(parts)} |"


def both(cells: Cells, grader: str, remedy: str, name: str, only: set | None = None):
    """Values of DL19 and DL20 together: (ids with their list, values)."""
    found = {}
    for listed in BM25:
        cell = cells.get(grader, {}).get(f"{listed}-{MIDDLE}-{remedy}")
        if cell is None:
            return None
        own = by_id(cell, name)
        found |= {(listed, key): v for key, v in own.items() if only is None or (listed, key) in only}
    return found


def compared(a: dict | None, b: dict | None) -> Paired | None:
    """b less a over the slates that both have, each collection counting the same."""
    if a is None or b is None:
        return None
    keys = [key for key in a if key in b]
    listed = [key[0] for key in keys]
    return paired(
        np.array([a[key] for key in keys]), np.array([b[key] for key in keys]), np.array(listed)
    )  # fmt: skip


def common_slates(cells: Cells) -> set:
    """Slates that every cell of the table of best buys has."""
    found: set | None = None
    for grader in cells:
        for remedy in remedies_of(cells, grader):
            values = both(cells, grader, remedy, "served")
            own = set(values or ())
            found = own if found is None else found & own
    return found or set()


def remedies_of(cells: Cells, grader: str) -> list[str]:
    """Remedies at B = 10 that both lists have."""
    start = [f"{listed}-{MIDDLE}-" for listed in BM25]
    names = [
        {name.removeprefix(s) for name in cells[grader] if name.startswith(s)} for s in start
    ]  # fmt: skip
    return sorted(names[0] & names[1], key=lambda name: (name != "plain", name))


def buy_lines(cells: Cells) -> list[str]:
    """The table of best buys: DL19 and DL20 together, the same slates for all, by overlap."""
    only = common_slates(cells)
    if not only:
        return []
    columns = ("served", "shuffled", "psi", "overlap_plain", "kept_plain")
    found = []
    for grader in ordered(cells):
        plain_cost = np.mean(
            list((both(cells, grader, "plain", "tokens", only) or {"": np.nan}).values())
        )
        for remedy in remedies_of(cells, grader):
            values = [both(cells, grader, remedy, name, only) for name in columns]
            stats = [compared(dict.fromkeys(one, 0.0), one) for one in values]
            cost = np.mean(list(both(cells, grader, remedy, "tokens", only).values())) / plain_cost
            fixed = cells[grader][f"dl19-{MIDDLE}-{remedy}"]["by_construction"]
            mark = " †" if fixed and remedy == "sorted" else ""
            cells_shown = [interval(one.difference, one.low, one.high) for one in stats]
            found.append((mark, -stats[3].difference, cost,
                          row([grader, remedy + mark, f"{cost:.2f}", *cells_shown])))  # fmt: skip
    titles = ["grader", "remedy", "tokens, of plain", *(TITLES[name] for name in columns)]
    said = f"DL19 and DL20, BM25, B = 10, {len(only)} slates, both sets counting the same, by overlap."
    head = ["", "## Best buys", "", said, "", row(titles), "|" + "---|" * len(titles)]
    floors = [f"{g} {np.mean(list((both(cells, g, 'plain', 'floor') or {'': np.nan}).values())):.4f}"
              for g in ordered(cells)]  # fmt: skip
    end = "† stable by construction: rows are other salts of the hash; not ranked. Noise floor of "
    return [*head, *(line for *_, line in sorted(found)), "", f"{end}tau-PSI: {', '.join(floors)}."]


def questions(cells: Cells) -> list[tuple[str, Paired]]:
    """The comparisons that part D asks for, as (words, b less a)."""
    best = [name for name in ordered(cells) if name not in ("stage1", "single")]
    asked = []
    for name in best:
        for value in ("overlap_plain", "psi", "shuffled"):
            for other, remedy in (
                ("stage1", "average10"),
                ("single", "plain"),
                ("single", "average10"),
            ):
                asked.append((f"{name} plain less {other} {remedy}, {TITLES[value]}",
                              (other, remedy), (name, "plain"), value))  # fmt: skip
    for name in ordered(cells):
        for remedy in remedies_of(cells, name):
            if remedy.startswith("adaptive"):
                asked.append((f"{name}: {remedy} less average10, overlap",
                              (name, "average10"), (name, remedy), "overlap_plain"))  # fmt: skip
        asked.append(
            (f"{name}: calibrate less plain, tau-PSI", (name, "plain"), (name, "calibrate"), "psi")
        )
        asked.append((f"{name}: interleave less plain, served",
                      (name, "plain"), (name, "interleave"), "served"))  # fmt: skip
        asked.append((f"{name}: isolated less plain, shuffled",
                      (name, "plain"), (name, "isolated"), "shuffled"))  # fmt: skip
    found = []
    for words, a, b, value in asked:
        one = compared(both(cells, *a, value), both(cells, *b, value))
        if one is not None:
            found.append((words, one))
    return found


def pairs_of(cells: Cells, name: str, width: int, listed: str) -> list[tuple[str, str, list]]:
    """(kind of question, words, two cells and the value) of one place of the grid."""
    graders = ordered(cells)
    found = [
        ("arms", f"{arm} less single, {listed}, B={width}", "psi",
         [cells.get(grader, {}).get(name) for grader in ("single", arm)])
        for arm in graders if arm not in ("stage1", "single")
    ]  # fmt: skip
    return found + [
        ("rules", f"{grader}, {listed}, B={width}", "served",
         [cells[grader].get(name), interleaved_cell(cells, grader, listed, width)])
        for grader in graders
    ]  # fmt: skip


def grid_tests(cells: Cells, kind: str) -> list[tuple[str, Paired]]:
    """The best arm less single-order in every cell, or interleaved less contiguous."""
    found = []
    for listed in LISTS:
        for width in WIDTHS[1:]:
            name = f"{listed}-B{width}-contiguous-reorder-plain"
            for own, words, value, pair in pairs_of(cells, name, width, listed):
                if own == kind and all(pair):
                    a, b = ({(listed, k): v for k, v in by_id(c, value).items()} for c in pair)
                    found.append((words, compared(a, b)))
    return found


def test_lines(title: str, found: list[tuple[str, Paired]]) -> list[str]:
    if not found:
        return []
    lines = [
        "",
        f"### {title}",
        "",
        "| difference | mean, 95% interval | slates | p, Holm over these |",
    ]
    lines.append("|---|---|---|---|")
    for (words, one), p in zip(found, holm([one.p for _, one in found]), strict=True):
        mean = f"{one.difference:+.4f} [{one.low:+.4f}, {one.high:+.4f}]"
        lines.append(row([words, mean, str(one.n), "–" if np.isnan(p) else f"{p:.4f}"]))
    return lines


def pool_lines(cells: Cells) -> list[str]:
    """Pool-PSI: one member exchanged for the reserve."""
    lines = []
    for grader in ordered(cells):
        for listed in BM25:
            pair = [
                cells[grader].get(f"{listed}-B10-contiguous-membership-{r}")
                for r in ("plain", "sorted")
            ]
            if all(pair):
                lines.append(row([grader, listed, *(shown(one, "pool") for one in pair)]))
    head = [
        "",
        "## One member exchanged (Pool-PSI)",
        "",
        "| grader | list | plain | sorted |",
        "|---|---|---|---|",
    ]
    return head + lines if lines else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, nargs="?", default=HERE / "results")
    parser.add_argument("--out", type=Path, default=HERE / "README.md")
    args = parser.parse_args()
    cells = read(args.results)
    lines = [*buy_lines(cells), *test_lines("Questions about best buys", questions(cells))]
    lines += [
        *pool_lines(cells),
        *grid_lines(cells),
        *test_lines(ARMS, grid_tests(cells, "arms")),
        *test_lines(RULES, grid_tests(cells, "rules")),
    ]
    lines += [*teacher_lines(args.results), *recipe_lines(args.results)]
    args.out.write_text((HERE / "README.head.md").read_text() + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
