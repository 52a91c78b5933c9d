"""How wide the columns of a table are, so that no number is ever cut."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

# A cell has a space on both sides and a line before it; one line closes the table.
_AROUND = 3
_CLOSE = 1


def whole_widths(heads: Sequence[str], rows: Sequence[Sequence[str]], *, fold: bool) -> list[int]:
    """Return the width of each column that shows every cell on one line.

    Args:
        heads: of the columns.
        rows: their cells.
        fold: heads may break at spaces; otherwise they stand on one line too.
    """
    return [
        max(
            *(cell_len(word) for word in (head.split() if fold else [head])),
            *(cell_len(row[at]) for row in rows),
            1,
        )
        for at, head in enumerate(heads)
    ]


def table_width(widths: Sequence[int]) -> int:
    """Return the width of a drawn table with columns of these widths."""
    return sum(width + _AROUND for width in widths) + _CLOSE


def packed(widths: Sequence[int], width: int) -> list[list[int]]:
    """Return the columns of each table, where a page is too narrow for all in one.

    The first column stands in every table, and each holds one more at least.

    Args:
        widths: of the columns. width: of the page.
    """
    tables: list[list[int]] = [[0]]
    for at in range(1, len(widths)):
        wanted = [*tables[-1], at]
        if len(wanted) > 2 and table_width([widths[one] for one in wanted]) > width:
            tables.append([0, at])
        else:
            tables[-1] = wanted
    return tables
