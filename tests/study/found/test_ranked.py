from evenhand.study.found.ranked import ranked


def test_nothing_to_say():
    assert ranked({"order_only": False}, {"rows": 9, "slates": 3}, ()) == ()


def test_a_scorer_of_places():
    (finding,) = ranked({"order_only": True}, {}, ())
    assert (finding.code, finding.severity) == ("order_only", "note")


def test_rows_with_a_remark_are_shown_apart():
    counts = {"rows": 12, "slates": 3, "remarked_rows": 2, "remarked_slates": 1}
    (finding,) = ranked({}, counts, ("repaired: 1 tied at the end", "x" * 300))
    assert (finding.code, finding.severity) == ("remarked", "warning")
    assert "2 of 12 rows, in 1 slate, have all scores only after" in finding.message
    assert "repaired: 1 tied at the end; " + "x" * 200 + "." in finding.message
