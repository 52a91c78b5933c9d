"""Trackers: refused by name, handed numbers alone, closed whatever happens."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
accelerate = pytest.importorskip("accelerate")

from train_help import make_slate

from evenhand.errors import UsageError
from evenhand.train import tracking as module
from evenhand.train.labels import Labelled
from evenhand.train.loop import train
from evenhand.train.settings import TRACKERS, Run, Training, Weights, training_from
from evenhand.train.tracking import leaves, numbers, require_tracker, tracking
from evenhand.train.views import Views

SETTINGS = Training(
    views=Views(widths=(3,)), weights=Weights(method="full"), run=Run(windows=4, tracker="wandb")
)


def test_the_names_are_those_of_accelerate():
    from accelerate.tracking import LOGGER_TYPE_TO_CLASS

    assert set(TRACKERS) >= set(LOGGER_TYPE_TO_CLASS) - {"all"}


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(UsageError, match="unknown tracker 'board'; known are aim, .*wandb"):
        training_from({"run": {"tracker": "board"}})


def test_a_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        UsageError, match=r"tracker 'wandb' needs the package 'wandb'.*pip install wandb"
    ):
        require_tracker("wandb")
    require_tracker(None)


def test_either_of_two_packages_will_do(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name == "tensorboardX" or None)
    require_tracker("tensorboard")


def test_a_missing_package_is_told_before_the_model_is_touched(tiny_loaded, tmp_path, monkeypatch):
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr("evenhand.train.loop.Machine", lambda *_: pytest.fail("a model was prepared"))
    slates = [Labelled(make_slate("s", n=3), np.zeros(3))]
    with pytest.raises(UsageError, match="tracker 'wandb'"):
        train(tiny_loaded(), slates, SETTINGS, tmp_path)


def test_numbers_of_a_record():
    record = {"step": 3, "loss": 0.5, "windows": 4, "idle": True, "name": "x",
              "evaluation": {"psi": 0.1, "stop": None}}  # fmt: skip
    assert numbers(record) == {"loss": 0.5, "windows": 4.0, "held_out/psi": 0.1}


def test_settings_are_told_flat():
    found = dict(leaves({"a": {"b": 1, "c": (2, 3)}, "d": None, "e": True}))
    assert found == {"a.b": 1, "a.c": "(2, 3)", "d": "None", "e": True}


def test_a_tracker_is_no_part_of_what_a_run_is():
    assert SETTINGS.identity() == replace(SETTINGS, run=replace(SETTINGS.run, tracker=None)).identity()


class Recorder:
    def __init__(self):
        self.calls = []

    def init_trackers(self, project, config):
        self.calls.append(("begun", project, config))

    def log(self, values, step):
        self.calls.append(("step", step, values))

    def end_training(self):
        self.calls.append(("ended",))


def test_a_run_that_fails_closes_its_tracker():
    seen = Recorder()

    def fail():
        with tracking(seen, SETTINGS) as track:
            track({"step": 1, "loss": 0.5})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    (_, project, config), step, ended = seen.calls
    assert project == "evenhand"
    assert config["run.windows"] == 4
    assert step == ("step", 1, {"loss": 0.5})
    assert ended == ("ended",)


def test_without_a_tracker_nothing_is_begun():
    seen = Recorder()
    with tracking(seen, Training()) as track:
        track({"step": 1})
    assert seen.calls == []


def test_every_step_of_a_run_reaches_the_tracker(tiny_loaded, tmp_path, monkeypatch):
    from accelerate.tracking import GeneralTracker

    class Lines(GeneralTracker):
        name, requires_logging_directory, main_process_only = "lines", False, True

        def __init__(self, *_, **__):
            super().__init__()

        tracker = None

        def store_init_configuration(self, values):
            (tmp_path / "config.json").write_text(json.dumps(values))

        def log(self, values, step=None, **_):
            with (tmp_path / "lines").open("a") as file:
                file.write(json.dumps([step, values]) + "\n")

    monkeypatch.setattr(module, "require_tracker", lambda name: None)
    monkeypatch.setattr("evenhand.train.loop.require_tracker", lambda name: None)
    real = accelerate.Accelerator
    monkeypatch.setattr(accelerate, "Accelerator", lambda **o: real(**{**o, "log_with": Lines()}))
    slates = [Labelled(make_slate(f"s{i}", n=5), np.linspace(0, 1, 5)) for i in range(4)]
    outcome = train(tiny_loaded(), slates, SETTINGS, tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "lines").read_text().splitlines()]
    assert [step for step, _ in lines] == [record["step"] for record in outcome.log] == [1, 2]
    assert lines[0][1]["loss"] == outcome.log[0]["loss"]
    assert json.loads((tmp_path / "config.json").read_text())["views.widths"] == "(3,)"
