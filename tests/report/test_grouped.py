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


def test_a_group_says_what_its_findings_have_in_common():
    def of(*messages):
        found = [(str(at), Finding("x", "warning", one)) for at, one in enumerate(messages)]
        return grouped(found, 9)[0].sentence

    assert of("Only 3 slates. Use more.", "Only 4 slates. Use 10.") == "Only … slates."
    assert of("Same here. And 1.", "Same here. And 2.") == "Same here."
    # Two words that differ in a row are one gap; of unequal lengths the beginning stands.
    assert of("moves by 0.1 here now", "moves by 0.2 there now") == "moves by … now"
    assert of("moves by 0.1 and more", "moves by 0.2") == "moves by …"
    assert of("moves", "moves by 0.2") == "moves …"
    assert of("alone") == of("one", "other") == ""
