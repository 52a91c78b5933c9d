"""What the page says of readers, beside readers whose numbers are known by hand."""

import pytest

from evenhand.decide.reading import Reading
from evenhand.report.reader_view import (
    fitness_figure,
    flip_figure,
    label_figure,
    reader_facts,
    reader_views,
)
from evenhand.report.result import audit, write_html
from evenhand.score import open_scorer
from evenhand.types import Candidate, Slate

pytest.importorskip("plotly", reason="plotly comes with the report extra")

GOLD = ("SUPPORTS", "SUPPORTS", "REFUTES", "NOT_ENOUGH_INFO")


class Constant:
    name, revision, task = "constant", "1", "verdict"

    def read(self, evidence):
        return [Reading("SUPPORTS") for _ in evidence]


class First:
    """Answers with the first text it is given, so with another order another answer."""

    name, revision, task = "first", "1", "answer"

    def read(self, evidence):
        return [Reading(one.texts[0] if one.texts else "nothing") for one in evidence]


def slates(answers=()):
    return [
        Slate(
            f"q{i}",
            f"claim {i}",
            tuple(Candidate(f"{i}{j}", f"word{j}") for j in range(4)),
            {f"{i}0": 1},
            answers,
            gold,
        )
        for i, gold in enumerate(GOLD)
    ]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A constant verdict reader, one that answers by the order, and a run that nobody has read."""
    folder = tmp_path_factory.mktemp("runs")
    found = [
        audit(open_scorer("toy:relevance=position"), given, rows=3, out=folder / name)
        for name, given in (("claims", slates()), ("answers", slates(("word0",))), ("unread", slates()))
    ]
    found[0].read(Constant(), top=2)
    found[1].read(First(), top=4)
    return found


@pytest.fixture(scope="module")
def read(results):
    return [("claims", results[0].analysis.reader), ("answers", results[1].analysis.reader)]


def test_flips_stand_in_score_order_beside_the_control(read):
    served, control, floor = flip_figure(read).data
    assert (served.name, control.name) == ("score order", "same set, canonical order")
    assert list(served.y) == ["claims: unfit", "answers"]
    # A constant reader never flips. The other reads all four: in canonical order always word0.
    assert (served.x[0], control.x[0]) == (0, 0)
    assert served.x[1] > 0
    assert control.x[1] == 0
    assert floor.x[1] == 0
    assert served.x[1] == read[1][1].estimates["flip"]["score"].mean


def test_fitness_stands_beside_the_majority(read):
    gold, bare, common = fitness_figure(read).data
    # Two of four claims are SUPPORTS; with nothing to read the other says "nothing".
    assert gold.x[0] == bare.x[0] == common.x[0] == pytest.approx(0.5)
    assert (gold.x[1], bare.x[1]) == (1, 0)
    assert common.mode == "markers"
    assert common.x[1] != common.x[1]


def test_labels_show_the_one_that_is_always_said(read):
    gold, said, shuffled = label_figure(read[0][1]).data
    shares = dict(zip(gold.y, gold.x, strict=True))
    assert shares == {"NOT_ENOUGH_INFO": 0.25, "REFUTES": 0.25, "SUPPORTS": 0.5}
    place = list(said.y).index("SUPPORTS")
    assert said.x[place] == shuffled.x[place] == 1
    assert sum(said.x) == sum(shuffled.x) == 1


def test_a_card_tells_flip_control_and_that_it_is_unfit(read):
    assert reader_facts(None) == []
    assert reader_facts(read[0][1]) == [
        ("verdict flip", "0.000"),
        ("same set, canonical order", "0.000"),
        ("its reader", "unfit"),
    ]
    assert [label for label, _ in reader_facts(read[1][1])] == [
        "answer flip",
        "same set, canonical order",
    ]


def test_results_that_nobody_read_have_no_part(results):
    analyses = [result.analysis for result in results]
    assert reader_views(["unread"], analyses[2:]) == (None, {})
    part, drawn = reader_views(["claims", "answers", "unread"], analyses)
    assert [(view.name, view.word) for view in part.views] == [("claims", "unfit"), ("answers", "fit")]
    assert set(drawn) == {"reader-flips", "reader-fitness", "reader-labels-0"}
    assert [name for name, _, _ in part.figures] == list(drawn)


def test_the_page_marks_the_unfit_and_names_runs_by_their_folders(results, tmp_path):
    pytest.importorskip("jinja2")
    page = write_html(results, tmp_path / "page.html").read_text("utf-8")
    assert '<span class="pill unfit">unfit</span>' in page
    assert '<span class="pill fit">fit</span>' in page
    assert "does not read" in page
    for name in ("reader-flips", "reader-fitness", "reader-labels-0"):
        assert f'id="plot-{name}"' in page
    # All three are on slates of the same ids, so the folder is what tells them apart.
    for name in ("claims", "answers", "unread"):
        assert f"toy:relevance=position, {name}" in page
    assert 'id="readers"' not in write_html(results[2:], tmp_path / "one.html").read_text("utf-8")
