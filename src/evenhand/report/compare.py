"""A comparison of systems as text, Markdown and JSON."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from evenhand.measure.paired import Paired
from evenhand.report.clean import markdown_cell, one_line
from evenhand.report.columns import table_width, whole_widths
from evenhand.report.digits import NONE, number
from evenhand.study.against.compare import Compared, Comparison
from evenhand.study.counted import counted

HEADINGS = (
    "measure",
    "baseline",
    "other",
    "difference",
    "p",
    "p, Holm",
    "sign flips",
    "dz",
    "rank-biserial",
    "pairs",
    "detectable",
    "noise floor",
    "says",
)
_SAYS = {
    "differs": "differs",
    "within noise": "within the noise floor",
    "not shown": "no difference shown",
    "withheld": "withheld",
}
_WIDTH = 190
# Left out where the page is narrow; Markdown and JSON have them.
_WIDE_ONLY = ("p", "sign flips", "dz", "rank-biserial")
_NARROW = 150


def cells(row: Comparison) -> tuple[str, ...]:
    """Return the cells of one comparison, under HEADINGS."""
    found = row.paired
    interval = "" if math.isnan(found.low) else f" [{number(found.low)}, {number(found.high)}]"
    aside = [f"{found.missing} missing"] if found.missing else []
    aside += [f"{row.undefined} undefined"] if row.undefined else []
    return (
        row.measure,
        number(found.mean_a),
        number(found.mean_b),
        _signed(found.difference) + interval,
        probability(found.p),
        probability(row.adjusted),
        probability(found.p_permutation) + (" exact" if found.exact else ""),
        number(found.dz, 2),
        number(found.rank_biserial, 2),
        ", ".join([str(found.n), *aside]),
        number(found.detectable),
        " / ".join(number(floor) for floor in row.floors),
        _SAYS[row.verdict],
    )


def _signed(value: float) -> str:
    text = number(value)
    return f"+{text}" if value > 0 and float(text) else text


def probability(p: float) -> str:
    """Return a p-value with four digits, never as 0; a dash where there is none."""
    if math.isnan(p):
        return NONE
    return "<.0001" if p < 0.0001 else number(p, 4)


def pairs_of(compared: Compared) -> dict[tuple[str, str], list[Comparison]]:
    """Return the comparisons by (baseline, other), in order."""
    found: dict[tuple[str, str], list[Comparison]] = {}
    for row in compared.rows:
        found.setdefault((row.baseline, row.other), []).append(row)
    return found


def settings_line(compared: Compared) -> str:
    """Return the settings that travel with every number, in one sentence."""
    settings = compared.settings
    width = settings.get("width")
    changed = {line.partition(":")[0] for line in compared.differing}
    known = {
        "random rows M": settings.get("rows"),
        "window width B": "whole slate" if width is None else width,
        "window rule": settings.get("rule"),
        "design": settings.get("design"),
        "seed": settings.get("seed"),
    }
    keys = dict(zip(known, ("rows", "width", "rule", "design", "seed"), strict=True))
    words = [f"{label} {value}" for label, value in known.items() if keys[label] not in changed]
    return "; ".join([f"slates {' + '.join(map(str, compared.slates))}", *words])


def method_lines(compared: Compared) -> list[str]:
    """Return how the numbers were made, a sentence each."""
    options = compared.options
    found = [row.paired for row in compared.rows]
    drawn = "; ".join(dict.fromkeys(one.resampled for one in found if one.resampled)) or "nothing"
    lines = [
        f"Interval: {options.level:.0%} of one comparison, not corrected for their number; percentile "
        f"of {options.draws:,} paired bootstrap draws; resampled: {drawn}.",
        f"p: {_tests(found)}. p, Holm: corrected over {counted(compared.family, 'comparison')}; it "
        "decides what is said, and may disagree with the interval.",
        f"Detectable: smallest true difference found with power {options.power:.0%}, before the "
        "correction. Noise floor: how far the same presentation scored twice is from agreement, "
        "baseline / other.",
    ]
    if compared.differing:
        lines.append(f"Beside the scorer, the runs differ in {'; '.join(compared.differing)}.")
    return lines


def _tests(compared: Sequence[Paired]) -> str:
    """Return which tests the p-values come from."""
    names = {found.test for found in compared}
    said = []
    if "bootstrap" in names:
        said.append("two-sided, of the draws of the interval")
    if "permutation" in names:
        few = " where at most 16 slates differ" if "bootstrap" in names else ""
        said.append(
            f"the exact permutation (sign-flip) test{few}, which is another test than the interval"
        )
    return "; ".join(said) or "none"


def systems_lines(compared: Compared) -> list[str]:
    """Return a line per system: its scorers and the folders of its runs."""
    return [
        f"{system.name}: {', '.join(system.scorers)}; "
        + " + ".join(", ".join(group) for group in system.runs)
        for system in compared.systems
    ]


def render(compared: Compared, *, width: int = _WIDTH) -> RenderableType:
    """Return tables, settings and notes, to print with rich.

    Args:
        compared: the comparisons.
        width: of the page; a narrow one shows the columns that decide, and one too narrow
            for those a block of lines for each measure.
    """
    parts: list[RenderableType] = []
    for (baseline, other), rows in pairs_of(compared).items():
        title = Text(one_line(f"{other} against {baseline} (difference = {other} - {baseline})"))
        parts.append(_grid(title, rows, width))
    lines = [*systems_lines(compared), settings_line(compared), *method_lines(compared)]
    parts += [Text(one_line(line), style="dim") for line in lines]
    parts += [Text(one_line(f"note {note}"), style="yellow") for note in compared.notes]
    return Group(*parts)


def _grid(title: Text, rows: Sequence[Comparison], width: int) -> RenderableType:
    """Return one pair's comparisons as a table, or as blocks where a table would cut numbers."""
    kept = [at for at, head in enumerate(HEADINGS) if width >= _NARROW or head not in _WIDE_ONLY]
    heads = [HEADINGS[at] for at in kept]
    shown = [[one_line(cells(row)[at]) for at in kept] for row in rows]
    styles = ["" if row.verdict == "differs" else "dim" for row in rows]
    tried = (whole_widths(heads, shown, fold=fold) for fold in (False, True))
    widths = next((found for found in tried if table_width(found) <= width), None)
    if widths is None:
        pairs = zip(shown, styles, strict=True)
        return Group(title, *(_block(heads, line, style) for line, style in pairs))
    grid = RichTable(title=title, title_justify="left")
    for head, each in zip(heads, widths, strict=True):
        grid.add_column(head, width=each)
    for line, style in zip(shown, styles, strict=True):
        grid.add_row(*(Text(cell, style=style) for cell in line))
    return grid


def _block(heads: Sequence[str], line: Sequence[str], style: str) -> Text:
    """Return one comparison with a line for each of its numbers."""
    across = max(map(len, heads)) + 2
    pairs = zip(heads[1:], line[1:], strict=True)
    return Text(
        "\n".join([line[0], *(f"  {head:<{across}}{cell}" for head, cell in pairs)]), style=style
    )


def to_text(compared: Compared, *, width: int = _WIDTH) -> str:
    """Return the same as plain text without colour, `width` columns wide."""
    console = Console(file=io.StringIO(), width=width, color_system=None, force_terminal=False)
    console.print(render(compared, width=width))
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"


def to_markdown(compared: Compared, *, title: str = "Comparison") -> str:
    """Return the comparison as a Markdown document; names from outside cannot become markup."""
    lines = [f"# {markdown_cell(title)}", ""]
    for (baseline, other), rows in pairs_of(compared).items():
        lines += [f"## {markdown_cell(other)} against {markdown_cell(baseline)}", ""]
        lines += [_line(HEADINGS), _line(["---"] * len(HEADINGS))]
        lines += [_line([markdown_cell(cell) for cell in cells(row)]) for row in rows]
        lines.append("")
    said = [*systems_lines(compared), settings_line(compared), *method_lines(compared)]
    lines += [f"- {markdown_cell(line)}" for line in said]
    lines += [f"- **note** {markdown_cell(note)}" for note in compared.notes]
    return "\n".join([*lines, ""])


def _line(words: Sequence[str]) -> str:
    return "| " + " | ".join(words) + " |"


def to_dict(compared: Compared) -> dict[str, Any]:
    """Return the comparison as JSON values; what is not a number is null."""
    rows = [
        {
            "baseline": row.baseline,
            "other": row.other,
            "measure": row.measure,
            **_plain(asdict(row.paired)),
            "undefined": row.undefined,
            "p_holm": _number(row.adjusted),
            "noise_floor": [_number(floor) for floor in row.floors],
            "exceeds_noise": row.exceeds_noise,
            "verdict": row.verdict,
        }
        for row in compared.rows
    ]
    return {
        "systems": [
            {"name": s.name, "scorers": list(s.scorers), "runs": [list(group) for group in s.runs]}
            for s in compared.systems
        ],
        "comparisons": rows,
        "family": compared.family,
        "slates": list(compared.slates),
        "settings": dict(compared.settings),
        "differing": list(compared.differing),
        "match_retention": compared.matched,
        "missing_scores": compared.missing_scores,
        "notes": list(compared.notes),
        "options": _plain(asdict(compared.options)),
    }


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _number(v) if isinstance(v, float) else v for key, v in values.items()}


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
