import re

from evenhand.report.markdown import to_markdown


def table_lines(document):
    return [line for line in document.splitlines() if line.startswith("|")]


def test_every_line_has_one_cell_per_result_and_its_label(make_analysis, finding):
    document = to_markdown([make_analysis("a|b"), make_analysis("c", findings=(finding,))])
    for line in table_lines(document):
        assert len(re.split(r"(?<!\\)\|", line)) == 5, line  # 3 cells between 4 bars
    assert "| tauPSI | 0.250 \\[0.125, 0.375\\] | 0.250 \\[0.125, 0.375\\] |" in document


def test_findings_and_settings_follow_as_literal_text(make_analysis, finding):
    document = to_markdown([make_analysis(findings=(finding,))])
    assert (
        "- **warning** scorer-a: the order decides \\[not\\] the content \\| see \\<docs\\>" in document
    )
    assert "- random rows M: 4" in document
