import numpy as np
import pytest

from evenhand.errors import UsageError
from evenhand.remedy import apply
from evenhand.remedy.arrange import by_content, content_order, interleave, interleaved, isolated
from evenhand.score.toy import Toy
from evenhand.types import Candidate, Presentation, Shown, Slate, Surface


def test_interleaved_windows_take_every_wth_position():
    # 7 at B = 4: W = 2 windows, positions 0 2 4 6 and 1 3 5 of the order 6 5 4 3 2 1 0.
    order = (6, 5, 4, 3, 2, 1, 0)
    found = interleaved(Presentation(order, (order[:4], order[4:]), Surface(markers="letters")))
    assert found.windows == ((6, 4, 2, 0), (5, 3, 1))
    assert (found.order, found.surface) == (order, Surface(markers="letters"))


def test_interleaved_is_as_wide_as_the_widest_window():
    # A tail of 1 after 3 and 3: W = ceil(7 / 3) = 3 windows of 3, 2, 2.
    order = tuple(range(7))
    found = interleaved(Presentation(order, ((0, 1, 2), (3, 4, 5), (6,))))
    assert found.windows == ((0, 3, 6), (1, 4), (2, 5))
    assert interleaved(found) == found


def test_interleaved_keeps_one_window_and_none():
    assert interleaved(Presentation((1, 0), ((1, 0),))).windows == ((1, 0),)
    assert interleaved(Presentation((), ())).windows == ()
    assert interleaved(Presentation((2, 0), ((2, 0),), omitted=(1,))).windows == ((2, 0),)


def test_interleave_costs_nothing_and_draws_nothing(grader, show):
    made = interleave()(grader())
    (plain,), (found,) = grader().score([show(width=4)]), made.score([show(width=4)])
    assert (found.prompts, found.tokens) == (plain.prompts, plain.tokens) == (2, 20)
    assert not made.draws
    (expected,) = grader().score([show(width=4, rule="interleaved")])
    np.testing.assert_array_equal(found.scores, expected.scores)
    assert made.cut(show(width=4).presentation) == show(width=4, rule="interleaved").presentation


def test_the_same_set_is_shown_in_the_same_order(grader, make_slate):
    slate = make_slate(6)
    # Another retriever: other order, other ids, another slate id; the same texts.
    mixed = [slate.candidates[i] for i in (3, 0, 5, 1, 4, 2)]
    other = Slate("t", slate.query, tuple(Candidate(f"x{c.id}", c.text) for c in mixed))
    shown = [Shown(one, Presentation(range(6), ((0, 1, 2, 3), (4, 5)))) for one in (slate, other)]
    inner = grader()
    first, second = by_content()(inner).score(shown)
    texts = [
        [[one.slate.candidates[i].text for i in window] for window in one.presentation.windows]
        for one in inner.asked[0]
    ]
    assert texts[0] == texts[1]
    assert dict(zip(slate.ids, first.scores.tolist(), strict=True)) == {
        key.removeprefix("x"): score
        for key, score in zip(other.ids, second.scores.tolist(), strict=True)
    }


def test_no_presented_order_moves_it_but_another_row_does(show):
    one = show(row=1, kind="random")
    moved = show((5, 3, 1, 0, 2, 4), row=1, kind="random")
    assert content_order(one, 0) == content_order(moved, 0)
    orders = {content_order(show(row=row, kind="random"), 0) for row in range(1, 7)}
    assert len(orders) == 6
    assert content_order(show(row=9, kind="repeat"), 0) == content_order(show(), 0)
    assert content_order(show(), 0) != content_order(show(), 1)


def test_order_depends_on_query_title_and_text(show):
    plain = tuple(Candidate(f"c{i}", f"text {i}") for i in range(8))
    titled = tuple(Candidate(f"c{i}", f"text {i}", "title") for i in range(8))
    asked = {("q", plain), ("other", plain), ("q", titled)}
    orders = {content_order(show(slate=Slate("s", q, c)), 0) for q, c in asked}
    assert len(orders) == 3


def test_candidates_that_say_the_same_are_ordered_by_id(show):
    twins = tuple(Candidate(key, "same") for key in ("b", "c", "a"))
    assert content_order(show(slate=Slate("s", "q", twins)), 0) == (2, 0, 1)


def test_sorted_shows_only_what_is_shown(make_slate):
    one = Shown(make_slate(4), Presentation((3, 0, 2), ((3, 0, 2),), omitted=(1,)))
    assert sorted(content_order(one, 0)) == [0, 2, 3]


def test_sorted_says_that_it_is_stable_by_construction():
    made = by_content()(Toy(slot_bias=0.3))
    assert made.by_construction is not None
    assert made.by_construction.startswith("`sorted` shows the same candidates in the same order")
    assert made.facts["by_construction"] == made.by_construction
    assert apply(Toy(slot_bias=0.3), ["sorted", "interleave"]).by_construction == made.by_construction
    assert by_content()(Toy()).by_construction is None
    assert "by_construction" not in interleave()(Toy(slot_bias=0.3)).facts


def test_isolated_shows_candidates_blind_to_each_other(grader, show):
    inner = grader()
    made = isolated()(inner)
    assert made.order_free
    assert made.surface.visibility == "isolated"
    rows = [show(), show((5, 4, 3, 2, 1, 0), width=4, row=1, kind="random")]
    first, second = made.score(rows)
    np.testing.assert_array_equal(first.scores, second.scores)
    assert {one.presentation.surface.visibility for one in inner.asked[0]} == {"isolated"}
    assert [one.presentation.windows for one in inner.asked[0]] == [
        r.presentation.windows for r in rows
    ]
    (plain,) = grader().score([show()])
    assert not np.allclose(first.scores, plain.scores)
    assert (first.prompts, first.tokens) == (plain.prompts, plain.tokens)
    assert made.facts == {"remedies": ["isolated"], "draws": False}


def test_isolated_is_refused_where_a_scorer_cannot():
    with pytest.raises(UsageError, match="toy:slot_bias=0.3 cannot: it offers no choice of visibility"):
        isolated()(Toy(slot_bias=0.3))

    class Half(Toy):
        visibilities = ("sequential", "parallel")

    with pytest.raises(UsageError, match="cannot: it offers parallel, sequential"):
        isolated()(Half(slot_bias=0.3))
    # Already order-free: left as it is.
    assert isolated()(Toy()).order_free


def test_a_query_after_blind_candidates_is_refused_before_scoring(grader, show):
    inner = grader()
    inner.surface = Surface(query="after")
    with pytest.raises(UsageError, match="query 'after' does not go with visibility 'isolated'"):
        isolated()(inner)
    inner.surface = Surface()
    one = show(row=1, kind="random")
    after = Shown(one.slate, one.presentation.with_surface(Surface(query="after")), 1, "random")
    with pytest.raises(UsageError, match="query 'after' does not go with"):
        isolated()(inner).score([show(), after])
    assert inner.asked == []
