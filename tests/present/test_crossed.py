import numpy as np
import pytest

from evenhand.errors import UsageError
from evenhand.present.crossed import CrossedDesign
from evenhand.types import Candidate, Slate, Surface


def slate(n=7, key="q"):
    return Slate(key, "query", tuple(Candidate(f"c{i}", "x") for i in range(n)))


def members(presentation):
    return [frozenset(window) for window in presentation.windows]


@pytest.mark.parametrize("rule", ["contiguous", "interleaved"])
def test_partitions_hold_over_inner_orders(rule):
    design = CrossedDesign(4, 3, width=3, rule=rule, surface=Surface(dummy=2))
    plan = design.draw(slate())
    assert len(plan) == design.rows == 24
    blocks = [plan.presentations[start : start + 6] for start in range(0, 24, 6)]
    for block in blocks:
        assert len({tuple(members(one)) for one in block}) == 1
        # Repeats come in pairs, and the three inner orders are not all alike.
        assert all(block[i] == block[i + 1] for i in (0, 2, 4))
        assert len({one.windows for one in block}) > 1
    assert len({tuple(members(block[0])) for block in blocks}) > 1
    assert plan.kinds == ("random", "repeat") * 12
    assert all(one.surface.dummy == 2 for one in plan.presentations)


def test_windows_are_those_of_the_rule():
    sizes = {rule: CrossedDesign(2, 2, 3, rule).draw(slate()).presentations[0].windows
             for rule in ("contiguous", "interleaved")}  # fmt: skip
    # 7 at B=3: 3, 3 and 1, or dealt round-robin 3, 2 and 2.
    assert [len(window) for window in sizes["contiguous"]] == [3, 3, 1]
    assert [len(window) for window in sizes["interleaved"]] == [3, 2, 2]
    shown = CrossedDesign(2, 2, 3, "interleaved").draw(slate()).presentations[0]
    assert [shown.order[p] for p in (0, 3, 6)] == list(shown.windows[0])


def test_draws_are_uniform_over_slots_and_windows():
    plan = CrossedDesign(600, 2, width=2).draw(slate(4))
    slots = np.array([one.slots() for one in plan.presentations[::4]])
    windows = np.array([one.window_of() for one in plan.presentations[::4]])
    # 600 draws of a fair coin: sd .02.
    np.testing.assert_allclose(slots.mean(axis=0), 0.5, atol=0.08)
    np.testing.assert_allclose(windows.mean(axis=0), 0.5, atol=0.08)


def test_plans_depend_on_seed_and_slate_alone():
    design = CrossedDesign(width=3)
    assert design.draw(slate()) == design.draw(slate())
    assert design.draw(slate()) != design.draw(slate(key="r"))
    assert design.draw(slate()) != CrossedDesign(width=3, seed=1).draw(slate())
    # A row does not move when more are drawn.
    assert CrossedDesign(6, 3, 3).draw(slate()).presentations[:30] == design.draw(slate()).presentations


def test_small_slates():
    assert CrossedDesign().draw(slate(0)).presentations[0].windows == ()
    assert CrossedDesign().draw(slate(1)).presentations[0].windows == ((0,),)
    assert len(CrossedDesign().draw(slate(5)).presentations[0].windows) == 1


def test_arrange():
    design = CrossedDesign(2, 3)
    scores = np.arange(12 * 4).reshape(12, 4)
    cells = design.arrange(scores)
    assert cells.shape == (2, 3, 2, 4)
    # Row (c * R + r) * 2 + k = (1 * 3 + 2) * 2 + 1 = 11.
    np.testing.assert_array_equal(cells[1, 2, 1], scores[11])
    with pytest.raises(UsageError, match="12 rows"):
        design.arrange(scores[:11])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"partitions": 1}, "at least 2 partitions"),
        ({"orders": 1}, "at least 2 orders"),
        ({"rule": "random"}, "contiguous"),
        ({"width": 0}, "at least 1"),
    ],
)
def test_bad_settings_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        CrossedDesign(**options)


def test_declares_itself():
    assert CrossedDesign().name == "crossed"
    assert CrossedDesign().channels == {"order", "companions"}
