import re
import sys
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from evenhand.errors import MissingExtraError
from evenhand.report.html import shared_drill, to_html

pytest.importorskip("plotly", reason="plotly comes with the report extra")
pytest.importorskip("jinja2", reason="jinja2 comes with the report extra")

NASTY = '</script><script>window.hacked = 1</script><img src=x onerror="window.hacked = 2">'


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


def tags_of(page):
    parser = Tags()
    parser.feed(page)
    return parser.tags


def test_scripts_are_the_three_of_the_page_whatever_the_texts(make_analysis, two):
    analysis = make_analysis(f"name {NASTY}", slate_ids=("q1", "q2"))
    tags = tags_of(to_html([(analysis, two(NASTY, NASTY))]))
    assert [attrs for tag, attrs in tags if tag == "script"] == [
        {},
        {"type": "application/json", "id": "figures"},
        {},
    ]
    assert not [tag for tag, _ in tags if tag in ("img", "iframe", "object")]


def test_nothing_is_loaded_from_elsewhere(make_analysis, two):
    page = to_html([(make_analysis(), two())])
    for tag, attrs in tags_of(page):
        for name in ("src", "href", "srcset", "action", "data"):
            assert attrs.get(name, "#").startswith(("#", "data:")), (tag, attrs)
    assert "@import" not in page.split("</style>")[0]
    assert "default-src 'none'" in page


def test_plotly_stands_in_the_page_once_for_several_results(make_analysis, two):
    page = to_html([(make_analysis("a"), two()), (make_analysis("b"), two())])
    assert len(re.findall(r"plotly\.js v\d", page)) == 1
    ids = [attrs["id"] for _, attrs in tags_of(page) if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {"plot-slots-1", "plot-overlap-0", "plot-distribution"} <= set(ids)


def test_the_page_is_utf8_whatever_the_texts_hold(make_analysis, two):
    text = "nul\x00 lone \ud800 rtl \u202e שלום"
    page = to_html([(make_analysis(), two(text))])
    page.encode("utf-8")
    assert "\x00" not in page
    assert "\u202e" not in page
    assert "שלום" in page


def test_the_same_results_give_the_same_page(make_analysis, two):
    assert to_html([(make_analysis(), two())]) == to_html([(make_analysis(), two())])


def test_how_many_are_not_shown_is_said(make_analysis, two):
    analysis = make_analysis()
    assert "Not shown" not in to_html([(analysis, two())])
    assert "Not shown: 1 steadier slate<" in to_html([(analysis, two())], drill=1)


def test_undefined_values_are_dashes(make_analysis, two):
    nothing = np.array([np.nan, np.nan])
    analysis = make_analysis(
        stability={}, floor={}, per_slate={"tauPSI": nothing, "threshold": nothing}
    )
    page = to_html([(analysis, two())])
    assert "tau-PSI undefined" in page
    assert ">nan<" not in page.lower()


def test_without_jinja_the_extra_is_named(make_analysis, two, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"evenhand\[report\]"):
        to_html([(make_analysis(), two())])


def test_an_order_free_scorer_has_no_plot_by_slot(make_analysis, two):
    usual = to_html([(make_analysis(), two())])
    scorer = {**make_analysis().scorer, "order_free": True}
    free = to_html([(make_analysis(scorer=scorer), two())])
    assert ('id="plot-slots-0"' in usual, 'id="plot-slots-0"' in free) == (True, False)
    assert ("No score by slot" in usual, "No score by slot" in free) == (False, True)


def test_a_page_of_many_opens_up_fewer_slates_of_each():
    # 600 in all: 200 of each up to three results, then a share, at least 20.
    assert [shared_drill(n) for n in (1, 3, 6, 9, 50)] == [200, 200, 100, 66, 20]


def test_findings_that_results_share_are_folded(make_analysis, two, finding):
    pairs = [(make_analysis(name, findings=(finding,)), two()) for name in ("a", "b")]
    one, other = (replace(a, findings=(replace(finding, message=a.scorer["name"]),)) for a, _ in pairs)
    page = to_html([(one, two()), (other, two())])
    assert "<summary><b>warning</b><code>near_random</code> <bdi>all 2</bdi></summary>" in page
    assert "<summary><b>warning</b>" not in to_html(pairs[:1])
    # Folded, what they have in common can still be read.
    said = [
        replace(a, findings=(replace(finding, message=f"Moves by {at}."),))
        for at, a in enumerate((one, other))
    ]
    page = to_html([(each, two()) for each in said])
    assert "<bdi>all 2</bdi>: <bdi>Moves by …</bdi></summary>" in page
