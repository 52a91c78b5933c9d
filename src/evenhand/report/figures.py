"""The figures of the HTML report, as Plotly JSON."""

from __future__ import annotations

import html
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from evenhand.errors import MissingExtraError
from evenhand.report.clean import one_line
from evenhand.study.analysis import Analysis, Curve

Figure = Any
"""A plotly.graph_objects.Figure; plotly is optional and has no types."""

# Okabe and Ito's colours: told apart with every common colour vision.
BLUE, ORANGE, GREEN, PINK, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#6b7580"
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
_GRID = "#e4e7eb"
CURVES = {
    "overlap": ("overlap", BLUE, "solid"),
    "overlap_without_empty": ("overlap, empty pairs left out", ORANGE, "dash"),
    "retained": ("retained share", GREY, "dot"),
}


def graph_objects() -> ModuleType:
    """Return plotly.graph_objects.

    Raises:
        MissingExtraError: plotly is not installed.
    """
    try:
        import plotly.graph_objects as go
    except ImportError:
        raise MissingExtraError("plotly", "report") from None
    module: ModuleType = go
    return module


def plotly_script() -> str:
    """Return Plotly's JavaScript, safe to stand inside one script element.

    Raises:
        MissingExtraError: plotly is not installed.
    """
    graph_objects()
    from plotly.offline import get_plotlyjs

    script: str = get_plotlyjs()
    return script.replace("\r\n", "\n").replace("</script", "<\\/script")


def label(text: object) -> str:
    """Return text that Plotly shows as it is; it reads some HTML in labels."""
    return html.escape(one_line(str(text), 60))


def framed(figure: Figure, x: str, y: str, height: int = 300) -> Figure:
    """Return a figure in the look of the page, its axes named."""
    axis = {
        "gridcolor": _GRID,
        "zeroline": False,
        "linecolor": "#c3c9d0",
        "ticks": "outside",
        "ticklen": 4,
    }
    figure.update_layout(
        template="none",
        height=height,
        margin={"l": 56, "r": 16, "t": 12, "b": 48},
        font={"family": _FONT, "size": 13, "color": "#39424c"},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        xaxis={**axis, "title": {"text": x, "standoff": 8, "font": {"size": 12}}},
        yaxis={**axis, "title": {"text": y, "standoff": 8, "font": {"size": 12}}},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "font": {"size": 12}},
        hoverlabel={"font": {"family": _FONT, "size": 12}},
    )
    return figure


def slot_figure(curve: Curve) -> Figure:
    """Return mean score by slot; a flat line means that the slot does not matter."""
    go = graph_objects()
    figure = go.Figure()
    figure.add_scatter(
        x=np.asarray(curve.x) + 1,
        y=np.asarray(curve.y["score"]),
        mode="lines+markers",
        line={"color": BLUE, "width": 2.5},
        marker={"size": 7},
        hovertemplate="slot %{x}<br>mean score %{y:.3f}<extra></extra>",
    )
    figure = framed(figure, "slot in the window", "mean score")
    figure.update_xaxes(range=[0.5, len(curve.x) + 0.5], nticks=11, tickformat="d")
    return figure


def overlap_figure(curve: Curve, thresholds: Sequence[float]) -> Figure:
    """Return agreement of the retained sets at each threshold, the fitted ones marked."""
    go = graph_objects()
    figure = go.Figure()
    for name, values in curve.y.items():
        shown, colour, dash = CURVES.get(name, (name.replace("_", " "), PINK, "dashdot"))
        figure.add_scatter(
            x=np.asarray(curve.x),
            y=np.asarray(values),
            name=label(shown),
            mode="lines",
            line={"color": colour, "width": 2.5, "dash": dash},
            hovertemplate="threshold %{x:.3f}<br>%{y:.3f}<extra>" + label(shown) + "</extra>",
        )
    figure = framed(figure, "threshold", "share")
    figure.update_yaxes(range=[-0.02, 1.04])
    for value in sorted({float(t) for t in thresholds if np.isfinite(t)}):
        figure.add_vline(x=value, line={"color": "#39424c", "width": 1, "dash": "dot"})
    return figure


def distribution_figure(
    names: Sequence[str], analyses: Sequence[Analysis], measure: str = "tauPSI"
) -> Figure:
    """Return the per-slate values of one measure, a box and its slates per result."""
    go = graph_objects()
    figure = go.Figure()
    for name, analysis in reversed(list(zip(names, analyses, strict=True))):
        values = np.asarray(analysis.per_slate.get(measure, ()), dtype=np.float64)
        figure.add_box(
            x=values,
            name=label(name),
            text=[label(slate) for slate in analysis.slate_ids],
            boxpoints="all" if len(values) <= 300 else "outliers",
            jitter=0.5,
            pointpos=0,
            marker={"color": BLUE, "size": 6, "opacity": 0.55},
            line={"color": "#39424c", "width": 1.2},
            fillcolor="rgba(0,114,178,0.10)",
            hovertemplate="%{text}<br>" + label(measure) + " %{x:.3f}<extra></extra>",
        )
    figure = framed(figure, "tau-PSI of a slate", "", height=96 + 56 * max(2, len(names)))
    figure.update_layout(showlegend=False, margin={"l": 16, "r": 16, "t": 22, "b": 48})
    figure.update_xaxes(rangemode="tozero", range=[-0.02, _upper(analyses, measure)])
    figure.update_yaxes(automargin=True)
    figure.add_vline(x=0.5, line={"color": ORANGE, "width": 1.5, "dash": "dash"})
    figure.add_annotation(
        x=0.5,
        y=1,
        yref="paper",
        text="unrelated",
        showarrow=False,
        xanchor="left",
        xshift=5,
        yanchor="top",
    )
    return figure


def _upper(analyses: Sequence[Analysis], measure: str) -> float:
    values = [np.asarray(a.per_slate.get(measure, ()), dtype=np.float64) for a in analyses]
    joined = np.concatenate(values) if values else np.empty(0)
    joined = joined[np.isfinite(joined)]
    return float(max(0.6, joined.max() + 0.03 if len(joined) else 0.6))
