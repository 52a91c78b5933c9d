"""Horizontal bars with intervals, several series beside each other, as Plotly JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.report.figures import Figure, framed, graph_objects, label
from evenhand.types import Estimate, FloatArray

# Marks figures whose legend the page prints.
KEYED = "keyed"
_BAR = 17
_AROUND = 62
_LEAST = 40


@dataclass(frozen=True, slots=True)
class Series:
    """One bar for each row of the figure; None or NaN = no bar.

    Attributes:
        name: in the legend. colour: CSS colour.
        estimates: one per row, with their intervals.
        marker: a mark at the value instead of a bar.
    """

    name: str
    colour: str
    estimates: tuple[Estimate | None, ...]
    marker: bool = False


def bars(
    rows: Sequence[str], series: Sequence[Series], axis: str, *, most: float | None = 1.0
) -> Figure:
    """Return bars by row, the first row on top and, in each row, the first series on top.

    Args:
        rows: names of the rows, all different.
        series: what is drawn of each row.
        axis: what the numbers are.
        most: end of the axis; None = what the numbers need.
    """
    go = graph_objects()
    figure = go.Figure()
    names = [label(row) for row in rows]
    for place, one in enumerate(series):
        means, low, high = _values(one.estimates)
        shared = {
            "x": means,
            "y": names,
            "name": label(one.name),
            "error_x": _whiskers(means, low, high),
            "customdata": np.stack([low, high], axis=1),
            "hovertemplate": "%{y}<br>%{x:.3f} [%{customdata[0]:.3f}, %{customdata[1]:.3f}]"
            + f"<extra>{label(one.name)}</extra>",
            "legendrank": place,
        }
        if one.marker:
            mark = {"color": one.colour, "size": 10, "symbol": "diamond", "line": {"width": 1.5}}
            figure.add_scatter(mode="markers", marker=mark, **shared)
        else:
            # A bar of length 0 cannot be seen; one that is undefined is not there.
            zero = ["0" if value == 0 else "" for value in means]
            shared |= {"text": zero, "textposition": "outside"}
            figure.add_bar(orientation="h", marker={"color": one.colour}, **shared)
    beside = sum(not one.marker for one in series)
    figure = framed(figure, axis, "", height=_AROUND + len(names) * max(_LEAST, beside * _BAR))
    figure.update_layout(barmode="group", bargap=0.25, margin={"l": 16, "r": 16, "t": 8, "b": 48})
    # Plotly's own legend narrows the bars beside long names; the page prints one.
    figure.update_layout(showlegend=False, meta=KEYED)
    # From the bottom up by nature; the page reads from the top down.
    figure.update_yaxes(automargin=True, autorange="reversed", type="category", ticks="")
    figure.update_xaxes(rangemode="tozero", range=None if most is None else [0, most])
    return figure


def key_of(figure: Figure) -> list[tuple[str, str, bool]]:
    """Return (name, colour, whether it is a mark) of each series that a page prints a legend for."""
    if figure.layout.meta != KEYED or len(figure.data) < 2:
        return []
    return [(one.name, one.marker.color, one.type == "scatter") for one in figure.data]


def _whiskers(means: FloatArray, low: FloatArray, high: FloatArray) -> dict[str, Any]:
    shared = {"type": "data", "symmetric": False, "array": high - means, "arrayminus": means - low}
    look = {"color": "#39424c", "thickness": 1.2, "width": 3, "visible": bool(np.any(high > low))}
    return {**shared, **look}


def _values(estimates: Sequence[Estimate | None]) -> tuple[FloatArray, FloatArray, FloatArray]:
    found = [(np.nan,) * 3 if one is None else (one.mean, one.low, one.high) for one in estimates]
    mean, low, high = np.array(found, dtype=np.float64).reshape(-1, 3).T
    return mean, np.where(np.isnan(low), mean, low), np.where(np.isnan(high), mean, high)
