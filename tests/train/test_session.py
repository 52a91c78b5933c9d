"""A whole training: what is refused before it, what it leaves behind."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("peft")

from train_help import make_slate

from evenhand.errors import InputError, UsageError
from evenhand.train.labels import graded
from evenhand.train.session import Look, graded_slates, shortened, train_scorer
from evenhand.train.settings import Descent, Run, Training, Weights
from evenhand.train.step import Objective
from evenhand.train.trials import read_trials
from evenhand.train.views import Views

GRADES = {"c0": 3, "c1": 1}
TRAINED = [make_slate(f"s{i}", n=5, query=f"egg {i}", grades=GRADES) for i in range(6)]
HELD = [make_slate(f"h{i}", n=5, query=f"pan {i}", grades=GRADES) for i in range(3)]


@pytest.fixture
def settings(tiny_loaded, tmp_path):
    """Settings of a run on a tiny model of a folder: three steps."""
    from evenhand.models.quiet import quiet

    loaded = tiny_loaded("qwen3")
    with quiet():
        loaded.model.save_pretrained(tmp_path / "base")
    loaded.tokenizer.save_pretrained(tmp_path / "base")
    return Training(
        base=f"hf:{tmp_path / 'base'}",
        views=Views(widths=(3,)),
        objective=Objective(consistency=2.5),
        weights=Weights(rank=2, alpha=4),
        descent=Descent(rate=1e-3),
        run=Run(windows=4, evaluate_every=2, save_every=1),
    )


def labelled():
    return [graded(slate) for slate in TRAINED]


def test_a_training_leaves_a_scorer_its_looks_and_its_log(settings, tmp_path):
    told = []
    done = train_scorer(
        settings, labelled(), tmp_path / "out", held_out=HELD, look=Look(rows=3, width=3),
        facts={"orders": [1]}, device="cpu", progress=told.append,
    )  # fmt: skip
    assert (done.outcome.steps, done.outcome.stopped) == (3, None)
    assert done.open_as == f"{settings.base}+{tmp_path / 'out' / 'scorer'}"
    trials = read_trials([tmp_path / "out"])
    assert [(one.name, one.weight, one.step) for one in trials] == [("out", 2.5, 2), ("out", 2.5, 3)]
    assert trials[0].slate_ids == ("h0", "h1", "h2")
    assert trials[0].settings == {"rows": 3, "width": 3, "measure": "nDCG@10", "seed": 0}
    assert done.measures["psi"] == pytest.approx(trials[-1].values["psi"].mean())
    assert "stop" not in done.measures
    lines = (tmp_path / "out" / "log.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == told
    record = json.loads((done.scorer / "scorer.json").read_text())
    assert record["measures"] == pytest.approx(done.measures)
    assert record["measured_on"] == {
        "slates": 3,
        "rows": 3,
        "width": 3,
        "measure": "nDCG@10",
        "seed": 0,
    }
    assert record["training"]["labels"] == {"orders": [1]}


def test_a_finished_training_gives_the_same_again(settings, tmp_path):
    first = train_scorer(settings, labelled(), tmp_path / "out", held_out=HELD, device="cpu")
    weights = (first.scorer / "adapter_model.safetensors").read_bytes()
    again = train_scorer(settings, labelled(), tmp_path / "out", held_out=HELD, device="cpu")
    assert (again.scorer / "adapter_model.safetensors").read_bytes() == weights
    assert (again.measures, again.open_as) == (first.measures, first.open_as)


def test_without_held_out_slates_nothing_is_measured(settings, tmp_path):
    done = train_scorer(settings, labelled(), tmp_path / "out", device="cpu")
    assert done.measures is None
    assert json.loads((done.scorer / "scorer.json").read_text())["measures"] is None
    assert not (tmp_path / "out" / "held_out").exists()


def test_full_training_leaves_a_model(settings, tmp_path):
    full = replace(settings, weights=Weights(method="full"))
    done = train_scorer(full, labelled(), tmp_path / "out", device="cpu")
    assert done.open_as == f"hf:{tmp_path / 'out' / 'scorer'}"
    assert (done.scorer / "model.safetensors").exists()
    assert (done.scorer / "tokenizer.json").exists()


def test_a_stopped_training_leaves_no_scorer(settings, tmp_path, monkeypatch):
    from evenhand.train import session

    monkeypatch.setattr(session, "guard", lambda means: "collapsed: as asked")
    done = train_scorer(settings, labelled(), tmp_path / "out", held_out=HELD, device="cpu")
    assert (done.outcome.steps, done.outcome.stopped) == (2, "collapsed: as asked")
    assert (done.scorer, done.open_as) == (None, None)
    assert not (tmp_path / "out" / "scorer").exists()
    assert done.measures is not None


@pytest.mark.parametrize(
    "held",
    [
        [*HELD, TRAINED[2]],
        [*HELD, make_slate("other id", n=4, query="egg 2", grades=GRADES)],
    ],
)
def test_held_out_slates_are_not_trained_on(settings, tmp_path, held):
    with pytest.raises(UsageError, match="1 of 4 held-out slates are trained on"):
        train_scorer(settings, labelled(), tmp_path / "out", held_out=held)


def test_an_adapter_on_an_adapter_is_refused(settings, tmp_path):
    (tmp_path / "laid").mkdir()
    double = replace(settings, base=f"{settings.base}+{tmp_path / 'laid'}")
    with pytest.raises(UsageError, match="has an adapter already"):
        train_scorer(double, labelled(), tmp_path / "out")


def test_grades_are_over_the_highest_of_all_slates():
    slates = [make_slate("a", n=2, grades={"c0": 1}), make_slate("b", n=2, grades={"c1": 4})]
    assert [one.labels.tolist() for one in graded_slates(slates)] == [[0.25, 0], [0, 1]]
    binary = [make_slate("a", n=2, grades={"c0": 1})]
    assert graded_slates(binary)[0].labels.tolist() == [1, 0]


def test_slates_without_grades_are_counted():
    with pytest.raises(InputError, match=r"2 of 3 slates have no grades \(first: 'b'\)"):
        graded_slates([make_slate("a", grades=GRADES), make_slate("b"), make_slate("c")])
    with pytest.raises(InputError, match="none of 1 slates has a grade above 0"):
        graded_slates([make_slate("a", grades={"c0": 0})])


def test_a_shortened_run_saves_and_looks_at_and_tells_of_nothing(settings):
    tracked = replace(settings, run=replace(settings.run, tracker="wandb"))
    short = shortened(tracked, 2).run
    assert (short.steps, short.evaluate_every, short.save_every) == (2, 0, 0)
    assert short.tracker is None
