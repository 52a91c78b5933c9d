import pickle

import numpy as np
import pytest

from evenhand.errors import ScorerError, UsageError
from evenhand.remedy.average import average
from evenhand.remedy.base import (
    Remedied,
    ask,
    ask_groups,
    drawn_row,
    merged,
    represented,
    require_movable,
    require_seed,
    reshown,
    stream,
)
from evenhand.score.toy import Toy
from evenhand.types import Presentation, Scored, Surface


class Plain(Remedied):
    """Asks the inner scorer twice and keeps the first answer."""

    def _score(self, shown):
        groups = ask_groups(self.inner, [[one, one] for one in shown])
        return [merged(parts, parts[0].scores) for parts in groups]


def test_represented_fills_the_same_places_with_others():
    # Positions 0 2 4 form one window, 1 3 the other: the new order 4 3 2 1 0 gives 4 2 0 and 3 1.
    surface = Surface(markers="letters")
    dealt = Presentation((0, 1, 2, 3, 4), ((0, 2, 4), (1, 3)), surface)
    moved = represented(dealt, (4, 3, 2, 1, 0))
    assert moved.order == (4, 3, 2, 1, 0)
    assert moved.windows == ((4, 2, 0), (3, 1))
    assert moved.surface == surface


def test_represented_follows_presented_positions_not_canonical_ones():
    # Presented 2 0 1 in windows of two: position 0 and 1, then position 2.
    shown = Presentation((2, 0, 1), ((2, 0), (1,)))
    assert represented(shown, (1, 2, 0)).windows == ((1, 2), (0,))
    assert represented(shown, (2, 0, 1)) == shown


def test_represented_keeps_slots_apart_from_positions():
    # The window holds position 1 at its first slot.
    shown = Presentation((0, 1), ((1, 0),))
    assert represented(shown, (1, 0)).windows == ((0, 1),)


def test_represented_keeps_omitted_candidates_out():
    shown = Presentation((0, 2), ((0, 2),), omitted=(1,))
    assert represented(shown, (2, 0)) == Presentation((2, 0), ((2, 0),), omitted=(1,))
    with pytest.raises(UsageError, match="does not hold the candidates shown"):
        represented(shown, (0, 1))


def test_reshown_keeps_slate_row_and_kind(show):
    one = show(row=3, kind="random")
    moved = reshown(one, (5, 4, 3, 2, 1, 0))
    assert (moved.slate, moved.row, moved.kind) == (one.slate, 3, "random")
    assert moved.presentation.order == (5, 4, 3, 2, 1, 0)


def test_repeat_rows_draw_as_the_canonical_row_and_no_others_do(show):
    rows = [show(row=row, kind="random") for row in (1, 2)]
    canonical, repeat = show(), show(row=9, kind="repeat")
    assert drawn_row(repeat) == drawn_row(canonical) == 0
    draws = [stream(0, one, "x").integers(2**60) for one in (canonical, *rows)]
    assert stream(0, repeat, "x").integers(2**60) == draws[0]
    assert len(set(draws)) == 3


@pytest.mark.parametrize("change", [{"seed": 1}, {"name": "y"}, {"index": 1}])
def test_streams_differ_by_seed_name_and_index(show, change):
    usual = {"seed": 0, "shown": show(), "name": "x", "index": 0}
    assert stream(**usual).integers(2**60) != stream(**{**usual, **change}).integers(2**60)


def test_a_remedy_inside_another_draws_anew_for_each_outer_order(show):
    one, other = show((0, 1, 2, 3, 4, 5)), show((5, 1, 2, 3, 4, 0))
    assert stream(0, one, "x").integers(2**60) != stream(0, other, "x").integers(2**60)


def test_merged_adds_costs_and_keeps_the_worst_counts():
    first = Scored(
        np.array([1.0, 2.0]), prompts=1, tokens=5, truncated=np.array([0, 3]), query_escaped=1
    )
    second = Scored(
        np.array([1.0, np.nan]), prompts=2, tokens=7, truncated=np.array([1, 2]), failure="no"
    )
    found = merged([first, second], np.array([1.0, np.nan]))
    assert (found.prompts, found.tokens, found.query_escaped, found.failure) == (3, 12, 1, "no")
    assert found.truncated is not None
    assert found.truncated.tolist() == [1, 3]
    assert found.escaped is None
    assert merged([second], second.scores, failure="mine").failure == "mine"
    assert merged([first], first.scores).failure is None


def test_a_remedied_scorer_tells_what_the_inner_one_tells(grader):
    made = Plain(grader(), "plain", {"x": 1})
    assert made.name == "grader + plain"
    assert (made.scale, made.order_free, made.channels) == ("unit", False, grader.channels)
    assert made.unseen == ("a model",)
    assert made.visibilities == ("sequential", "isolated")
    assert made.facts == {"remedies": ["plain"], "draws": True}
    assert getattr(made, "dtype", None) is None
    with pytest.raises(AttributeError, match="'Plain' object has no attribute 'nothing'"):
        _ = made.nothing
    assert repr(made) == "Plain('grader + plain')"


def test_revisions_differ_by_inner_remedy_and_settings():
    made = [
        Plain(Toy(), "plain", {}),
        Plain(Toy(seed=1), "plain", {}),
        Plain(Toy(), "other", {}),
        Plain(Toy(), "plain", {"x": 1}),
        Plain(Plain(Toy(), "plain", {}), "plain", {}),
    ]
    assert len({one.revision for one in made}) == 5
    assert made[0].revision == Plain(Toy(), "plain", {}).revision
    assert made[4].remedies == ("plain", "plain")


def test_it_survives_being_sent_to_a_worker():
    made = pickle.loads(pickle.dumps(average(2)(Toy(slot_bias=0.1))))
    assert made.name == "toy:slot_bias=0.1 + average:2"


def test_nothing_is_asked_for_nothing():
    class Never:
        def score(self, shown):
            raise AssertionError

    assert ask(Never(), []) == []
    assert Plain(Toy(slot_bias=0.1), "plain", {}).score([]) == []


def test_another_number_of_answers_is_refused(show):
    class Short(Toy):
        def score(self, shown):
            return super().score(shown)[1:]

    with pytest.raises(ScorerError, match="gave 1 results for 2 rows"):
        Plain(Short(slot_bias=0.1), "plain", {}).score([show()])


def test_all_rows_go_to_the_inner_scorer_in_one_call(grader, show):
    inner = grader()
    Plain(inner, "plain", {}).score([show(), show(row=1, kind="random")])
    assert [len(call) for call in inner.asked] == [4]


def test_a_cut_is_seen_through_all_remedies(show):
    made = Plain(Plain(Toy(slot_bias=0.1), "plain", {}), "plain", {})
    shown = show(width=4).presentation
    assert made.cut(shown) == shown


def test_orders_are_refused_where_they_are_undone():
    class Fixed(Plain):
        by_construction = "always the same"

    with pytest.raises(UsageError, match="shows the same order whatever it is handed"):
        require_movable(Fixed(Toy(slot_bias=0.1), "fixed", {}), "average:4")
    require_movable(Toy(slot_bias=0.1), "average:4")


@pytest.mark.parametrize("seed", [True, 1.0, "x", None])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(UsageError, match="mine: seed must be a whole number, got"):
        require_seed("mine", seed)
    require_seed("mine", -3)
