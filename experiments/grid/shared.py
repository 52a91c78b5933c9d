"""What the scripts of the grid share: lists, cells, options, files of results."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

GRADER = Path(__file__).resolve().parent.parent / "grader"
sys.path.append(str(GRADER))

from common import SURFACE  # noqa: E402, F401

from evenhand.data import load_slates  # noqa: E402
from evenhand.seeds import content_hash  # noqa: E402
from evenhand.study.plain import plain  # noqa: E402
from evenhand.types import Slate  # noqa: E402

MEASURE = "nDCG@10"
ENSEMBLES = 4
# Tokens of a prompt for each of its candidates, counted over four slates of each list.
PER_CANDIDATE = {1: 222, 4: 107, 10: 85, 20: 77, 50: 72}
BLIND = 100  # the same at B = 10 where candidates are isolated


@dataclass(frozen=True)
class Listed:
    """A list of slates: its folder and options of reading, how many and how long, every which."""

    folder: str
    options: dict
    slates: int
    length: int = 100
    every: int = 1


LISTS = {
    "dl19": Listed("trec_dl19", {"run": "BM25", "depth": 100}, 43),
    "dl20": Listed("trec_dl20", {"run": "BM25", "depth": 100}, 54),
    "dl19-splade": Listed("trec_dl19", {"run": "SPLADE", "depth": 100}, 43),
    "dl20-splade": Listed("trec_dl20", {"run": "SPLADE", "depth": 100}, 54),
    "novel": Listed("noveleval", {}, 21, 20),
    # The pairs of exclude.tsv are left out as the folder is read.
    "cran": Listed("cran", {"form": "bm25", "depth": 20}, 225, 20, every=3),
}


@dataclass(frozen=True)
class Cell:
    """One file of results: what is shown how, and behind which remedy.

    Attributes:
        rows: M; 0 = the canonical row alone. every: which slates of the list.
        remedy: a text that `evenhand.remedy` reads; "" = none.
        ensembles: the canonical row's draws are as good as any other's, so it is one of
            the rows that stability and shuffled quality are of.
        repeat: slates whose canonical row is read again, in other batches; None = all.
        price: tokens to read, in those of as many plain rows; None = rows of this cell.
    """

    list: str
    width: int = 10
    rule: str = "contiguous"
    design: str = "reorder"
    rows: int = 10
    every: int = 1
    remedy: str = ""
    ensembles: bool = False
    repeat: int | None = 0
    price: float | None = None

    @property
    def name(self) -> str:
        label = self.remedy.replace(":threshold=T,alpha=", "").replace(":", "") or "plain"
        return f"{self.list}-B{self.width}-{self.rule}-{self.design}-{label}"

    @property
    def count(self) -> int:
        held = LISTS[self.list]
        return math.ceil(math.ceil(held.slates / held.every) / self.every)

    def tokens(self) -> int:
        """Tokens that this cell reads, about."""
        again = self.count if self.repeat is None else min(self.repeat, self.count)
        rows = (1 + self.rows if self.price is None else self.price) * self.count + again
        per = BLIND if self.remedy == "isolated" else PER_CANDIDATE[self.width]
        return round(rows * LISTS[self.list].length * per)


def slates_of_list(data: Path, name: str, limit: int | None, depth: int | None) -> list[Slate]:
    """Slates of a list; a try takes the first `limit`, cut to `depth` candidates."""
    held = LISTS[name]
    options = {**held.options, "depth": depth} if depth and held.options else held.options
    return list(load_slates(data / held.folder, **options))[:: held.every][:limit]


def write(path: Path, record: dict) -> None:
    """Write a JSON whole; what is no number is null."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(plain(rounded(record))))
    partial.replace(path)


def rounded(value):
    """Floats to seven digits: a file of values is read by people, too."""
    if isinstance(value, float):
        return float(f"{value:.7g}")
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    return [rounded(one) for one in value] if isinstance(value, (list, tuple)) else value


def options(text: str) -> argparse.ArgumentParser:
    """The options that both scoring scripts have."""
    parser = argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("grader", help="NAME=FILE, FILE as stage1.py or arms.py write it")
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--base", default="smollm2-135m")
    parser.add_argument("--only", nargs="*", help="cells whose names hold one of these")
    parser.add_argument("--tokens", type=float, help="millions to read at most; later cells are left")
    parser.add_argument("--limit", type=int, help="so many slates a list, for a try")
    parser.add_argument("--depth", type=int, help="so many candidates a slate, for a try")
    parser.add_argument("--dry-run", action="store_true", help="print cells and tokens, read nothing")
    return parser


def chosen_cells(args, cells: Sequence[Cell]) -> list[Cell]:
    """Cells that are asked for, their tokens printed."""
    asked = [c for c in cells if not args.only or any(word in c.name for word in args.only)]
    total = 0
    for cell in asked:
        total += cell.tokens()
        print(f"{cell.tokens() / 1e6:7.2f} M, {total / 1e6:6.1f} M so far  {cell.count:3} slates  "
              f"M={cell.rows:<2} {cell.name}")  # fmt: skip
    for rate in (400_000, 1_000_000):
        print(f"at {rate:,} tokens/s: {total / rate:.0f} s", flush=True)
    return asked


def put(model, weights) -> None:
    """Set a model's weights by name."""
    import torch

    with torch.no_grad():
        for name, value in model.named_parameters():
            value.copy_(weights[name].float())
            value.grad = None


def identity(weights: str, cell: Cell, slates: Sequence[Slate]) -> str:
    """Hash of all that a cell's values depend on, its remedy's threshold aside."""
    shown = [cell.name, cell.rows, cell.every, cell.ensembles, [slate.id for slate in slates]]
    return content_hash([weights, shown, [len(slate) for slate in slates]])[:16]


def there(path: Path, key: str) -> bool:
    """Whether a cell is on disk; one of something else is an error."""
    if not path.exists():
        return False
    if json.loads(path.read_text())["identity"] != key:
        raise SystemExit(f"{path} is of other weights, rows or slates; delete it or write elsewhere")
    return True


def training_options(parser: argparse.ArgumentParser) -> None:
    """Add what the scripts that train take."""
    parser.add_argument("--rows", type=int, default=4, help="M of the looks")
    parser.add_argument("--lists", type=int, help="so many short lists to look at, for a try")
    parser.add_argument("--windows", type=int, default=64)
    parser.add_argument("--budget", type=int, default=65536)
    parser.add_argument("--plain", action="store_true", help="float32, nothing compiled: on a CPU")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--dry-run", action="store_true")
