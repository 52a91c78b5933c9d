import numpy as np

from evenhand.report.slope import LARGEST, LINE, slope
from evenhand.types import Candidate, Slate


def test_the_worked_example_crosses_c_and_d(worked):
    slate, rows = worked
    drawn = slope(slate, rows, 0.5)
    assert [[e.place for e in entries] for entries in drawn.lists] == [
        [1, 2, 3, 4, 5, 6],
        [1, 2, 4, 3, 5, 6],
    ]
    links = {link.place: link for link in drawn.links}
    # The middle of the third line is 2.5 lines down, of the fourth 3.5.
    assert (links[3].left, links[3].right) == (2.5 * LINE, 3.5 * LINE)
    assert (links[4].left, links[4].right) == (3.5 * LINE, 2.5 * LINE)
    assert drawn.height == 6 * LINE
    assert [link.state for link in drawn.links][-2:] == ["changed", "changed"]
    assert [e.place for entries in drawn.lists for e in entries if e.first_dropped] == [4, 3]


def test_slates_too_small_or_too_large_have_none(worked):
    slate, rows = worked
    assert slope(slate, rows[:1], 0.5) is None
    many = Slate("q", "query", tuple(Candidate(f"c{i}", "t") for i in range(LARGEST + 1)))
    assert slope(many, np.zeros((2, LARGEST + 1)), 0.5) is None
