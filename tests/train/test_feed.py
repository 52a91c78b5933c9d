"""What reaches the model: the same step at any budget, number of processes or workers."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from train_help import make_slate

from evenhand.errors import UsageError
from evenhand.train import objectives
from evenhand.train.feed import Steps, by_id, feed, labels_identity, plan, prompt_builder, slot_weights
from evenhand.train.labels import Labelled
from evenhand.train.settings import Run, Training
from evenhand.train.step import Objective
from evenhand.train.views import Views


def labelled(sizes):
    return [
        Labelled(make_slate(f"s{i}", n=n), np.linspace(0, 1, n), np.arange(n) / 10)
        for i, n in enumerate(sizes)
    ]


def settings_of(objective=None, **run):
    return Training(
        views=Views(widths=(3,)), objective=objective or Objective(), run=Run(**{"windows": 4, **run})
    )


def steps_of(loaded, slates, settings, **options):
    found = by_id(slates)
    builder = prompt_builder(loaded, settings.run.max_candidate_tokens)
    return Steps(found, plan(found, settings), settings, builder, **options)


def content(feds):
    """What the micro-batches of one step hold: prompts, and labels by candidate."""
    prompts = Counter(prompt for fed in feds for micro in fed.micros for prompt in micro.prompts)
    labels = sorted(label for fed in feds for micro in fed.micros for label in micro.labels.tolist())
    return prompts, labels


def test_an_id_comes_once():
    assert set(by_id(labelled([3, 3]))) == {"s0", "s1"}
    with pytest.raises(UsageError, match="no labelled slates"):
        by_id([])
    with pytest.raises(UsageError, match="3 labelled slates have 2 ids"):
        by_id([*labelled([3, 3]), *labelled([3])])


def test_slates_without_candidates_are_nothing_to_train_on():
    with pytest.raises(UsageError, match="none of the 2 labelled slates has a candidate"):
        plan(by_id(labelled([0, 0])), settings_of())


def test_identity_follows_texts_labels_and_doubt():
    slates = by_id(labelled([3, 4]))
    first = labels_identity(slates)
    assert labels_identity(dict(reversed(slates.items()))) == first
    one = slates["s0"]
    changed = [
        Labelled(make_slate("s0", n=3, query="else"), one.labels, one.doubt),
        Labelled(one.slate, [0, 0.5, 0.9], one.doubt),
        Labelled(one.slate, one.labels, [0, 0, 0.1]),
    ]
    found = {labels_identity({**slates, "s0": other}) for other in changed}
    assert len(found | {first}) == 4


@pytest.mark.parametrize("budget", [1, 1000])
def test_a_step_does_not_depend_on_the_token_budget(tiny_loaded, budget):
    slates = labelled([7, 5, 4, 3])
    loaded = tiny_loaded()
    whole = steps_of(loaded, slates, settings_of(windows=6, token_budget=10**6))
    small = steps_of(loaded, slates, settings_of(windows=6, token_budget=budget))
    assert len(whole) == len(small) > 1
    for a, b in zip(whole, small, strict=True):
        assert content([a]) == content([b])
        assert (a.candidates, a.windows) == (b.candidates, b.windows)
    assert max(len(fed.micros) for fed in small) > max(len(fed.micros) for fed in whole) == 1


@pytest.mark.parametrize("world", [2, 3, 5])
def test_processes_share_a_step(tiny_loaded, world):
    slates, loaded = labelled([7, 5, 4, 3]), tiny_loaded()
    whole = steps_of(loaded, slates, settings_of())
    ranks = [steps_of(loaded, slates, settings_of(), rank=rank, world=world) for rank in range(world)]
    assert {len(steps) for steps in ranks} == {len(whole)}
    for number, alone in enumerate(whole):
        feds = [steps[number] for steps in ranks]
        busy = [fed for fed in feds if not fed.idle]
        assert content(busy) == content([alone])
        assert {(fed.number, fed.candidates, fed.windows) for fed in feds} == {
            (alone.number, alone.candidates, alone.windows)
        }
        assert sum(fed.tokens for fed in feds) == alone.tokens
        # An idle process has something to read: the others wait for it.
        assert all(fed.micros and fed.tokens == 0 for fed in feds if fed.idle)


def test_idle_processes_are_told(tiny_loaded):
    slates = labelled([7, 7])
    idle = [
        [fed.idle for fed in steps_of(tiny_loaded(), slates, settings_of(), rank=rank, world=2)]
        for rank in (0, 1)
    ]
    # Groups of 3 windows in steps of 4: one group a step.
    assert idle == [[False, False], [True, True]]


def test_a_start_leaves_steps_out(tiny_loaded):
    slates, loaded = labelled([7, 5, 4, 3]), tiny_loaded()
    whole = list(steps_of(loaded, slates, settings_of()))
    rest = steps_of(loaded, slates, settings_of(), start=1)
    assert [fed.number for fed in rest] == [fed.number for fed in whole][1:]
    assert content(rest) == content(whole[1:])
    assert len(steps_of(loaded, slates, settings_of(), start=9)) == 0
    with pytest.raises(IndexError):
        rest[len(rest)]


def test_counts_by_hand(tiny_loaded):
    (fed,) = steps_of(tiny_loaded(), labelled([7, 2]), settings_of())
    assert (fed.candidates, fed.windows, fed.number) == (9, 4, 0)
    assert sum(len(micro.labels) for micro in fed.micros) == 9
    assert fed.truncated == 0


def test_what_is_cut_is_counted(tiny_loaded):
    # Candidates of 3, 4, 5 words and so on, one token each, cut at 2: 1 + 2 + 3, in two views.
    (fed,) = steps_of(tiny_loaded(), labelled([3]), settings_of(max_candidate_tokens=2))
    assert fed.truncated == 2 * (1 + 2 + 3)


def test_channels_reach_the_micro_batches(tiny_loaded):
    settings = Training(views=Views(widths=(3,), count=3, varies=("order", "companions")))
    (fed,) = steps_of(tiny_loaded(), labelled([4]), settings)
    assert [micro.channels for micro in fed.micros] == [("order", "companions")]


def weights_of(loaded, objective):
    steps = steps_of(loaded, labelled([4]), settings_of(objective))
    (micro,) = steps[0].micros
    return steps.weights(micro), micro


def test_weights_by_distance_to_the_threshold(tiny_loaded):
    objective = Objective(weighting="threshold", threshold=0.5, temperature=0.2)
    found, micro = weights_of(tiny_loaded(), objective)
    wanted = objectives.near_threshold(torch.tensor(micro.labels), 0.5, 0.2)
    assert found.tolist() == pytest.approx(wanted.tolist())
    # Labels 0, 1/3, 2/3, 1: exp(-2.5), exp(-.8333) twice, exp(-2.5).
    assert found.tolist() == pytest.approx([0.082085, 0.434598, 0.434598, 0.082085], abs=1e-6)


def test_weights_by_doubt(tiny_loaded):
    # Doubts 0, .1, .2, .3 at .1: 1, e^-1, e^-2, e^-3.
    found, _ = weights_of(tiny_loaded(), Objective(weighting="uncertainty", temperature=0.1))
    assert found.tolist() == pytest.approx(np.exp([0, -1, -2, -3]).tolist())


def test_no_weights(tiny_loaded):
    assert weights_of(tiny_loaded(), Objective())[0] is None


def test_weights_by_first_stage_slot():
    # Positives (label >= .5) of two slates of 7 with labels 0, 1/6 .. 1: ranks 3, 4, 5, 6.
    # Mod 3: slot 0 (3, 6) twice 2, slot 1 (4) twice 1, slot 2 (5) twice 1: shares .5, .25, .25.
    settings = settings_of(Objective(weighting="position"))
    found = slot_weights(settings, by_id(labelled([7, 7])))
    inverse = np.array([1 / 0.501, 1 / 0.251, 1 / 0.251])
    assert found.tolist() == pytest.approx((inverse / inverse.mean()).tolist())


def test_a_candidate_is_weighed_by_its_first_stage_rank_however_it_is_shown(tiny_loaded):
    found, micro = weights_of(tiny_loaded(), Objective(weighting="position"))
    settings = settings_of(Objective(weighting="position"))
    by_slot = slot_weights(settings, by_id(labelled([4])))
    assert found.tolist() == [by_slot[rank % 3] for rank in micro.slots]
    assert micro.slots.tolist() == [0, 1, 2, 3]


def test_workers_build_the_same_steps(tiny_loaded):
    steps = steps_of(tiny_loaded(), labelled([7, 5, 4, 3]), settings_of())
    alone, beside = list(feed(steps, 0)), list(feed(steps, 1))
    assert len(alone) == len(beside)
    for a, b in zip(alone, beside, strict=True):
        assert content([a]) == content([b])
        assert a.number == b.number
        assert isinstance(b.micros[0].labels, np.ndarray)
