from evenhand.report.grouped import grouped
from evenhand.study.analysis import Finding


def test_findings_of_a_kind_stand_together_in_the_order_of_the_first():
    def found(code, severity="warning", message="m"):
        return Finding(code, severity, message)

    groups = grouped(
        [
            ("b", found("x", "error")),
            ("a", found("y", message="1")),
            ("b", found("y", message="2")),
            ("a", found("x", "note", "1")),
            ("b", found("x", "note", "2")),
            ("c", found("x", "note", "3")),
        ],
        3,
    )
    assert [(one.severity, one.code, one.summary) for one in groups] == [
        ("error", "x", ""),
        ("warning", "y", "a; b"),
        ("note", "x", "all 3"),
    ]
    assert [finding.message for _, finding in groups[1].lines] == ["1", "2"]
    assert grouped([], 1) == ()
