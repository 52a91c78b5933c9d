"""Writes the tables of docs/names.md from MEASURES: python docs/measures_table.py."""

from __future__ import annotations

from pathlib import Path

from evenhand.measure.entry import Entry
from evenhand.measure.grammar import Option
from evenhand.measure.registry import MEASURES

PAGE = Path(__file__).resolve().parent / "names.md"
HEAD = "| name | what it says | options | `@k` | order-free |\n|---|---|---|---|---|\n"
KINDS = {"stability": "Stability", "decision": "Decisions", "quality": "Quality"}
BEGIN = "<!-- tables: python docs/measures_table.py -->\n\n"
END = "\n<!-- end of the tables -->\n"
_CUTOFF = {"none": "", "optional": "may stand", "required": "needed"}


def option(name: str, one: Option) -> str:
    """Return an option with what it takes and its default, as in `ties` half or strict (half)."""
    takes = " or ".join(one.takes) if isinstance(one.takes, tuple) else one.needs
    default = "as fitted" if one.default is None else one.default
    return f"`{name}`: {takes} ({default})"


def row(name: str, entry: Entry) -> str:
    """Return the line of one measure."""
    options = "; ".join(option(*pair) for pair in entry.options.items())
    stable = "depends" if entry.stable is None else f"{entry.stable:g}"
    cells = (f"`{name}`", entry.about, options, _CUTOFF[entry.cutoff], stable)
    return f"| {' | '.join(cells)} |\n"


def table() -> str:
    """Return a table for each kind, its rows in the order of MEASURES."""
    parts = []
    for kind, title in KINDS.items():
        rows = [row(*pair) for pair in MEASURES.items() if pair[1].kind == kind]
        parts.append(f"## {title}\n\n{HEAD}{''.join(rows)}")
    return "\n".join(parts)


def filled(page: str) -> str:
    """Return the page with the tables put in between its two marks."""
    before, _, rest = page.partition(BEGIN)
    return before + BEGIN + table() + END + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
