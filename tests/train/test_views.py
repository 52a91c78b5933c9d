"""Views: what is shown together, what varies, and what a draw depends on."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("torch")

from train_help import make_slate

from evenhand.errors import UsageError
from evenhand.train.views import Views, draw
from evenhand.types import Surface


def shown(slate, views, *, seed=0, epoch=0):
    return draw(slate, views, seed=seed, epoch=epoch)


def windows(group):
    return [view.windows for view in group.views]


ALL = {
    "within": Views(mix="within", count=3, widths=(3,)),
    "within interleaved": Views(mix="within", widths=(3,), rule="interleaved"),
    "within any width": Views(mix="within", widths=(1, 2, 5)),
    "within canonical": Views(mix="within", widths=(3,), first="canonical"),
    "across": Views(count=3, widths=(3,)),
    "across interleaved": Views(widths=(4,), rule="interleaved"),
    "across any width": Views(widths=(2, 3, 20), count=4),
    "across canonical": Views(widths=(3,), first="canonical"),
    "alone": Views(widths=(1,), count=2),
    "varied": Views(
        widths=(3, 4), count=7, markers=("letters", "random"), skeletons=("score",),
        varies=("order", "companions", "marker", "skeleton", "width", "dropout"),
    ),
    "varied within": Views(
        mix="within", widths=(3,), count=4, varies=("order", "marker", "dropout"), markers=("letters",)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(ALL))
@pytest.mark.parametrize("n", [1, 2, 7, 10])
def test_every_view_shows_every_member_once_and_no_window_is_empty(name, n):
    groups = shown(make_slate(n=n), ALL[name], epoch=3)
    assert sorted(i for group in groups for i in group.members) == list(range(n))
    for group in groups:
        assert len(group.views) == ALL[name].count
        assert list(group.members) == sorted(group.members)
        for view in group.views:
            assert sorted(view.order) == list(group.members)
            assert all(view.windows)
            assert max(map(len, view.windows)) <= max(ALL[name].widths)


def test_within_keeps_the_companions_of_canonical_windows():
    groups = shown(make_slate(n=7), ALL["within"])
    # 7 at B = 3: 3, 3 and a ragged 1.
    assert [group.members for group in groups] == [(0, 1, 2), (3, 4, 5), (6,)]
    assert all(len(view.windows) == 1 for group in groups for view in group.views)


def test_within_follows_the_rule():
    # 7 at B = 3, dealt round-robin into 3 windows.
    groups = shown(make_slate(n=7), ALL["within interleaved"])
    assert [group.members for group in groups] == [(0, 3, 6), (1, 4), (2, 5)]


def test_across_is_one_group_that_is_cut_anew():
    (group,) = shown(make_slate(n=7), ALL["across"])
    assert group.members == tuple(range(7))
    assert [[len(window) for window in view.windows] for view in group.views] == [[3, 3, 1]] * 3
    companions = {frozenset(frozenset(w) for w in view.windows) for view in group.views}
    assert len(companions) == 3


def test_windows_counts_those_of_the_first_view():
    (group,) = shown(make_slate(n=7), ALL["across"])
    assert group.windows == 3
    assert [group.windows for group in shown(make_slate(n=7), ALL["within"])] == [1, 1, 1]


def test_a_window_of_one_is_kept():
    groups = shown(make_slate(n=7), ALL["within"])
    assert [view.windows for view in groups[-1].views] == [((6,),)] * 3
    (only,) = shown(make_slate(n=1), ALL["across"])
    assert windows(only) == [((0,),)] * 3


def test_a_slate_without_candidates_gives_nothing():
    for views in ALL.values():
        assert shown(make_slate(n=0), views) == []


def test_first_view_may_be_canonical():
    (group,) = shown(make_slate(n=7), ALL["across canonical"])
    assert group.views[0].windows == ((0, 1, 2), (3, 4, 5), (6,))
    assert group.views[1].order != tuple(range(7))
    assert [group.views[0].order for group in shown(make_slate(n=7), ALL["within canonical"])] == [
        (0, 1, 2), (3, 4, 5), (6,),
    ]  # fmt: skip


def test_all_widths_are_drawn_and_views_of_a_group_share_theirs():
    seen = set()
    for epoch in range(30):
        (group,) = shown(make_slate(n=20), ALL["across any width"], epoch=epoch)
        widths = {max(map(len, view.windows)) for view in group.views}
        assert len(widths) == 1
        seen |= widths
    assert seen == {2, 3, 20}


def varied(name, epoch=0, **options):
    views = Views(widths=(4,), count=2, varies=(name,), **options)
    (group,) = shown(make_slate(n=11), views, epoch=epoch)
    return group.views


def test_order_varies_slots_and_keeps_companions():
    first, second = varied("order")
    assert [set(w) for w in first.windows] == [set(w) for w in second.windows]
    assert first.windows != second.windows
    assert first.surface == second.surface


def test_companions_vary_and_slots_stay():
    first, second = varied("companions")
    places = [
        {i: slot for window in view.windows for slot, i in enumerate(window)}
        for view in (first, second)
    ]
    assert places[0] == places[1]
    assert {frozenset(w) for w in first.windows} != {frozenset(w) for w in second.windows}


@pytest.mark.parametrize(
    ("name", "options", "field"),
    [
        ("marker", {"markers": ("letters",)}, "markers"),
        ("skeleton", {"skeletons": ("score",)}, "skeleton"),
    ],
)
def test_a_varied_surface_keeps_everything_else(name, options, field):
    first, second = varied(name, **options)
    assert first.windows == second.windows
    assert getattr(first.surface, field) != getattr(second.surface, field)
    kept = replace(second.surface, **{field: getattr(first.surface, field)}, marker_seed=0)
    assert kept == first.surface


def test_random_markers_are_drawn_anew():
    views = Views(
        count=3, varies=("marker", "marker"), markers=("random",), surface=Surface(markers="random")
    )
    seeds = {view.surface.marker_seed for view in shown(make_slate(), views)[0].views}
    assert len(seeds) == 3


def test_width_varies_from_view_to_view():
    views = Views(widths=(2, 3, 4, 5), count=2, varies=("width",))
    pairs = {
        tuple(max(map(len, view.windows)) for view in shown(make_slate(n=20), views, epoch=e)[0].views)
        for e in range(20)
    }
    assert any(a != b for a, b in pairs)


def test_a_dropout_view_is_the_first_once_more():
    first, second = varied("dropout")
    assert first == second


def test_a_draw_depends_on_seed_and_epoch():
    slate = make_slate(n=9)
    for views in (ALL["across"], ALL["within"]):
        plain = [windows(group) for group in shown(slate, views)]
        assert plain == [windows(group) for group in shown(slate, views)]
        assert plain != [windows(group) for group in shown(slate, views, seed=1)]
        assert plain != [windows(group) for group in shown(slate, views, epoch=1)]


def test_a_draw_depends_on_its_slate_and_window_alone():
    # Other texts, other labels, more candidates behind: the first window is drawn the same.
    short, long = make_slate("s1", n=6), make_slate("s1", n=12, query="other", seed=5)
    first = [windows(group) for group in shown(short, ALL["within"])]
    assert [windows(group) for group in shown(long, ALL["within"])][:2] == first
    other = [windows(group) for group in shown(make_slate("s2", n=6), ALL["within"])]
    assert other != first


def test_the_windows_of_a_slate_are_drawn_apart():
    orders = {
        tuple(i - group.members[0] for i in group.views[0].order)
        for group in shown(make_slate(n=40), Views(mix="within", widths=(5,)))
    }
    assert len(orders) > 1


def test_single_order_sees_the_first_view_of_two():
    # Arms with more views differ in these alone: their first view is the same.
    for mix in ("within", "across"):
        one = shown(make_slate(n=9), Views(mix=mix, count=1, widths=(3, 4)), epoch=2)
        two = shown(make_slate(n=9), Views(mix=mix, count=2, widths=(3, 4)), epoch=2)
        assert [g.views[0] for g in one] == [g.views[0] for g in two]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mix": "between"}, "mix is one of"),
        ({"count": 0}, "count must be at least 1"),
        ({"widths": ()}, "at least one window width"),
        ({"widths": (4, 0)}, "a width must be at least 1"),
        ({"rule": "zigzag"}, "unknown window rule 'zigzag'"),
        ({"first": "sorted"}, "first is 'shuffled' or 'canonical', got 'sorted'"),
        ({"varies": ("slot",)}, "varies names one of"),
        ({"varies": ("order", "order")}, "each of the 1 views after the first"),
        ({"varies": ("marker",)}, "needs markers to choose from"),
        ({"varies": ("marker",), "markers": ("numeric",)}, "others than 'numeric'"),
        ({"varies": ("skeleton",), "skeletons": ("grade",)}, "others than 'grade'"),
        ({"varies": ("marker",), "markers": ("roman",)}, "unknown markers 'roman'"),
        ({"varies": ("skeleton",), "skeletons": ("poem",)}, "unknown skeleton 'poem'"),
        ({"mix": "within", "varies": ("companions",)}, "cannot vary companions; use mix = 'across'"),
        ({"mix": "within", "varies": ("width",)}, "cannot vary width"),
        ({"surface": Surface(rubric="taste")}, "unknown rubric 'taste'"),
    ],
)
def test_settings_of_views_are_checked(settings, message):
    with pytest.raises(UsageError, match=message):
        Views(**settings)
