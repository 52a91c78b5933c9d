"""Steps: how many windows, in which order, and how they are put together."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from train_help import make_slate

from evenhand.errors import UsageError
from evenhand.models.batching import stream_length
from evenhand.train.batch import build, even_parts, micro_batches, sequence
from evenhand.train.feed import prompt_builder
from evenhand.train.labels import Labelled
from evenhand.train.views import Views

WITHIN = Views(mix="within", widths=(3,))
ACROSS = Views(widths=(3,))


def labelled(sizes, prefix="s"):
    return {
        f"{prefix}{i}": Labelled(
            make_slate(f"{prefix}{i}", n=n), np.linspace(0, 1, n), np.arange(n) / 10
        )
        for i, n in enumerate(sizes)
    }


def steps_of(slates, views, *, windows, seed=0, epochs=1, steps=None):
    draw = views if callable(views) else lambda share: views
    return list(sequence(slates, draw, windows=windows, seed=seed, epochs=epochs, steps=steps))


@pytest.fixture
def builder(tiny_loaded):
    return prompt_builder(tiny_loaded(), 64)


def test_a_step_holds_a_fixed_number_of_windows():
    # 5 slates of 7 at B = 3 are 3 windows each: 15 windows, 4 a step, the last with 3.
    steps = steps_of(labelled([7] * 5), WITHIN, windows=4)
    assert [sum(group.windows for group in step) for step in steps] == [4, 4, 4, 3]


def test_a_group_is_never_cut():
    # Groups of 3 windows in steps of 7: two groups a step.
    steps = steps_of(labelled([7] * 5), ACROSS, windows=7)
    assert [len(step) for step in steps] == [2, 2, 1]
    # A group wider than a step is a step of its own.
    assert [len(step) for step in steps_of(labelled([7] * 3), ACROSS, windows=2)] == [1, 1, 1]


def test_every_slate_comes_once_an_epoch_in_an_order_of_its_own():
    steps = steps_of(labelled([3] * 9), ACROSS, windows=1, epochs=2)
    ids = [group.slate.id for step in steps for group in step]
    assert sorted(ids[:9]) == sorted(ids[9:]) == [f"s{i}" for i in range(9)]
    assert ids[:9] != ids[9:]
    assert ids[:9] != [f"s{i}" for i in range(9)]


def test_epochs_show_a_slate_in_other_orders():
    steps = steps_of(labelled([9]), ACROSS, windows=9, epochs=2)
    groups = [group for step in steps for group in step]
    assert groups[0].views[0].windows != groups[1].views[0].windows


@pytest.mark.parametrize(("limit", "count"), [(1, 1), (3, 3), (4, 4), (5, 5), (None, 5), (9, 5)])
def test_whichever_ends_first(limit, count):
    assert len(steps_of(labelled([3] * 5), ACROSS, windows=1, steps=limit)) == count


def test_a_limit_takes_the_first_steps_of_the_whole():
    whole = steps_of(labelled([3] * 6), ACROSS, windows=2)
    assert steps_of(labelled([3] * 6), ACROSS, windows=2, steps=2) == whole[:2]


def test_dropping_a_slate_changes_no_view_of_the_others():
    slates = labelled([7, 5, 9, 4])
    whole = {g.slate.id: g for step in steps_of(slates, ACROSS, windows=1) for g in step}
    less = {k: v for k, v in slates.items() if k != "s1"}
    rest = {g.slate.id: g for step in steps_of(less, ACROSS, windows=1) for g in step}
    assert rest == {k: v for k, v in whole.items() if k != "s1"}


def test_the_order_slates_are_given_in_does_not_matter():
    slates = labelled([7, 5, 9, 4])
    assert steps_of(dict(reversed(slates.items())), ACROSS, windows=3) == steps_of(
        slates, ACROSS, windows=3
    )


def test_views_are_asked_for_by_the_share_of_the_training():
    shares = []

    def views(share):
        shares.append(share)
        return ACROSS

    steps_of(labelled([3] * 4), views, windows=1, epochs=2)
    assert shares == [i / 8 for i in range(8)]
    shares.clear()
    # Two steps of two slates each, out of four a step would allow: the limit of steps is nearer.
    steps_of(labelled([3] * 8), views, windows=2, steps=2)
    assert shares == pytest.approx([0, 1 / 8, 2 / 8, 1 / 2, 1 / 2])


def test_windows_must_be_at_least_1():
    with pytest.raises(UsageError, match="at least 1 window"):
        steps_of(labelled([3]), ACROSS, windows=0)


def test_prompts_are_those_of_the_views(builder):
    slates = labelled([7])
    (step,) = steps_of(slates, ACROSS, windows=9)
    built = build(step[0], slates["s0"], builder)
    for view, prompts in zip(step[0].views, built.prompts, strict=True):
        wanted = [builder.build(step[0].slate, window, view.surface) for window in view.windows]
        assert list(prompts) == wanted
    assert built.tokens == sum(len(p.ids) for own in built.prompts for p in own)


def test_readouts_are_told_apart_by_view_and_candidate(builder):
    slates = labelled([4, 3])
    groups = [group for step in steps_of(slates, ACROSS, windows=9) for group in step]
    (micro,) = micro_batches([build(g, slates[g.slate.id], builder) for g in groups], 10**6)
    starts = [0, len(groups[0].members)]
    expected = [
        (number, start + i)
        for group, start in zip(groups, starts, strict=True)
        for number, view in enumerate(group.views)
        for i in view.order
    ]
    assert list(zip(micro.view.tolist(), micro.column.tolist(), strict=True)) == expected
    assert sum(len(prompt.readouts) for prompt in micro.prompts) == len(expected) == 14
    # Every view of every candidate exactly once.
    assert sorted(expected) == [(view, column) for view in (0, 1) for column in range(7)]


def test_columns_hold_the_labels_of_their_candidates(builder):
    slates = labelled([7])
    groups = [group for step in steps_of(slates, WITHIN, windows=9) for group in step]
    (micro,) = micro_batches([build(g, slates["s0"], builder) for g in groups], 10**6)
    members = [i for group in groups for i in group.members]
    assert micro.labels.tolist() == [slates["s0"].labels[i] for i in members]
    assert micro.doubt.tolist() == [i / 10 for i in members]
    assert micro.slots.tolist() == members
    assert micro.groups.tolist() == [i for i, group in enumerate(groups) for _ in group.members]
    assert micro.count == 2


@pytest.mark.parametrize("budget", [1, 700, 1500, 10**6])
def test_a_budget_only_cuts_between_groups(builder, budget):
    slates = labelled([4, 3, 5, 2])
    groups = [group for step in steps_of(slates, ACROSS, windows=99) for group in step]
    built = [build(g, slates[g.slate.id], builder) for g in groups]
    micros = micro_batches(built, budget)
    whole = [prompt for one in built for view in one.prompts for prompt in view]
    assert [prompt for micro in micros for prompt in micro.prompts] == whole
    for micro in micros:
        assert micro.tokens <= budget or len(set(micro.groups.tolist())) == 1
    assert np.concatenate([micro.labels for micro in micros]).tolist() == [
        slates[g.slate.id].labels[i] for g in groups for i in g.members
    ]


@pytest.mark.parametrize(
    ("sizes", "wanted"),
    [
        # 66 thousand in a budget of 64 Ki: 60 + 6 in streams of 64 + 16 Ki, 32 + 34 in 32 + 48,
        # 80 either way; the even cut is taken.
        ([32_000, 28_000, 6_000], [(0, 1), (1, 3)]),
        # 70: 33 + 37 would take 48 + 48 Ki, 60 + 10 takes 64 + 16.
        ([33_000, 27_000, 5_000, 5_000], [(0, 2), (2, 4)]),
        # 66 in threes of 22: 48 + 32 Ki = 80 either way round; the first of two equal cuts.
        ([22_000] * 3, [(0, 1), (1, 3)]),
        # Everything in one stream where it fits.
        ([10_000] * 6, [(0, 6)]),
        # 100 = 64 + 36 -> 64 + 48 Ki; 48 + 52 -> 48 + 64 Ki, as short and more even.
        ([16_000, 16_000, 16_000, 16_000, 36_000], [(0, 3), (3, 5)]),
        # Beyond the budget a group stands alone.
        ([90_000, 1_000], [(0, 1), (1, 2)]),
        ([1_000, 90_000, 1_000], [(0, 1), (1, 2), (2, 3)]),
        ([], []),
    ],
)  # fmt: skip
def test_a_step_is_cut_evenly_and_streams_are_short(sizes, wanted):
    assert even_parts(sizes, 65536) == wanted


def test_no_other_cut_is_better():
    rng = np.random.default_rng(3)
    for _ in range(40):
        sizes = rng.integers(500, 30_000, size=int(rng.integers(1, 9))).tolist()

        def cost(parts, sizes=sizes):
            totals = [sum(sizes[a:b]) for a, b in parts]
            return (sum(stream_length(one, 32768) for one in totals), len(parts), max(totals))

        cuts = []
        for mask in range(2 ** (len(sizes) - 1)):
            ends = [i + 1 for i in range(len(sizes) - 1) if mask >> i & 1] + [len(sizes)]
            parts = list(zip([0, *ends[:-1]], ends, strict=True))
            if all(sum(sizes[a:b]) <= 32768 or b - a == 1 for a, b in parts):
                cuts.append(cost(parts))
        assert cost(even_parts(sizes, 32768)) == min(cuts)


def test_groups_of_other_numbers_of_views_do_not_mix(builder):
    slates = labelled([3, 3])
    groups = [
        steps_of({key: one}, Views(widths=(3,), count=n), windows=1)[0][0]
        for n, (key, one) in enumerate(slates.items(), 1)
    ]
    with pytest.raises(UsageError, match=r"groups of \[1, 2\] views in one step"):
        micro_batches([build(g, slates[g.slate.id], builder) for g in groups], 10**6)
