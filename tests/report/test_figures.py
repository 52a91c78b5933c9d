import sys

import numpy as np
import pytest

from evenhand.errors import MissingExtraError
from evenhand.report import figures
from evenhand.study.analysis import Curve

pytest.importorskip("plotly", reason="plotly comes with the report extra")


def test_slots_are_counted_from_one_on_the_axis():
    figure = figures.slot_figure(Curve(np.arange(3.0), {"score": np.array([0.6, 0.5, 0.4])}))
    assert list(figure.data[0].x) == [1, 2, 3]
    assert list(figure.data[0].y) == [0.6, 0.5, 0.4]


def test_the_overlap_figure_marks_each_threshold_once():
    curve = Curve(
        np.array([0.0, 1.0]), {"overlap": np.array([1.0, 0.5]), "retained": np.array([1.0, 0.0])}
    )
    figure = figures.overlap_figure(curve, [0.4, 0.4, 0.6, np.nan])
    assert [trace.name for trace in figure.data] == ["overlap", "retained share"]
    assert sorted(shape.x0 for shape in figure.layout.shapes) == [0.4, 0.6]


def test_the_distribution_has_a_box_per_result_and_a_point_per_slate(make_analysis):
    figure = figures.distribution_figure(["a", "b"], [make_analysis(), make_analysis()])
    assert [box.name for box in figure.data] == ["b", "a"]  # drawn from below
    assert list(figure.data[0].x) == [0.2, 0.3]
    assert list(figure.data[0].text) == ["q1", "q2"]


def test_labels_are_no_markup():
    assert (
        figures.label('<a href="javascript:x">\x00') == "&lt;a href=&quot;javascript:x&quot;&gt;\ufffd"
    )


def test_plotly_cannot_close_its_script():
    script = figures.plotly_script()
    assert "</script" not in script.lower()
    assert "\r" not in script
    assert len(script) > 1_000_000


def test_without_plotly_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(MissingExtraError, match=r"evenhand\[report\]"):
        figures.graph_objects()
