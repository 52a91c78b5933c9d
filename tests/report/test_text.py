from evenhand.report.text import to_text


def test_results_stand_side_by_side(make_analysis):
    page = to_text([make_analysis("first"), make_analysis("second")], title="2 slates, M = 4")
    lines = page.splitlines()
    assert lines[0].strip() == "2 slates, M = 4"
    (tau,) = (line for line in lines if "tauPSI" in line)
    assert tau.count("0.250 [0.125, 0.375]") == 2
    (head,) = (line for line in lines if "first" in line)
    assert "second" in head
    assert "random rows M 4" in page


def test_names_and_findings_are_literal(make_analysis, finding):
    page = to_text([make_analysis("[red]x[/red]\x1b[2J", findings=(finding,))])
    assert "[red]x[/red]\ufffd[2J" in page
    assert "\x1b" not in page
    flat = " ".join(page.split())
    assert "warning [red]x[/red]\ufffd[2J: the order decides [not] the content" in flat
    assert "(near_random)" in flat


def test_a_narrow_page_keeps_every_value(make_analysis):
    page = to_text([make_analysis("first"), make_analysis("second")], width=80)
    assert page.count("0.062") == 2  # the noise floor, .0625
    assert max(map(len, page.splitlines())) <= 80


def test_results_that_do_not_fit_beside_each_other_go_below(make_analysis):
    names = [f"scorer-{place}" for place in range(5)]
    page = to_text([make_analysis(name) for name in names], width=28 + 24 * 2, title="t")
    heads = [line for line in page.splitlines() if line.startswith("┃") and "scorer" in line]
    # Two fit beside the first column: 2, 2 and 1.
    assert [sum(name in line for name in names) for line in heads] == [2, 2, 1]
    assert page.count("Stability") == 3
    assert page.count("random rows M") == 1
