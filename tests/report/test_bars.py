import math

import pytest

from evenhand.report.bars import Series, bars, key_of
from evenhand.report.figures import graph_objects
from evenhand.types import Estimate

pytest.importorskip("plotly", reason="plotly comes with the report extra")


def test_bars_carry_value_and_interval_and_leave_out_what_is_undefined():
    wide = Estimate(0.5, 0.25, 1.0, 4, 0)
    alone = Estimate(0.5, math.nan, math.nan, 1, 0)
    series = (
        Series("random", "#111", (wide, None, alone)),
        Series("floor", "#222", (None, alone, None), marker=True),
    )
    bar, mark = bars(["a", "b <i>", "c"], series, "share").data
    assert (bar.type, mark.type, mark.mode) == ("bar", "scatter", "markers")
    assert list(bar.y) == ["a", "b &lt;i&gt;", "c"]
    assert bar.x[0] == 0.5
    assert math.isnan(bar.x[1])
    # Up to the upper bound and down to the lower one: 1 - .5 and .5 - .25; none for one slate alone.
    assert (bar.error_x.array[0], bar.error_x.arrayminus[0], bar.error_x.array[2]) == (0.5, 0.25, 0)
    assert bar.error_x.visible is True
    assert mark.error_x.visible is False


def test_the_first_row_is_on_top_and_more_bars_need_more_height():
    one = Series("s", "#111", (Estimate(0.1, 0.1, 0.1, 1, 0),) * 3)
    few = bars(["a", "b", "c"], [one], "x")
    many = bars(["a", "b", "c"], [one, one, one], "x", most=None)
    assert few.layout.yaxis.autorange == "reversed"
    assert tuple(few.layout.xaxis.range) == (0, 1)
    assert many.layout.xaxis.range is None
    assert many.layout.height > few.layout.height


def test_the_page_prints_a_legend_only_of_several_series():
    one = Series("random", "#111", (Estimate(0.1, 0.1, 0.1, 1, 0),))
    mark = Series("floor", "#222", one.estimates, marker=True)
    assert key_of(bars(["a"], [one, mark], "x")) == [("random", "#111", False), ("floor", "#222", True)]
    assert key_of(bars(["a"], [one], "x")) == []
    assert key_of(graph_objects().Figure()) == []
