from evenhand.report.columns import packed, table_width, whole_widths


def test_widths_show_every_cell_and_heads_may_fold():
    heads, rows = ("measure", "noise floor"), [("nDCG@10", "0.1 / 0"), ("x", "–")]
    assert whole_widths(heads, rows, fold=False) == [7, 11]
    assert whole_widths(heads, rows, fold=True) == [7, 7]
    assert whole_widths(("",), [("",)], fold=True) == [1]


def test_a_drawn_table_is_as_wide_as_told():
    # "| aaa | bb |": 3 + 2, three around each, one to close.
    assert table_width([3, 2]) == 12


def test_columns_that_do_not_fit_go_into_further_tables():
    # The first and one more: 3 + 5 + 6 + 1 = 15; the first and two more: 23.
    assert packed([3, 5, 5, 5], 23) == [[0, 1, 2], [0, 3]]
    assert packed([3, 5, 5, 5], 22) == [[0, 1], [0, 2], [0, 3]]
    assert packed([3, 5], 1) == [[0, 1]]
    assert packed([3], 1) == [[0]]
