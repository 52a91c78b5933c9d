"""Designs: rows, groups, exact enumeration, and independence of other slates."""

from __future__ import annotations

import collections
import os
import subprocess
import sys

import pytest

from evenhand.errors import UsageError
from evenhand.present.design import DESIGNS, design
from evenhand.types import Candidate, Slate, Surface


def slate(n, name="q1"):
    return Slate(name, "query", tuple(Candidate(f"c{i}", f"text {i}") for i in range(n)))


def random_rows(plan):
    return [plan.presentations[row] for row in plan.rows("random")]


def test_rows_are_canonical_random_repeat():
    plan = design(rows=4, width=5).draw(slate(12))
    assert plan.kinds == ("canonical", "random", "random", "random", "random", "repeat")
    assert plan.presentations[0] == plan.presentations[-1]
    assert plan.presentations[0].order == tuple(range(12))
    assert plan.presentations[0].windows == ((0, 1, 2, 3, 4), (5, 6, 7, 8, 9), (10, 11))
    assert not plan.exhaustive
    assert "repeat" not in design(rows=4, repeat=False).draw(slate(12)).kinds


@pytest.mark.parametrize(("n", "count"), [(0, 1), (1, 1), (2, 2), (3, 6)])
def test_small_slates_are_enumerated(n, count):
    plan = design(rows=10).draw(slate(n))
    orders = {p.order for p in random_rows(plan)}
    assert plan.exhaustive
    assert len(orders) == len(random_rows(plan)) == count


def test_enumeration_starts_where_the_count_fits():
    assert design(rows=24).draw(slate(4)).exhaustive
    assert not design(rows=23).draw(slate(4)).exhaustive


def test_order_keeps_companions_and_companions_keeps_slots():
    canonical = design("order", width=3).draw(slate(9)).presentations[0]
    for presentation in random_rows(design("order", width=3).draw(slate(9))):
        assert [set(w) for w in presentation.windows] == [set(w) for w in canonical.windows]
    plan = design("companions", width=3).draw(slate(9))
    assert any(p.windows != canonical.windows for p in random_rows(plan))
    for presentation in random_rows(plan):
        assert (presentation.slots() == canonical.slots()).all()


def test_where_nothing_can_vary_there_is_no_random_row():
    # One window: no other companions. Windows of one: no other slot.
    for plan in (
        design("companions", width=5).draw(slate(5)),
        design("order", width=1).draw(slate(5)),
    ):
        assert plan.kinds == ("canonical", "repeat")
        assert not plan.exhaustive


def test_ragged_tail_takes_part_in_companions():
    # 7 at B=4: slots 0..2 stand in both windows, slot 3 in the first alone
    for presentation in random_rows(design("companions", width=4, rows=20).draw(slate(7))):
        assert presentation.windows[0][3] == 3


def test_exact_counts_of_each_design():
    # order at n=4, B=2: 2! * 2! = 4; companions: two slots in two windows, 2! * 2! = 4
    for name in ("order", "companions"):
        plan = design(name, width=2, rows=4).draw(slate(4))
        assert plan.exhaustive
        assert len({p.windows for p in random_rows(plan)}) == 4
        assert not design(name, width=2, rows=3).draw(slate(4)).exhaustive


def test_orders_are_uniform():
    counts = collections.Counter(
        p.order for seed in range(1200) for p in random_rows(design(rows=5, seed=seed).draw(slate(3)))
    )
    # 6,000 draws over 6 orders: 1,000 each, sd 29; five sd either way
    assert len(counts) == 6
    assert all(855 < count < 1145 for count in counts.values())


def test_plan_depends_on_the_slate_alone():
    drawn = {name: design().draw(slate(12, name)) for name in ("q1", "q2", "q3")}
    again = {name: design().draw(slate(12, name)) for name in ("q3", "q1")}
    assert drawn["q3"] == again["q3"]
    assert drawn["q1"].presentations[1:] != drawn["q3"].presentations[1:]
    assert design(seed=1).draw(slate(12)) != design(seed=2).draw(slate(12))


def test_plan_does_not_depend_on_the_hash_seed():
    code = (
        "from evenhand.present.design import design; from evenhand.types import *;"
        "s = Slate('q', 'x', tuple(Candidate(str(i), 't') for i in range(9)));"
        "print([p.order for p in design(rows=3).draw(s).presentations])"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1] != ""


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"name": "reordr"}, "unknown design 'reordr'; known are"),
        ({"rule": "zigzag"}, "unknown window rule 'zigzag'; known are"),
        ({"rows": 0}, "at least 1 random row, got rows=0"),
        ({"width": 0}, "width of at least 1, got 0"),
        ({"surface": Surface(rubric="relevence")}, "unknown rubric 'relevence'; known are"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(UsageError, match=message):
        design(**settings)


def test_channels_are_declared():
    assert {name: set(kind.channels) for name, kind in DESIGNS.items()} == {
        "reorder": {"order", "companions"},
        "order": {"order"},
        "companions": {"companions"},
        "marker": {"marker"},
        "skeleton": {"skeleton"},
        "rubric": {"rubric"},
        "window": {"window"},
        "membership": {"membership"},
    }
    assert design("order").channels == {"order"}


@pytest.mark.parametrize("name", ["marker", "skeleton", "rubric"])
def test_surface_designs_keep_everything_but_the_surface(name):
    plan = design(name, width=3, rows=4, surface=Surface(query="around")).draw(slate(8))
    canonical = plan.presentations[0]
    assert (
        canonical
        == design("order", width=3, surface=Surface(query="around")).draw(slate(8)).presentations[0]
    )
    assert plan.presentations[-1] == canonical
    rows = random_rows(plan)
    assert len({p.surface for p in rows}) == len(rows) == (3 if name == "rubric" else 4)
    for presentation in rows:
        assert presentation.surface != canonical.surface
        assert presentation.with_surface(canonical.surface) == canonical
        assert presentation.surface.query == "around"
    assert not plan.exhaustive


def test_window_design_keeps_the_order_and_its_limit():
    plan = design("window", width=4).draw(slate(16))
    rows = random_rows(plan)
    # B 1 by either rule is one cut; B 2, 4 and 8 by two rules, less the canonical one: 6.
    assert len({p.windows for p in rows}) == len(rows) == 6
    assert all(p.order == tuple(range(16)) for p in rows)
    assert {max(map(len, p.windows)) for p in rows} == {1, 2, 4, 8}
    narrow = random_rows(design("window", width=4, most=4).draw(slate(16)))
    assert {max(map(len, p.windows)) for p in narrow} == {1, 2, 4}
    assert len(random_rows(design("window", width=4, rows=3).draw(slate(16)))) == 3


def test_membership_design_omits_the_reserve_and_exchanges_one_member():
    plan = design("membership", width=3).draw(slate(5))
    assert plan.presentations[0].order == (0, 1, 2, 3)
    assert plan.presentations[0].windows == ((0, 1, 2), (3,))
    assert plan.presentations[0].omitted == plan.presentations[-1].omitted == (4,)
    # 4 replaced and 3 dropped; the last member replaced and dropped are the same.
    shown = [(p.order, p.omitted) for p in random_rows(plan)]
    assert shown == [
        ((4, 1, 2, 3), (0,)),
        ((0, 4, 2, 3), (1,)),
        ((0, 1, 4, 3), (2,)),
        ((0, 1, 2, 4), (3,)),
        ((1, 2, 3, 4), (0,)),
        ((0, 2, 3, 4), (1,)),
        ((0, 1, 3, 4), (2,)),
    ]
    assert design("membership").draw(slate(1)).kinds == ("canonical", "repeat")
    assert design("membership").draw(slate(1)).presentations[0].omitted == ()


def test_variants_depend_on_the_slate_alone():
    for name in ("marker", "skeleton", "window", "membership"):
        drawn = design(name, rows=4, width=8)
        assert drawn.draw(slate(40, "q1")) == drawn.draw(slate(40, "q1"))
        assert drawn.draw(slate(40, "q1")) != drawn.draw(slate(40, "q2"))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rows", True),
        ("rows", 2.0),
        ("rows", "3"),
        ("width", 2.5),
        ("width", False),
        ("seed", None),
        ("seed", 1.0),
        ("most", "4"),
        ("rule", 3),
        ("rule", ["contiguous"]),
    ],
)
def test_settings_of_another_type_are_refused(field, value):
    with pytest.raises(UsageError, match=f"{field} must be a (whole number|string), got"):
        design(**{field: value})


def test_a_name_that_is_no_string_is_refused():
    with pytest.raises(UsageError, match="name must be a string, got None"):
        design(None)


def test_many_rows_do_not_list_every_order(monkeypatch):
    # 4! = 24 orders: listed with room for 24, drawn with repetition where 23 is the most.
    whole = design(rows=30).draw(slate(4))
    assert (len(random_rows(whole)), whole.exhaustive) == (24, True)
    monkeypatch.setattr("evenhand.present.design.MOST_EXHAUSTIVE", 23)
    drawn = design(rows=30).draw(slate(4))
    assert (len(random_rows(drawn)), drawn.exhaustive) == (30, False)
