"""Remedies on one trained grader at B = 10: what each gives and what it costs.

    python remedies.py stage1=stage1/model.safetensors DATA results [--dry-run]

Averages and adaptive orders are judged over four disjoint ensembles a slate: each row
draws orders of its own, the canonical one too, so it is one of the four. Prompts that two remedies
share are read once; what is reported as cost is what each takes alone. adaptive settles at
the 80% quantile of the plain grader's canonical row, and every overlap in the table of
best buys is at that threshold. Options and files are those of `run.py`.
"""

from __future__ import annotations

import json

from measured import opened, read_cells
from run import BM25
from shared import ENSEMBLES, Cell, chosen_cells, options, slates_of_list

ALPHAS = (0.3, 0.6, 0.15)
HALF = 2  # every second slate, where a slate costs tens of rows


def ensembles(name: str, remedy: str, price: float, every: int = HALF) -> Cell:
    rows = ENSEMBLES - 1
    return Cell(name, rows=rows, every=every, remedy=remedy, ensembles=True, price=price)


def cells_of(name: str) -> list[Cell]:
    """The cells of one list; prices are of prompts that no cell before has read."""
    found = [
        Cell(name, repeat=None),
        Cell(name, remedy="calibrate", price=0.1),
        Cell(name, remedy="isolated", rows=0, repeat=10),
        ensembles(name, "average:10", 40),
        ensembles(name, "average:4", 0),
        ensembles(name, "average:2", 0),
    ]
    # The first two orders of each row are those of all alphas.
    prices = (8 + 8, 4, 12)
    found += [
        ensembles(name, f"adaptive:threshold=T,alpha={alpha}", price)
        for alpha, price in zip(ALPHAS, prices, strict=True)
    ]
    found += [
        Cell(name, remedy="interleave", rows=2),
        ensembles(name, "sorted", ENSEMBLES),
        Cell(name, design="membership", rows=4, every=HALF),
        Cell(name, design="membership", rows=4, every=HALF, remedy="sorted"),
    ]
    return found


def main() -> None:
    args = options(__doc__).parse_args()
    asked = chosen_cells(args, [cell for name in BM25 for cell in cells_of(name)])
    if args.dry_run:
        return
    grader = opened(args)

    def threshold_of(cell: Cell) -> float | None:
        return None if is_plain(cell) else plain_threshold(args, grader[0], cell)

    for name in BM25:
        own = [cell for cell in asked if cell.list == name]
        grader[1].known.clear()
        lists = {name: slates_of_list(args.data, name, args.limit, args.depth)}
        if own and not read_cells(args, grader, own, lists, threshold_of):
            break


def is_plain(cell: Cell) -> bool:
    return cell == Cell(cell.list, repeat=None)


def plain_threshold(args, name: str, cell: Cell) -> float:
    """The 80% quantile of the plain grader's canonical row."""
    path = args.out / name / f"{Cell(cell.list).name}.json"
    if not path.exists():
        raise SystemExit(f"{cell.name} needs {path} first: its threshold")
    return round(json.loads(path.read_text())["thresholds"]["own"], 6)


if __name__ == "__main__":
    main()
