import math

from evenhand.report.table import Cell, build, estimate_cell
from evenhand.study.analysis import Cost, Finding
from evenhand.types import Estimate


def rows_of(table, title):
    (section,) = (section for section in table.sections if section.title == title)
    return {row.label: row for row in section.rows}


def test_estimate_cell_says_what_is_undefined():
    assert estimate_cell(Estimate(0.5, 0.25, 0.75, 3, 0)) == Cell("0.500", "[0.250, 0.750]")
    assert estimate_cell(Estimate(0.5, math.nan, math.nan, 1, 2)) == Cell("0.500", "2 undefined")
    assert estimate_cell(Estimate(math.nan, math.nan, math.nan, 0, 3)) == Cell("–", "undefined")
    assert estimate_cell(None) == Cell("–", "")


def test_the_noise_floor_stands_below_its_measure(make_analysis):
    table = build([make_analysis()])
    (stability,) = (section for section in table.sections if section.title == "Stability")
    assert [(row.label, row.minor) for row in stability.rows] == [
        ("tauPSI", False),
        ("noise floor", True),
    ]
    assert stability.rows[1].cells == (Cell("0.062", "[0.000, 0.125]"),)


def test_quality_stands_served_then_shuffled(make_analysis):
    quality = rows_of(build([make_analysis()]), "Quality")
    assert list(quality) == ["nDCG@10, served", "nDCG@10, shuffled"]
    assert quality["nDCG@10, shuffled"].cells[0].value == "0.500"


def test_what_one_result_lacks_is_a_dash(make_analysis):
    with_more = make_analysis("b", decisions={"SetFlip": Estimate(0.1, 0.0, 0.2, 2, 0)})
    decisions = rows_of(build([make_analysis("a"), with_more]), "Decisions")
    assert [cell.value for cell in decisions["retained-set overlap"].cells] == ["0.500", "–"]
    assert [cell.value for cell in decisions["set flip"].cells] == ["–", "0.100"]


def test_settings_stand_once_when_shared_and_in_the_table_when_not(make_analysis):
    other = make_analysis("b", settings={"design": "reorder", "rows": 10, "width": 20})
    table = build([make_analysis("a"), other])
    assert ("design", "reorder") in table.setup
    assert "random rows M" not in dict(table.setup)
    setup = rows_of(table, "Setup")
    assert [cell.value for cell in setup["random rows M"].cells] == ["4", "10"]
    assert [cell.value for cell in setup["window width B"].cells] == ["whole slate", "20"]


def test_counts_that_are_zero_everywhere_are_left_out(make_analysis):
    assert list(rows_of(build([make_analysis()]), "Counts")) == ["slates", "rows"]


def test_findings_stand_the_gravest_first(make_analysis):
    findings = tuple(Finding(s, s, "message") for s in ("note", "error", "warning"))
    table = build([make_analysis(findings=findings)])
    assert [finding.severity for _, finding in table.findings] == ["error", "warning", "note"]


def test_a_finding_that_several_results_share_stands_once(make_analysis):
    shared, own = Finding("few", "warning", "few slates"), Finding("odd", "note", "odd")
    a, b = make_analysis("a", findings=(shared, own)), make_analysis("b", findings=(shared,))
    assert build([a, b]).findings == (("all 2", shared), ("a", own))
    assert build([a, b, make_analysis("c")]).findings[0] == ("a; b", shared)
    assert build([b]).findings == (("b", shared),)


def test_only_the_part_of_the_surface_that_differs_is_in_the_table(make_analysis):
    def shown(visibility):
        return make_analysis(
            "m", settings={"surface": {"visibility": visibility, "rubric": "relevance"}}
        )

    table = build([shown("sequential"), shown("parallel")])
    assert dict(table.setup)["rubric"] == "relevance"
    assert list(rows_of(table, "Setup")) == ["visibility"]


def test_tokens_that_a_scorer_does_not_know_are_a_dash(make_analysis):
    def tokens(prompts, tokens):
        table = build([make_analysis(cost=Cost(prompts, tokens))])
        return (
            next(r for s in table.sections for r in s.rows if r.label == "tokens per slate")
            .cells[0]
            .value
        )

    assert [tokens(3.0, 0.0), tokens(3.0, 12.0), tokens(0.0, 0.0)] == ["–", "12", "0"]
