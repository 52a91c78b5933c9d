from evenhand.study.found.facts import Facts


def test_counts_that_were_not_taken_are_0_and_so_are_shares_of_nothing():
    found = Facts(counts={"rows": 8, "failed_rows": 2})
    assert (found.count("rows"), found.count("scores")) == (8, 0)
    assert (found.share("failed_rows", "rows"), found.share("rows", "scores")) == (0.25, 0.0)
