import json
from dataclasses import replace

import numpy as np
import pytest

from evenhand.errors import InputError, UsageError
from evenhand.train.evaluate import hold_out
from evenhand.train.select import paired_gap, select, write_selection
from evenhand.train.trials import (
    VALUES,
    Trial,
    held_out_values,
    read_trial,
    read_trials,
    same_slates,
    write_trial,
)

IDS = tuple(f"q{i}" for i in range(10))


def trial(name="run", weight=1.0, shuffled=0.6, *, psi=0.1, overlap=0.8, spread=0.2, step=100, **more):
    """A trial over ten slates; a number stands for ten equal values."""
    values = {"shuffled": shuffled, "psi": psi, "overlap": overlap, "spread": spread}
    full = {key: np.broadcast_to(np.asarray(value, float), 10) for key, value in values.items()}
    return Trial(name, weight, step, IDS, full, **more)


def below(*slates, by=0.1):
    """Quality .6, on some slates lower."""
    return [0.6 - by * (i in slates) for i in range(10)]


# The paired standard error, by hand.


@pytest.mark.parametrize(
    ("slates", "mean", "error"),
    [
        # d = .1 once, 0 nine times: mean .01, squares .09^2 + 9 * .01^2 = .009, over 9 = .001,
        # sd .0316228, over sqrt(10) = .01.
        ((0,), 0.01, 0.01),
        # twice: mean .02, squares 2 * .08^2 + 8 * .02^2 = .016, over 9, sd .0421637, error .0133333.
        ((0, 1), 0.02, 0.0133333),
        # five times: mean .05, squares 10 * .05^2 = .025, over 9, sd .0527046, error .0166667.
        ((0, 1, 2, 3, 4), 0.05, 0.0166667),
        ((), 0.0, 0.0),
    ],
)
def test_the_gap_and_its_error(slates, mean, error):
    found = paired_gap(np.full(10, 0.6), np.array(below(*slates)))
    assert found == pytest.approx((mean, error), abs=1e-7)


def test_equal_differences_have_no_error():
    # Everywhere .05 lower: a small gap, and nothing to doubt in it.
    mean, error = paired_gap(np.linspace(0.3, 0.9, 10), np.linspace(0.3, 0.9, 10) - 0.05)
    assert mean == pytest.approx(0.05)
    assert error < 1e-16


# The rules.


def grid():
    return [
        trial("a", 1, 0.6, psi=0.15),
        trial("b", 5, below(3), psi=0.08),
        trial("c", 10, below(7), psi=0.12),
        trial("d", 20, below(0, 1), psi=0.01),
    ]


def test_both_rules_on_one_grid():
    # b and c are .01 below at an error of .01: within, by the edge. d is .02 below at .0133: out.
    found = select(grid())
    assert [one.within for one in found.trials] == [True, True, True, False]
    assert (found.best.name, found.paper.name, found.ours.name) == ("a", "c", "b")
    assert (found.slates, found.undefined, found.refused, found.baseline) == (10, 0, None, None)
    assert [one.difference for one in found.trials] == pytest.approx([0, 0.01, 0.01, 0.02])
    assert [one.error for one in found.trials] == pytest.approx([0, 0.01, 0.01, 0.0133333], abs=1e-7)


def test_every_trial_has_a_sentence_for_each_rule():
    found = select(grid())
    best, b, c, d = found.trials
    assert best.paper == "kept, not chosen: lambda 1 is smaller than 10 of the choice"
    assert best.ours == "kept, not chosen: tau-PSI 0.1500 against 0.0800 of the choice"
    assert b.ours.startswith("chosen: the lowest tau-PSI, 0.0800, within one standard error")
    assert c.paper.startswith("chosen: the largest lambda within one standard error")
    assert d.paper == d.ours == (
        "out: quality is 0.0200 under the best, more than one standard error of the paired difference "
        "(0.0133)"
    )  # fmt: skip


def test_the_order_of_trials_and_slates_changes_nothing():
    turned = [
        replace(
            one,
            slate_ids=one.slate_ids[::-1],
            values={name: values[::-1] for name, values in one.values.items()},
        )
        for one in grid()
    ]
    mixed = [turned[2], grid()[0], turned[3], grid()[1]]
    found, other = select(grid()), select(mixed)
    assert (other.paper, other.ours, other.best) == (found.paper, found.ours, found.best)


@pytest.mark.parametrize(
    ("others", "choice", "loser", "why"),
    [
        ([trial("b", 2, overlap=0.9)], "b", 0, "the same tau-PSI, overlap 0.8000 against 0.9000"),
        ([trial("b", 2, overlap=0.7)], "a", 1, "the same tau-PSI, overlap 0.7000 against 0.8000"),
        ([trial("b", 2)], "a", 1, "the same tau-PSI and overlap, and a larger lambda"),
        ([trial("b", 1, step=50)], "b", 0, "equal in all; the choice is earlier"),
        ([trial("b", 1)], "a", 1, "equal in all; the choice is earlier, or first by name"),
    ],
)  # fmt: skip
def test_ties_of_stability(others, choice, loser, why):
    found = select([trial("a", 1), *others])
    assert found.ours.name == choice
    assert why in found.trials[loser].ours


def test_ties_of_lambda_go_to_quality_then_to_the_earlier_step():
    found = select([trial("a", 5, below(1)), trial("b", 5, 0.6), trial("c", 5, 0.6, step=50)])
    assert found.paper.name == "c"
    assert found.trials[0].paper.endswith("the choice has the same lambda and a higher quality")
    assert found.trials[1].paper.endswith("the choice is earlier, or first by name")


def test_means_of_the_same_values_in_another_order_are_a_tie():
    values = np.array([0.1, 0.2, 0.3, 0.7, 0.13, 0.17, 0.19, 0.23, 0.29, 0.31])
    first, second = trial("a", 2, psi=values), trial("b", 1, psi=values[::-1])
    assert select([first, second]).ours.name == "b"


def test_one_trial_is_chosen_by_both():
    found = select([trial()])
    assert found.paper == found.ours == found.best == found.trials[0]


# What cannot be trusted.


def test_a_collapsed_trial_is_out_whatever_its_stability():
    found = select([trial("a", 1), trial("flat", 20, 0.9, psi=0.0, spread=0.0199)])
    assert (found.paper.name, found.ours.name) == ("a", "a")
    assert found.trials[1].paper == "out: collapsed: scores of a slate spread 0.0199, under 0.02"
    assert select([trial(spread=0.02)]).refused is None


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (trial("b", 5, missing=3), "out: 3 scores are missing"),
        (trial("b", 5, [np.nan, *[0.9] * 9]), "out: shuffled is missing on 1 slates where another"),
        (trial("b", 5, psi=[0.1] * 8 + [np.nan] * 2), "out: psi is missing on 2 slates"),
        (trial("b", 5, overlap=[np.nan] + [0.9] * 9), "out: overlap is missing on 1 slates"),
        (trial("b", 5, spread=np.nan), "out: spread is missing on 10 slates"),
    ],
)
def test_a_trial_with_missing_values_is_out(bad, why):
    found = select([trial("a", 1), bad])
    assert found.paper.name == found.ours.name == "a"
    assert found.trials[1].ours.startswith(why)
    assert np.isnan(found.trials[1].difference)


def test_slates_without_a_value_in_any_trial_are_left_out_and_counted():
    ids = (*IDS, "ungraded")

    def longer(one):
        values = {name: [*own, 0.5] for name, own in one.values.items()}
        values["shuffled"][-1] = np.nan
        return Trial(one.name, one.weight, one.step, ids, values)

    found = select([longer(one) for one in grid()])
    assert (found.slates, found.undefined) == (10, 1)
    assert [one.difference for one in found.trials] == pytest.approx([0, 0.01, 0.01, 0.02])
    assert (found.paper.name, found.ours.name) == ("c", "b")


def test_nothing_is_chosen_when_no_trial_can_be_trusted():
    found = select([trial("a", 1, spread=0.01), trial("b", 5, missing=1)])
    assert (found.best, found.paper, found.ours) == (None, None, None)
    assert found.refused.startswith("no trial can be trusted: a (lambda 1, step 100): collapsed")
    assert found.refused.endswith("b (lambda 5, step 100): 1 scores are missing")


def test_nothing_is_chosen_on_nine_slates():
    nine = Trial("a", 1, 1, IDS[:9], {name: np.full(9, 0.5) for name in VALUES})
    found = select([nine])
    assert found.refused == "9 held-out slates have a quality; at least 10 are needed"
    assert found.trials[0].paper == "not judged: " + found.refused
    unjudged = trial(shuffled=[np.nan, *[0.5] * 9])
    assert select([unjudged]).refused.startswith("9 held-out slates have a quality")


@pytest.mark.parametrize("baseline", [0.6, 0.7, trial("base", 0, 0.6, step=0)])
def test_nothing_is_chosen_that_is_not_above_the_baseline(baseline):
    found = select(grid(), baseline=baseline)
    assert (
        "the best quality, 0.6000 of a (lambda 1, step 100), is not above the baseline" in found.refused
    )
    assert found.paper is None


def test_a_baseline_that_is_beaten_is_kept_in_the_record():
    assert select(grid(), baseline=0.59).baseline == 0.59
    # The same name, lambda and step as a trial are no matter.
    found = select(grid(), baseline=trial("a", 1, [0.1] * 5 + [0.2] * 5))
    assert (found.refused, found.baseline) == (None, pytest.approx(0.15))


@pytest.mark.parametrize(
    ("baseline", "message"),
    [
        ("chance", "baseline must be a finite number"),
        (float("nan"), "baseline must be a finite number"),
        (trial("base", 0, [np.nan, *[0.5] * 9]), "baseline base .* has no quality on 1 slates"),
        (replace(trial(), slate_ids=[*IDS[:9], "x"]), "other held-out slates"),
    ],
)
def test_what_is_no_baseline_is_refused(baseline, message):
    with pytest.raises(UsageError, match=message):
        select(grid(), baseline=baseline)


# Trials that do not belong together.


def test_other_slates_are_refused():
    with pytest.raises(UsageError, match=r"a \(lambda 1, .* and x .* other held-out slates \(2 in"):
        select([*grid(), replace(trial("x"), slate_ids=[*IDS[:9], "other"])])


def test_other_settings_are_refused():
    pair = [
        trial("a", settings={"rows": 5, "width": 10}),
        trial("b", settings={"rows": 10, "width": 10}),
    ]
    with pytest.raises(UsageError, match="judged differently: rows: 5 in the first, 10 in the other"):
        same_slates(pair)


def test_the_same_trial_twice_and_none_are_refused():
    with pytest.raises(UsageError, match=r"comes twice: run \(lambda 1, step 100\)"):
        select([trial(), trial()])
    with pytest.raises(UsageError, match="no trials to select from"):
        select([])


# The format.


def test_a_trial_is_written_and_read(tmp_path):
    one = trial("oc-sft", 5, [np.nan, *below()[1:]], missing=2, settings={"width": 10})
    write_trial(tmp_path / "run" / "held_out" / "0400.json", one)
    record = json.loads((tmp_path / "run" / "held_out" / "0400.json").read_text())
    assert record["lambda"] == 5
    assert record["values"]["shuffled"] == [None, *[0.6] * 9]
    (back,) = read_trials([tmp_path / "run"])
    assert (back.name, back.weight, back.step, back.slate_ids) == ("oc-sft", 5, 100, IDS)
    assert (back.missing, back.settings) == (2, {"width": 10})
    for name in VALUES:
        assert np.array_equal(back.values[name], one.values[name], equal_nan=True)


def test_folders_give_all_their_files_in_order(tmp_path):
    for step in (10, 20):
        write_trial(tmp_path / "run" / "held_out" / f"{step:04d}.json", trial(step=step))
    write_trial(tmp_path / "alone.json", trial("alone"))
    found = read_trials([tmp_path / "alone.json", tmp_path / "run"])
    assert [(one.name, one.step) for one in found] == [("alone", 100), ("run", 10), ("run", 20)]


RECORD = {
    "name": "run", "lambda": 1, "step": 10, "slate_ids": list(IDS),
    "values": {name: [0.5] * 10 for name in VALUES},
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lambda": None}, "lambda must be a finite number"),
        ({"lambda": -1}, "lambda must be at least 0"),
        ({"step": 1.5}, "step must be at least 0, a whole number"),
        ({"name": ""}, "the name of a trial must be"),
        ({"missing": -1}, "missing must be at least 0"),
        ({"slate_ids": ["q0"] * 10}, "slate_ids must be texts, each once"),
        ({"slate_ids": list(IDS[:9])}, "shuffled of shape .10,. for 9 slates"),
        ({"values": {"shuffled": [0.5] * 10}}, "lacks .'psi', 'overlap', 'spread'."),
        ({"values": {**RECORD["values"], "psi": ["x"] * 10}}, "psi must be numbers"),
        ({"values": []}, "is no trial"),
        ({"lamda": 1}, r"unknown keys \['lamda'\], missing keys \[\]; a trial has name, lambda"),
    ],
)
def test_faulty_files_are_named(tmp_path, change, message):
    path = tmp_path / "t.json"
    path.write_text(json.dumps({**RECORD, **change}))
    with pytest.raises(InputError, match=message) as caught:
        read_trial(path)
    assert str(path) in str(caught.value)


def test_what_is_no_file_of_a_trial_is_named(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_trial(tmp_path / "none.json")
    (tmp_path / "t.json").write_text("{")
    with pytest.raises(InputError, match="is no JSON"):
        read_trial(tmp_path / "t.json")
    (tmp_path / "t.json").write_text(json.dumps({key: RECORD[key] for key in ("name", "values")}))
    with pytest.raises(InputError, match=r"missing keys \['lambda', 'step', 'slate_ids'\]"):
        read_trial(tmp_path / "t.json")
    with pytest.raises(InputError, match="holds no held_out/"):
        read_trials([tmp_path])


def test_a_selection_is_written(tmp_path):
    write_selection(
        tmp_path / "selection.json", select([*grid(), trial("flat", 2, spread=0.0)], baseline=0.3)
    )
    found = json.loads((tmp_path / "selection.json").read_text())
    assert found["paper"] == {"name": "c", "lambda": 10, "step": 100}
    assert found["ours"] == {"name": "b", "lambda": 5, "step": 100}
    assert found["best"] == {"name": "a", "lambda": 1, "step": 100}
    assert (found["slates"], found["undefined"]) == (10, 0)
    assert (found["baseline"], found["refused"]) == (0.3, None)
    last = found["trials"][-1]
    assert last["difference"] is None
    assert last["ours"].startswith("out: collapsed")
    assert last["means"] == {"shuffled": 0.6, "psi": 0.1, "overlap": 0.8, "spread": 0.0}
    write_selection(tmp_path / "none.json", select([trial(spread=0.0)]))
    assert json.loads((tmp_path / "none.json").read_text())["paper"] is None


def test_a_look_at_held_out_slates_becomes_a_trial(tmp_path):
    import evenhand
    from evenhand.data.demo import demo_slates

    slates = demo_slates(12)
    trials = []
    for weight, bias in ((0, 0.5), (5, 0.1)):
        look = hold_out(evenhand.open_scorer(f"toy:slot_bias={bias}"), slates, width=4)
        values = held_out_values(look)
        trials.append(Trial("toy", weight, 1, [s.id for s in slates], values, look.missing))
        write_trial(tmp_path / f"{weight}.json", trials[-1])
    found = select(read_trials([tmp_path / "0.json", tmp_path / "5.json"]))
    assert found.ours.weight == found.paper.weight == 5
    assert found.trials[1].means["psi"] == pytest.approx(look.means()["psi"])
