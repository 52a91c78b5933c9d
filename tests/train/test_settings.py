"""Settings of a run: from plain values, from a file, and what does not go together."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("torch")

from evenhand.errors import InputError, UsageError
from evenhand.train.settings import (
    Descent,
    Run,
    Training,
    Weights,
    read_training,
    training_from,
)
from evenhand.train.step import Objective
from evenhand.train.views import Views
from evenhand.types import Surface


def test_everything_has_a_default():
    assert training_from({}) == Training()


def test_a_file_is_read(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text(
        'base = "hf:Qwen/Qwen3-0.6B"\n'
        "widths = [[0.25, [2, 5]], [0.5, [10]]]\n"
        '[views]\nmix = "within"\ncount = 3\nwidths = [10, 20]\n'
        '[surface]\nrubric = "answer_support"\n'
        "[objective]\nconsistency = 5\n"
        '[weights]\nmethod = "full"\n'
        "[descent]\nrate = 1e-4\nbetas = [0.8, 0.9]\n"
        "[run]\nsteps = 7\n"
    )
    assert read_training(path) == Training(
        base="hf:Qwen/Qwen3-0.6B",
        views=Views(mix="within", count=3, widths=(10, 20), surface=Surface(rubric="answer_support")),
        objective=Objective(consistency=5),
        weights=Weights(method="full"),
        descent=Descent(rate=1e-4, betas=(0.8, 0.9)),
        run=Run(steps=7),
        widths=((0.25, (2, 5)), (0.5, (10,))),
    )


def test_a_preset_is_laid_under_a_file(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text('preset = "paper-qa"\nbase = "smollm2-135m"\n[objective]\nconsistency = 1.5\n')
    found = read_training(path)
    assert (found.base, found.objective.consistency) == ("smollm2-135m", 1.5)
    assert found.views.widths == (10,)
    assert found.views.surface.rubric == "answer_support"
    assert found.weights.method == "lora"


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (b"[views", InputError, "is no TOML"),
        (b"\xff\xfe", InputError, "UTF-8"),
        (b"lambda = 5", UsageError, r"unknown sections \['lambda'\]; known are"),
        (b"[run]\nwindow = 5", UsageError, r"unknown settings \['window'\] in run; known are"),
        (b"[objective]\nlambda = 5", UsageError, "unknown settings of an objective"),
        (b'preset = "paper"', UsageError, "unknown preset 'paper'; known are paper-passages"),
    ],
)
def test_bad_files_are_refused(tmp_path, content, error, message):
    path = tmp_path / "config.toml"
    path.write_bytes(content)
    with pytest.raises(error, match=message):
        read_training(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.toml: cannot be read"):
        read_training(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"views": 3}, "section views must hold names and values"),
        ({"objective": 3}, "section objective must hold"),
        ({"views": {"surface": {"rubric": "relevance"}}}, "surface is a section of its own"),
        ({"surface": {"rubrik": "relevance"}}, r"unknown settings \['rubrik'\] in surface"),
        ({"widths": [[0.5]]}, "widths is a list of"),
        ({"widths": 5}, "widths is a list of"),
        ({"base": 3}, "base names a model"),
        ({"run": {"windows": 0}}, "windows must be at least 1"),
        ({"run": {"steps": 0}}, "steps must be at least 1"),
        ({"run": {"workers": -1}}, "workers is a whole number of at least 0"),
        ({"run": {"save_every": 1.5}}, "save_every is a whole number"),
        ({"run": {"half": "yes"}}, "half is true or false"),
        ({"descent": {"rate": 0}}, "rate must be above 0"),
        ({"descent": {"rate": "fast"}}, "rate is a number"),
        ({"descent": {"warmup": 1.0}}, "warmup is a share"),
        ({"descent": {"ramp": -1}}, "ramp is not negative"),
        ({"descent": {"betas": [0.9]}}, "betas are two numbers"),
        ({"descent": {"betas": [0.9, 1.0]}}, "betas are two numbers"),
        ({"weights": {"method": "prefix"}}, "method is one of"),
        ({"weights": {"rank": 0}}, "rank must be at least 1"),
        ({"weights": {"dropout": 1.0}}, "dropout must be in"),
        ({"weights": {"targets": []}}, "targets names the layers"),
    ],
)
def test_bad_values_are_refused(settings, message):
    with pytest.raises(UsageError, match=message):
        training_from(settings)


@pytest.mark.parametrize(
    ("objective", "term"),
    [
        (Objective(consistency=1.0), "consistency"),
        (Objective(consistency=1.0, mean_teacher=0.9), "consistency"),
        (Objective(jaccard=1.0), "jaccard"),
        (Objective(channels=(("order", 1.0),)), "channels"),
    ],
)
def test_a_penalty_needs_two_views(objective, term):
    with pytest.raises(UsageError, match=f"{term} of the objective compares views.*views.count is 1"):
        Training(views=Views(count=1), objective=objective)
    Training(views=Views(count=1), objective=Objective(base_kl=1.0))


def test_channels_are_those_that_views_vary():
    objective = Objective(channels=(("marker", 1.0), ("order", 1.0)))
    with pytest.raises(UsageError, match=r"\['marker', 'order'\], and views.varies names \['order'\]"):
        Training(views=Views(varies=("order",)), objective=objective)
    Training(
        views=Views(count=4, varies=("order", "marker", "order"), markers=("letters",)),
        objective=objective,
    )


@pytest.mark.parametrize("weights", [Weights(dropout=0.0), Weights(method="full")])
def test_dropout_views_need_dropout(weights):
    views = Views(varies=("dropout",))
    with pytest.raises(
        UsageError, match="vary dropout need weights.method 'lora' with weights.dropout"
    ):
        Training(views=views, weights=weights)
    Training(views=views, weights=Weights(dropout=0.1))


@pytest.mark.parametrize(
    "widths", [((0.5, (4,)), (0.5, (5,))), ((0.5, (4,)), (0.2, (5,))), ((1.5, (4,)),)]
)
def test_widths_hold_until_rising_shares(widths):
    with pytest.raises(UsageError, match="rising shares of the training"):
        Training(widths=widths)


def test_widths_of_a_schedule_are_checked():
    with pytest.raises(UsageError, match="a width must be at least 1"):
        Training(widths=((0.5, (0,)),))


def test_views_follow_the_schedule_of_widths():
    training = Training(views=Views(widths=(10,)), widths=((0.25, (2,)), (0.5, (2, 5))))
    found = [training.views_at(share).widths for share in (0, 0.24, 0.25, 0.49, 0.5, 1.0)]
    assert found == [(2,), (2,), (2, 5), (2, 5), (10,), (10,)]
    assert training.views_at(0.0) == replace(training.views, widths=(2,))


def test_identity_follows_what_could_move_a_weight():
    full = Training(weights=Weights(method="full"))
    first = full.identity()
    for same in ({"token_budget": 9}, {"workers": 3}, {"save_every": 2}, {"evaluate_every": 2}):
        assert replace(full, run=replace(full.run, **same)).identity() == first
    moved = [
        replace(full, run=replace(full.run, seed=1)),
        replace(full, run=replace(full.run, half=True)),
        replace(full, views=Views(widths=(11,))),
        replace(full, objective=Objective(consistency=1.0)),
        replace(full, descent=Descent(rate=1e-3)),
        replace(full, weights=Weights()),
        replace(full, base="hf:other/model"),
    ]
    assert len({first, *(one.identity() for one in moved)}) == len(moved) + 1


def test_with_dropout_the_token_budget_moves_weights():
    lora = Training()
    other = replace(lora, run=replace(lora.run, token_budget=9))
    assert lora.identity() != other.identity()


def test_where_data_is_from_is_read_from_a_file(tmp_path):
    from evenhand.train.sources import Source

    path = tmp_path / "config.toml"
    path.write_text('[data.mine]\nlicence = "MIT"\n[data.cran]\n[run]\ntracker = "wandb"\n')
    found = read_training(path)
    assert found.data[0] == Source("mine", "MIT")
    assert found.data[1].licence == "public test collection"
    assert found.run.tracker == "wandb"
    assert found.plain() == replace(found, data=(), run=replace(found.run, tracker=None)).plain()
