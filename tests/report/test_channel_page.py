"""The page of a channel study: kind of scorer, figures, table, the run of each channel."""

import re
from dataclasses import replace

import pytest

from evenhand.report.channel_page import channel_figures, line_cells, to_html
from evenhand.report.channel_table import HEADS, cells, note_lines
from evenhand.report.channels import audit_channels
from evenhand.score.toy import Toy
from evenhand.types import Candidate, Slate

pytest.importorskip("plotly", reason="plotly comes with the report extra")
pytest.importorskip("jinja2", reason="jinja2 comes with the report extra")

CHANNELS = ("order", "companions", "membership")


def slates():
    texts = [Candidate(f"c{i}", f"t{i}</script>") for i in range(6)]
    return [Slate(f"s{q}", f"query {q}", tuple(texts), {"c1": 3}) for q in range(4)]


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    return audit_channels(Toy(relevance="slot"), slates(), CHANNELS, out=out, rows=3)


@pytest.fixture(scope="module")
def page(done, tmp_path_factory):
    return done.to_html(tmp_path_factory.mktemp("page") / "deep" / "page.html").read_text("utf-8")


def test_the_kind_of_scorer_comes_first_then_the_channels(page):
    assert page.index("A position-only scorer") < page.index('id="plot-channels-tau"')
    assert page.index('id="plot-channels-overlap"') < page.index('id="table"')
    for head in HEADS:
        assert f"<th>{head}</th>" in page
    assert "M 3; B whole slate; rule contiguous" in page
    assert "by slot" in page


def test_every_measured_channel_has_its_chapter_under_its_own_name(page):
    # One window: companions have no rows, so there is nothing to open up.
    assert re.findall(r"<h2><bdi>(\w+)</bdi></h2>", page) == ["order", "membership"]
    assert '<div class="eyebrow">Channel</div>' in page
    assert '<th scope="row">companions</th>' in page


def test_the_cells_are_those_of_the_terminal_with_intervals(done):
    for row in done.study.rows:
        found = line_cells(row)
        assert [cell.value for cell in found] == list(cells(row)[1:])
    tau = line_cells(done.study.rows[0])[0]
    value = done.study.rows[0].value("tauPSI")
    assert tau.aside == f"[{value.low:.3f}, {value.high:.3f}]"


def test_bars_hold_each_channel_beside_its_noise_floor(done):
    drawn = channel_figures(done.study.rows)
    varied, floor = drawn["tau"].data
    assert list(varied.y) == list(CHANNELS)
    assert varied.x[0] == done.study.rows[0].value("tauPSI").mean
    assert varied.x[1] != varied.x[1]  # undefined: no bar
    assert (floor.x[0], floor.mode) == (0, "markers")
    assert drawn["overlap"].data[1].x[0] == 1


def test_texts_from_outside_stay_texts(page):
    assert len(re.findall(r"</script>", page)) == 3


def test_rows_that_cut_more_than_the_canonical_one_are_noted(done):
    order, *others = done.study.rows
    counts = {**order.analysis.counts, "truncated_tokens": 2, "truncated_further": 1200}
    wider = replace(order, analysis=replace(order.analysis, counts=counts))
    study = replace(done.study, rows=(wider, *others))
    (line,) = (line for line in note_lines(study) if line.startswith("order"))
    assert "1200 tokens of candidates beyond the 2 of the canonical ones" in line
    assert not [line for line in note_lines(done.study) if line.startswith("order")]
    runs = [(result.analysis, result.folder) for result in done.results()]
    assert "1200 tokens of candidates beyond" in to_html(study, runs)
