"""The loop on tiny models: what a step does, that runs go on as if never stopped, and when they end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from train_help import make_slate

from evenhand.errors import ResumeError, ScorerError, UsageError
from evenhand.score.local import LocalScorer
from evenhand.train.batch import build
from evenhand.train.evaluate import guard, hold_out
from evenhand.train.feed import by_id, plan, prompt_builder
from evenhand.train.grader import Grader
from evenhand.train.labels import Labelled
from evenhand.train.loop import train
from evenhand.train.settings import Descent, Run, Training, Weights
from evenhand.train.step import Objective
from evenhand.train.views import Views

FULL = Training(
    views=Views(widths=(3,)),
    objective=Objective(consistency=2.0),
    weights=Weights(method="full"),
    descent=Descent(rate=2e-3, ramp=0.5),
    run=Run(windows=4, epochs=2, save_every=1),
)
LORA = replace(FULL, weights=Weights(rank=2, alpha=4, dropout=0.2))
STEPS = 4


def labelled(count=4, n=5):
    rng = np.random.default_rng(7)
    return [Labelled(make_slate(f"s{i}", n=n), rng.random(n), rng.random(n)) for i in range(count)]


def weights_of(loaded):
    return {name: value.detach().clone() for name, value in loaded.model.named_parameters()}


def run(loaded, settings, out, slates=None, **options):
    outcome = train(loaded, slates or labelled(), settings, out, **options)
    return outcome, weights_of(loaded)


def same(first, second):
    assert first.keys() == second.keys()
    return all(torch.equal(first[name], second[name]) for name in first)


def without_times(log):
    return [{k: v for k, v in record.items() if k != "seconds"} for record in log]


@pytest.mark.parametrize("family", ["llama", "qwen3", "gemma3"])
def test_a_run_changes_weights_and_tells_of_each_step(tiny_loaded, tmp_path, family):
    loaded = tiny_loaded(family)
    before, told = weights_of(loaded), []
    outcome, after = run(loaded, FULL, tmp_path, progress=told.append)
    assert (outcome.steps, outcome.stopped) == (STEPS, None)
    assert not same(before, after)
    assert [record["step"] for record in told] == [1, 2, 3, 4]
    assert list(outcome.log) == told
    # Slates of 5 at B = 3 are 2 windows: two slates a step.
    assert {(record["windows"], record["candidates"]) for record in told} == {(4, 10)}
    for record in told:
        assert record["loss"] == pytest.approx(record["anchor"] + record["consistency"])
        assert record["norm"] > 0
    assert told[0]["ramp"] == 0
    assert outcome.model is loaded.model
    assert not outcome.model.training


def test_the_first_record_by_hand(tiny_loaded, tmp_path):
    loaded = tiny_loaded()
    settings = replace(FULL, descent=Descent(rate=1e-2, ramp=0), run=Run(windows=4, steps=1))
    (first,) = plan(by_id(labelled()), settings)
    scorer = LocalScorer(loaded)
    builder = prompt_builder(loaded, 512)
    slates = by_id(labelled())
    anchor, penalty = [], []
    for group in first:
        scores = np.empty((2, 5))
        for row, view in enumerate(group.views):
            prompts = [builder.build(group.slate, window, view.surface) for window in view.windows]
            with torch.no_grad():
                read = Grader(scorer._forward.model)(prompts).double().numpy()
            scores[row, list(view.order)] = read @ [0, 1 / 3, 2 / 3, 1]
        anchor += list((scores[0] - slates[group.slate.id].labels) ** 2)
        penalty += list((scores[0] - scores[1]) ** 2 / 2)
        tokens = sum(build(group, slates[group.slate.id], builder).tokens for group in first)
    outcome, _ = run(loaded, settings, tmp_path)
    (record,) = outcome.log
    assert record["anchor"] == pytest.approx(np.mean(anchor), rel=1e-5)
    assert record["consistency"] == pytest.approx(2 * np.mean(penalty), rel=1e-5)
    assert record["tokens"] == tokens


@pytest.mark.parametrize("settings", [FULL, replace(FULL, objective=Objective(weighting="position"))])
def test_the_token_budget_moves_nothing_beyond_float_error(tiny_loaded, tmp_path, settings):
    _, whole = run(tiny_loaded(), settings, tmp_path / "a")
    small = replace(settings, run=replace(settings.run, token_budget=1))
    outcome, parts = run(tiny_loaded(), small, tmp_path / "b")
    for name, wanted in whole.items():
        assert float((parts[name] - wanted).abs().max()) < 2e-4, name
    assert not same(whole, weights_of(tiny_loaded()))
    assert outcome.steps == STEPS


def test_lambda_0_is_single_order(tiny_loaded, tmp_path):
    # Two views of which the second weighs nothing, and one view: the same first view, the same weights.
    none = replace(FULL, objective=Objective(consistency=0.0))
    single = replace(none, views=Views(widths=(3,), count=1))
    _, two = run(tiny_loaded(), none, tmp_path / "a")
    _, one = run(tiny_loaded(), single, tmp_path / "b")
    for name, wanted in one.items():
        assert float((two[name] - wanted).abs().max()) < 2e-4, name
    penalised, _ = run(tiny_loaded(), FULL, tmp_path / "c")
    assert penalised.log[-1]["consistency"] > 0


class StoppedError(Exception):
    """Raised in the middle of a run."""


def stops_at(step):
    def progress(record):
        if record["step"] == step:
            raise StoppedError

    return progress


MEAN_TEACHER = replace(FULL, objective=Objective(consistency=2.0, mean_teacher=0.5))
BASE_KL = replace(LORA, objective=Objective(consistency=1.0, base_kl=0.5))
RARE = replace(LORA, run=replace(LORA.run, save_every=2))


@pytest.mark.parametrize(
    ("settings", "stops"),
    [
        (FULL, (2,)),
        (LORA, (1, 2, 3, 4)),
        (MEAN_TEACHER, (3,)),
        (BASE_KL, (3,)),
        (RARE, (4,)),
        (replace(LORA, run=replace(LORA.run, checkpointing=True)), (3,)),
    ],
    ids=["full", "lora", "mean teacher", "base kl", "saved every 2", "recomputed"],
)
def test_an_interrupted_run_ends_with_the_same_bits(tiny_loaded, tmp_path, settings, stops):
    whole, wanted = run(tiny_loaded(), settings, tmp_path / "whole")
    for stop in stops:
        with pytest.raises(StoppedError):
            run(tiny_loaded(), settings, tmp_path / str(stop), progress=stops_at(stop))
        outcome, found = run(tiny_loaded(), settings, tmp_path / str(stop))
        assert same(found, wanted), stop
        assert without_times(outcome.log) == without_times(whole.log)


def test_a_run_stopped_again_and_again_ends_with_the_same_bits(tiny_loaded, tmp_path):
    _, wanted = run(tiny_loaded(), LORA, tmp_path / "whole")
    # Every call does one step and dies before the next is kept.
    for stop in (2, 3, 4):
        with pytest.raises(StoppedError):
            run(tiny_loaded(), LORA, tmp_path / "cut", progress=stops_at(stop))
    _, found = run(tiny_loaded(), LORA, tmp_path / "cut")
    assert same(found, wanted)


def test_an_evaluation_between_steps_changes_nothing(tiny_loaded, tmp_path):
    _, wanted = run(tiny_loaded(), LORA, tmp_path / "a")
    seen = []

    def evaluate(step, shown):
        assert not shown.model.training
        torch.manual_seed(0)
        seen.append(
            (step, hold_out(LocalScorer(shown), [make_slate("h", n=5)], rows=2, width=3).means())
        )
        return {"psi": np.float64(0.25), "count": np.int64(3)}

    often = replace(LORA, run=replace(LORA.run, evaluate_every=1))
    outcome, found = run(tiny_loaded(), often, tmp_path / "b", evaluate=evaluate)
    assert same(found, wanted)
    assert [step for step, _ in seen] == [1, 2, 3, 4]
    assert [record["evaluation"] for record in outcome.log] == [{"psi": 0.25, "count": 3}] * 4
    # What it gave is kept with the run.
    again, _ = run(tiny_loaded(), often, tmp_path / "b", evaluate=evaluate)
    assert again.log == outcome.log


def test_dropout_is_off_in_an_evaluation(tiny_loaded, tmp_path):
    settings = replace(LORA, weights=replace(LORA.weights, dropout=0.5))
    scores = []

    def evaluate(step, shown):
        scorer = LocalScorer(shown)
        from evenhand.present.design import design

        plan_ = design("reorder", rows=2, width=3).draw(make_slate("h", n=5))
        one = next(plan_.shown(make_slate("h", n=5)))
        scores.append([scorer.score([one])[0].scores for _ in range(2)])
        return {}

    run(tiny_loaded(), settings, tmp_path, evaluate=evaluate)
    assert np.array_equal(*scores[0])


def test_a_finished_run_is_not_trained_on(tiny_loaded, tmp_path):
    first, wanted = run(tiny_loaded(), LORA, tmp_path)
    second, found = run(tiny_loaded(), LORA, tmp_path, progress=stops_at(4))
    assert same(found, wanted)
    assert second == first


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"objective": Objective(consistency=3.0)}, r"settings\.objective\.consistency"),
        ({"run": replace(FULL.run, seed=1)}, r"settings\.run\.seed"),
        ({"views": Views(widths=(4,))}, r"settings\.views\.widths"),
    ],
)
def test_other_settings_are_refused(tiny_loaded, tmp_path, change, name):
    run(tiny_loaded(), FULL, tmp_path)
    with pytest.raises(ResumeError, match=f"written with other {name};"):
        run(tiny_loaded(), replace(FULL, **change), tmp_path)


def test_other_labels_or_weights_are_refused(tiny_loaded, tmp_path):
    run(tiny_loaded(), FULL, tmp_path)
    slates = labelled()
    slates[0] = replace(slates[0], labels=1 - slates[0].labels)
    with pytest.raises(ResumeError, match="written with other labels;"):
        run(tiny_loaded(), FULL, tmp_path, slates)
    with pytest.raises(ResumeError, match="written with other model;"):
        run(replace(tiny_loaded(), revision="r2"), FULL, tmp_path)


@pytest.mark.parametrize("field", ["token_budget", "save_every", "evaluate_every"])
def test_settings_of_speed_may_change(tiny_loaded, tmp_path, field):
    with pytest.raises(StoppedError):
        run(tiny_loaded(), FULL, tmp_path, progress=stops_at(3))
    outcome, _ = run(tiny_loaded(), replace(FULL, run=replace(FULL.run, **{field: 3})), tmp_path)
    assert outcome.steps == STEPS


def test_weights_that_are_not_finite_stop_the_run_at_its_step(tiny_loaded, tmp_path):
    wild = replace(FULL, descent=Descent(rate=1e30, clip=1e30))
    with pytest.raises(ScorerError, match=r"step \d: .*lower the learning rate"):
        run(tiny_loaded(), wild, tmp_path)


def test_a_gradient_that_is_not_finite_stops_the_run_before_it_is_used(tiny_loaded, tmp_path):
    loaded = tiny_loaded()
    weight = next(loaded.model.parameters())
    weight.requires_grad_(True).register_hook(lambda gradient: gradient * float("nan"))
    before = weights_of(loaded)
    with pytest.raises(ScorerError, match="step 1: the norm of the gradient is nan"):
        run(loaded, FULL, tmp_path)
    assert same(weights_of(loaded), before)


def test_a_collapsed_run_is_stopped_and_named(tiny_loaded, tmp_path):
    # Nothing but agreement is asked for: all scores become one.
    settings = replace(
        FULL,
        objective=Objective(anchor="none", consistency=1.0),
        descent=Descent(rate=1e-2, ramp=0, warmup=0),
        run=Run(windows=4, epochs=40, evaluate_every=1),
    )
    held = [make_slate(f"h{i}", n=5, grades={"c0": 3}) for i in range(3)]
    assert guard(hold_out(LocalScorer(tiny_loaded()), held, rows=3, width=3).means()) is None

    def evaluate(step, shown):
        found = hold_out(LocalScorer(shown), held, rows=3, width=3).means()
        return {**found, "stop": guard(found)}

    outcome, _ = run(tiny_loaded(), settings, tmp_path, evaluate=evaluate)
    assert outcome.stopped.startswith("collapsed: scores of a slate spread 0.0")
    assert 1 < outcome.steps < 80
    assert len(outcome.log) == outcome.steps
    # It stays stopped.
    again, _ = run(tiny_loaded(), settings, tmp_path, evaluate=evaluate)
    assert again == outcome


def test_labels_are_needed(tiny_loaded, tmp_path):
    with pytest.raises(UsageError, match="no labelled slates"):
        train(tiny_loaded(), [], FULL, tmp_path)


def test_equal_weights_are_no_weights(tiny_loaded, tmp_path):
    # Labels that are all at the threshold weigh 1 each.
    even = [Labelled(one.slate, np.full(5, 0.5)) for one in labelled()]
    weighted = replace(FULL, objective=Objective(consistency=2.0, weighting="threshold", threshold=0.5))
    _, found = run(tiny_loaded(), weighted, tmp_path / "a", even)
    _, wanted = run(tiny_loaded(), FULL, tmp_path / "b", even)
    assert same(found, wanted)


def test_weights_of_nothing_are_refused(tiny_loaded, tmp_path):
    far = replace(FULL, objective=Objective(weighting="threshold", threshold=1e6, temperature=1e-3))
    with pytest.raises(ScorerError, match="step 1: every candidate has a weight of 0"):
        run(tiny_loaded(), far, tmp_path)


@pytest.mark.parametrize(
    "objective",
    [
        Objective(anchor="all", error="soft_grade"),
        Objective(jaccard=1.0),
        Objective(consistency=1.0, weighting="uncertainty"),
        Objective(consistency=1.0, weighting="position"),
        Objective(consistency=1.0, mean_teacher=0.9),
        Objective(consistency=1.0, base_kl=1.0),
    ],
    ids=["augmentation", "jaccard", "uncertainty", "position", "mean teacher", "base kl"],
)
def test_every_objective_trains(tiny_loaded, tmp_path, objective):
    outcome, _ = run(tiny_loaded(), replace(FULL, objective=objective), tmp_path)
    assert outcome.steps == STEPS
    assert all(np.isfinite(record["loss"]) for record in outcome.log)


def test_channels_train(tiny_loaded, tmp_path):
    settings = replace(
        LORA,
        views=Views(
            widths=(3,),
            count=5,
            varies=("order", "companions", "marker", "dropout"),
            markers=("letters",),
        ),
        objective=Objective(
            channels=(("companions", 1.0), ("dropout", 1.0), ("marker", 0.5), ("order", 2.0))
        ),
    )
    outcome, _ = run(tiny_loaded(), settings, tmp_path)
    assert outcome.steps == STEPS
    assert outcome.log[-1]["consistency"] > 0


GOLDEN = (0.04972884, 0.18506289, 0.06049579, 0.12692060)


def test_golden_trajectory(tiny_loaded, tmp_path):
    # Losses of a run as it was when the loop was written; a change of them is a change of training.
    outcome, _ = run(tiny_loaded(), FULL, tmp_path)
    assert [record["loss"] for record in outcome.log] == pytest.approx(GOLDEN, rel=1e-3)


SCRIPT = Path(__file__).with_name("killed_training.py")


def killed(folder, out, point):
    command = [sys.executable, str(SCRIPT), str(folder), str(out), str(point)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, timeout=280, env=environment)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_killed_run_ends_with_the_same_bits(tiny_loaded, tmp_path):
    from safetensors.torch import load_file

    loaded = tiny_loaded()
    loaded.model.save_pretrained(tmp_path / "model")
    loaded.tokenizer.save_pretrained(tmp_path / "model")
    whole = killed(tmp_path / "model", tmp_path / "whole", 0)
    assert whole.returncode == 0, whole.stderr
    wanted = load_file(tmp_path / "whole" / "end.safetensors")
    points = int(whole.stdout)
    # Before a state is written, while it is half there, and after it has its name.
    for point in (1, points // 2, points // 2 + 1, points // 2 + 2):
        out = tmp_path / str(point)
        assert killed(tmp_path / "model", out, point).returncode == -signal.SIGKILL
        ended = killed(tmp_path / "model", out, 0)
        assert ended.returncode == 0, ended.stderr
        found = load_file(out / "end.safetensors")
        assert same(found, wanted), point


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("method", ["full", "lora"])
def test_two_processes_do_the_steps_of_one(tiny_loaded, tmp_path, method):
    from safetensors.torch import load_file

    loaded = tiny_loaded()
    loaded.model.save_pretrained(tmp_path / "model")
    loaded.tokenizer.save_pretrained(tmp_path / "model")
    script = Path(__file__).with_name("shared_training.py")
    logs, ends = [], []
    for processes in (1, 2):
        out = tmp_path / str(processes)
        launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
        command = [sys.executable, *(launcher if processes > 1 else [])]
        command += [str(script), str(tmp_path / "model"), str(out), method]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=280,
            env={**os.environ, "OMP_NUM_THREADS": "1"}, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-2000:]
        logs.append(json.loads((out / "log.json").read_text()))
        ends.append(load_file(out / "end.safetensors"))
    for one, two in zip(*logs, strict=True):
        for name in ("windows", "candidates", "tokens", "rate", "ramp"):
            assert one[name] == two[name], name
        for name in ("loss", "anchor", "consistency", "norm"):
            assert two[name] == pytest.approx(one[name], rel=1e-4, abs=1e-7), name
    for name, wanted in ends[0].items():
        assert float((ends[1][name] - wanted).abs().max()) < 1e-5, name


def test_a_look_is_taken_through_blocks_that_are_not_compiled(tiny_loaded, tmp_path):
    seen = []

    def evaluate(step, loaded):
        seen.append(torch._dynamo.eval_frame._stance.stance)
        return {"psi": 0.1}

    run(tiny_loaded(), FULL, tmp_path, evaluate=evaluate)
    assert seen == ["force_eager"]
    assert torch._dynamo.eval_frame._stance.stance == "default"


def test_the_data_is_told_and_is_no_part_of_what_a_run_is(tiny_loaded, tmp_path):
    from evenhand.train.sources import Source

    _, first = run(tiny_loaded(), FULL, tmp_path)
    named = replace(FULL, data=(Source("mine", "MIT"),))
    # A run that is done goes on with other words about its data, and ends at once.
    outcome, again = run(tiny_loaded(), named, tmp_path)
    assert outcome.steps == STEPS
    assert same(first, again)


def test_a_launcher_that_shards_the_weights_is_refused(tiny_loaded, tmp_path, monkeypatch):
    import accelerate

    kind = accelerate.DistributedType.FSDP
    monkeypatch.setattr(accelerate, "Accelerator", lambda **_: SimpleNamespace(distributed_type=kind))
    with pytest.raises(UsageError, match="configured for FSDP"):
        run(tiny_loaded(), FULL, tmp_path)
    assert not list(tmp_path.iterdir())
