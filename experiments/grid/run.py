"""The grid: one trained grader under other widths, window rules, lists and designs.

    python run.py stage1=stage1/model.safetensors DATA results [--dry-run]

One JSON a cell with per-slate values under OUT/NAME/; a cell that is there is not read
again, and one of other weights or slates is refused. Cells stand in the order of what
they are worth: `--tokens 50` stops before the cell that would pass 50 M tokens.

Interleaved cells read the canonical row alone: B divides every list, so a random order
cut round-robin is a random order cut contiguously, and only what is served differs.
At B = 1 nothing depends on order. `remedies.py` measures the cell in the middle (BM25,
B = 10, M = 10) and interleaved random rows.
"""

from __future__ import annotations

from measured import opened, read_cells
from shared import LISTS, Cell, chosen_cells, options, slates_of_list

BM25 = ("dl19", "dl20")
SPLADE = ("dl19-splade", "dl20-splade")
SMALL = ("novel", "cran")
FLOOR = 10  # slates whose canonical row is read twice, for the noise floor


def both_rules(name: str, width: int, rows: int, every: int = 1) -> list[Cell]:
    found = [Cell(name, width, rows=rows, every=every, repeat=FLOOR)]
    # One window has nothing to deal.
    if width < LISTS[name].length:
        found.append(Cell(name, width, rule="interleaved", rows=0, every=every))
    return found


def alone(name: str, every: int = 1) -> Cell:
    return Cell(name, 1, rows=0, every=every, repeat=FLOOR)


def cells() -> list[Cell]:
    """All cells, the most wanted first."""
    found = [one for name in BM25 for one in both_rules(name, 20, 2)]
    found += [alone(name) for name in BM25]
    found += [one for name in SPLADE for one in both_rules(name, 10, 2)]
    found += [
        one
        for width in (10, 4, 20)
        for name in SMALL
        for one in both_rules(name, width, 10 if name == "novel" else 4)
    ]
    found += [alone(name) for name in SMALL]
    # Companions stay, slots move: beside the reorder cell of the same slates.
    found += [Cell(name, design="order", rows=4, every=2, repeat=FLOOR) for name in BM25]
    found += [Cell(name, design="order", rows=10, repeat=FLOOR) for name in SMALL[:1]]
    for width in (4, 50):
        found += [one for name in BM25 for one in both_rules(name, width, 2, every=2)]
    for width in (20, 4, 50):
        found += [one for name in SPLADE for one in both_rules(name, width, 2, every=2)]
    found += [alone(name, every=2) for name in SPLADE]
    return found


def main() -> None:
    args = options(__doc__).parse_args()
    asked = chosen_cells(args, cells())
    if args.dry_run:
        return
    grader = opened(args)
    names = dict.fromkeys(cell.list for cell in asked)
    lists = {name: slates_of_list(args.data, name, args.limit, args.depth) for name in names}
    # Plain cells: each has its own threshold.
    read_cells(args, grader, asked, lists, lambda cell: None)


if __name__ == "__main__":
    main()
