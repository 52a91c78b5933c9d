"""`evenhand train` from a file of settings to a scorer that opens."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("peft")

from evenhand.types import Candidate, Slate, slate_to_dict


@pytest.fixture
def base(tmp_path, tiny_model, tiny_tokenizer):
    """The folder of a tiny model."""
    from evenhand.models.quiet import quiet

    with quiet():
        tiny_model("llama", layers=1).save_pretrained(tmp_path / "base")
    tiny_tokenizer.save_pretrained(tmp_path / "base")
    return tmp_path / "base"


@pytest.fixture
def config(tmp_path, base):
    """A file of settings for two steps on it."""
    path = tmp_path / "config.toml"
    path.write_text(
        f'base = "hf:{base}"\n[views]\nwidths = [2]\n[objective]\nconsistency = 2\n'
        "[weights]\nrank = 2\nalpha = 4\n[run]\nwindows = 4\nsteps = 2\nsave_every = 1\n"
    )
    return path


def slates(tmp_path, prefix, count, size=3):
    path = tmp_path / f"{prefix}.jsonl"
    made = [
        Slate(
            f"{prefix}{i}", f"{prefix} query {i}",
            tuple(Candidate(f"c{j}", f"text {j}") for j in range(size)), {"c0": 1, "c1": 0},
        )
        for i in range(count)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(slate_to_dict(one)) + "\n" for one in made))
    return path


def labels(tmp_path, count, size=3, missing=()):
    rows = [(f"t{i}", f"c{j}", order) for i in range(count) for j in range(size) for order in (0, 1)]
    scores = [None if (s, c) in missing else 0.1 * int(c[1]) + 0.2 * order for s, c, order in rows]
    columns = [list(one) for one in zip(*rows, strict=True)]
    table = pa.table(
        dict(zip(("slate", "candidate", "order_seed"), columns, strict=True)) | {"score": scores}
    )
    path = tmp_path / "labels.parquet"
    pq.write_table(table, path)
    return path


def test_from_settings_to_a_scorer_that_opens(run, tmp_path, config, base):
    trained, held, out = slates(tmp_path, "t", 4), slates(tmp_path, "h", 2), tmp_path / "out"
    words = ("train", config, "--labels", "grades", "--slates", trained, "--out", out)
    ended = run(*words, "--held-out", held, "--device", "cpu")
    assert ended.code == 0, ended.err
    lines = ended.out.splitlines()
    assert lines[0].startswith("2 steps, last loss 0.")
    assert [line.split("  ")[0] for line in lines[1:6]] == [
        "quality served", "quality shuffled", "tau-PSI", "overlap", "score spread",
    ]  # fmt: skip
    assert lines[-1] == f"open it as: hf:{base}+{out / 'scorer'}"
    assert "step 2: loss 0." in ended.err
    assert "held out: quality" in ended.err
    audited = run(
        "audit",
        held,
        "--scorer",
        f"hf:{base}+{out / 'scorer'}",
        "--rows",
        "2",
        "--device",
        "cpu",
        "--json",
    )
    assert audited.code == 0, audited.err
    assert json.loads(audited.out)["results"][0]["settings"]["width"] == 2
    # The same command again has nothing to do, and says the same.
    again = run(*words, "--held-out", held, "--device", "cpu", "--json")
    assert again.code == 0
    found = json.loads(again.out)["training"]
    assert (found["steps"], found["stopped"]) == (2, None)
    assert found["open_as"] == f"hf:{base}+{out / 'scorer'}"
    assert set(found["measures"]) >= {"served", "shuffled", "psi", "overlap", "spread"}


def test_labels_of_a_teacher(run, tmp_path, config):
    file = labels(tmp_path, 4)
    words = ("train", config, "--slates", slates(tmp_path, "t", 4), "--device", "cpu", "--json")
    ended = run(*words, "--labels", file, "--out", tmp_path / "out")
    assert ended.code == 0, ended.err
    record = json.loads((tmp_path / "out" / "scorer" / "scorer.json").read_text())
    assert record["training"]["labels"]["orders"] == [2]
    one = run(*words, "--labels", file, "--out", tmp_path / "one", "--orders", 1)
    assert json.loads(one.out)["training"]["loss"] != json.loads(ended.out)["training"]["loss"]


def test_missing_labels_are_counted_and_may_be_left_out(run, tmp_path, config):
    file = labels(tmp_path, 4, missing={("t1", "c0"), ("t3", "c2")})
    words = ("train", config, "--labels", file, "--slates", slates(tmp_path, "t", 4))
    words += ("--out", tmp_path / "out", "--device", "cpu")
    ended = run(*words)
    assert ended.code == 4
    assert "2 of 4 slates lack the label of a candidate (first: 't1')" in ended.err
    assert not (tmp_path / "out").exists()
    ended = run(*words, "--drop-missing")
    assert ended.code == 0
    assert "left out: 2 slates" in ended.err


def test_a_dry_run_says_what_it_would_take_and_trains_nothing(run, tmp_path, config):
    words = ("train", config, "--labels", "grades", "--slates", slates(tmp_path, "t", 4))
    words += ("--out", tmp_path / "out", "--dry-run")
    ended = run(*words)
    assert ended.code == 0, ended.err
    heads = [line.split()[0] for line in ended.out.splitlines()[1:]]
    assert heads == ["steps", "windows", "tokens", "weights", "memory", "hours"]
    assert "unknown; give --rate or --measure-rate" in ended.out
    assert "GiB at token_budget " in ended.out
    assert " cut from candidates" in ended.out
    found = json.loads(run(*words, "--rate", 50, "--json").out)["forecast"]
    assert 0 < found["batch"] <= found["token_budget"]
    assert (found["steps"], found["slates"], found["candidates"]) == (2, 4, 12)
    assert found["hours"] == pytest.approx(found["tokens"] / 50 / 3600)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("hours", "said"),
    [
        (0.01, "time        36 seconds at 100 tokens a second"),  # .01 * 3600
        (0.02, "hours       0.02 at 100 tokens a second"),
        (2.5, "hours       2.50 at 100 tokens a second"),
    ],
)
def test_a_short_run_is_told_in_seconds(hours, said):
    from evenhand.cli.train import forecast_lines
    from evenhand.train.forecast import Forecast

    counts = dict.fromkeys(("slates", "steps", "windows", "candidates", "prompts", "sampled"), 1)
    cost = {"tokens": 9, "truncated": 44, "parameters": 3, "trained": 2, "memory": 2**31}
    budget = {"batch": 1500, "token_budget": 4096, "rate": 100.0}
    lines = forecast_lines("tiny", Forecast(**counts, **cost, **budget, hours=hours))
    assert lines[-1] == said
    assert "tokens      9; 44 tokens cut from candidates" in lines
    assert any("2.0 GiB at token_budget 4,096 (largest batch 1,500 tokens" in line for line in lines)


def test_a_dry_run_measures_the_rate(run, tmp_path, config):
    words = ("train", config, "--labels", "grades", "--slates", slates(tmp_path, "t", 4))
    ended = run(
        *words, "--out", tmp_path / "out", "--dry-run", "--measure-rate", "--json", "--device", "cpu"
    )
    assert json.loads(ended.out)["forecast"]["rate"] > 0
    assert not (tmp_path / "out").exists()


def test_a_collapsed_run_fails_its_gate(run, tmp_path, config, monkeypatch):
    from evenhand.train import session

    monkeypatch.setattr(session, "guard", lambda means: "collapsed: as asked")
    words = ("train", config, "--labels", "grades", "--slates", slates(tmp_path, "t", 4))
    ended = run(
        *words, "--held-out", slates(tmp_path, "h", 2), "--out", tmp_path / "out", "--device", "cpu"
    )
    assert ended.code == 1
    assert "stopped: collapsed: as asked (exit 1)" in ended.err
    assert "scorer:" not in ended.out


@pytest.mark.parametrize(
    ("change", "options", "code", "message"),
    [
        ("[run]\nwindow = 3", (), 2, "unknown settings ['window'] in run"),
        ('preset = "none"', (), 2, "unknown preset 'none'"),
        ('[run]\ntracker = "board"', (), 2, "unknown tracker 'board'; known are aim"),
        ('[run]\ntracker = "clearml"', (), 2, "tracker 'clearml' needs the package 'clearml'"),
        ('[run]\ntracker = "clearml"', ("--dry-run",), 2, "tracker 'clearml' needs the package"),
        ('[data]\nmine = "MIT"', (), 2, "data.mine is a table of a source"),
        ("[views]\ncount = 1\n[objective]\nconsistency = 1", (), 2, "views.count is 1"),
        ("x = ", (), 4, "is no TOML"),
        (None, ("--labels", "nowhere"), 4, "nowhere: does not exist"),
        (None, ("--rate", "5"), 2, "are for --dry-run"),
        (None, ("--dry-run", "--rate", "5", "--measure-rate"), 2, "use one"),
        (None, ("--dry-run", "--rate", "-1"), 2, "above 0"),
        (None, ("--scale", "rank"), 2, "for a teacher's labels"),
        (None, ("--held-out", "SAME"), 2, "3 of 3 held-out slates are trained on"),
    ],
)
def test_what_is_refused_before_anything_is_loaded(
    run, tmp_path, config, monkeypatch, change, options, code, message
):
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda n: None if n == "clearml" else real(n))
    if change is not None:
        config.write_text(change)
    trained = slates(tmp_path, "t", 3)
    options = [str(trained) if word == "SAME" else word for word in options]
    if "--labels" not in options:
        options = ["--labels", "grades", *options]
    ended = run("train", config, "--slates", trained, "--out", tmp_path / "out", *options)
    assert ended.code == code, ended.err
    assert message in ended.err
    assert not (tmp_path / "out").exists()


# As `accelerate launch` is called; `--cpu` would start one process, whatever the number.
LAUNCH = (
    "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1",
    "--main_process_port", "0", "--mixed_precision", "no", "--dynamo_backend", "no",
)  # fmt: skip
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
CLI = Path(__file__).with_name("killed_launch.py")


def launched(launcher, words, *, fatal=0):
    """Run the command line in one process, or in as many as a launcher starts."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "EVENHAND_TEST_FATAL": str(fatal)}
    command = [sys.executable, *launcher, str(CLI), *map(str, words)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=200, env=environment, check=False
    )


def words_of(tmp_path, base, weights, out):
    """A command line for eight steps over slates of different sizes, with looks on the way."""
    settings, trained, held = (tmp_path / name for name in ("launch.toml", "t.jsonl", "h.jsonl"))
    if not settings.exists():
        settings.write_text(
            f'base = "hf:{base}"\n[views]\nwidths = [2]\n[objective]\nconsistency = 2\n'
            f"[weights]\n{weights}\n[descent]\nrate = 1e-3\n"
            "[run]\nwindows = 4\nepochs = 3\nsave_every = 1\nevaluate_every = 3\n"
        )
        for path, sizes in ((trained, (2, 5, 3, 4, 2)), (held, (3, 4))):
            lines = [
                path_slate.read_text()
                for i, n in enumerate(sizes)
                for path_slate in [slates(tmp_path, f"{path.stem}{i}_", 1, size=n)]
            ]
            path.write_text("".join(lines))
    words = ("train", settings, "--labels", "grades", "--slates", trained, "--held-out", held)
    return (*words, "--device", "cpu", "--json", "--out", tmp_path / out)


def weights_of(out):
    from safetensors.torch import load_file

    (path,) = (out / "scorer").glob("*.safetensors")
    return load_file(path)


def log_of(out):
    return [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]


FULL, LORA = 'method = "full"', "rank = 2\nalpha = 4\ndropout = 0.0"


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("launcher", "weights"), [(LAUNCH, LORA), (LAUNCH, FULL), (TORCHRUN, LORA)],
    ids=["accelerate-lora", "accelerate-full", "torchrun-lora"],
)  # fmt: skip
def test_two_processes_train_the_scorer_of_one(tmp_path, base, launcher, weights):
    one = launched((), words_of(tmp_path, base, weights, "one"))
    two = launched(launcher, words_of(tmp_path, base, weights, "two"))
    assert one.returncode == 0, one.stderr[-2000:]
    assert two.returncode == 0, two.stderr[-2000:]
    # One document: the other process prints nothing.
    first, second = (json.loads(ended.stdout)["training"] for ended in (one, two))
    assert first["steps"] == second["steps"] > 4
    assert two.stderr.count("step 1: loss") == 1
    logs = log_of(tmp_path / "one"), log_of(tmp_path / "two")
    for ours, theirs in zip(*logs, strict=True):
        for name in ("windows", "candidates", "tokens", "rate", "ramp"):
            assert ours[name] == theirs[name], name
        for name in ("loss", "norm"):
            assert theirs[name] == pytest.approx(ours[name], rel=1e-4, abs=1e-7), name
    wanted, found = weights_of(tmp_path / "one"), weights_of(tmp_path / "two")
    assert wanted.keys() == found.keys()
    for name, value in wanted.items():
        assert float((found[name] - value).abs().max()) < 1e-5, name
    # The same files, each written once.
    names = [
        sorted(str(path.relative_to(tmp_path / out)) for path in (tmp_path / out).rglob("*"))
        for out in ("one", "two")
    ]
    assert names[0] == names[1]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("dropout", "launcher", "most"), [(0.3, LAUNCH, 0.0), (0.0, (), 1e-5)], ids=["two", "one"]
)
def test_two_processes_that_were_killed_go_on_to_the_same_weights(
    tmp_path, base, dropout, launcher, most
):
    # Dropout draws are of a process and a step, so as many processes end with the same bits.
    weights = LORA.replace("dropout = 0.0", f"dropout = {dropout}")
    whole = launched(launcher, words_of(tmp_path, base, weights, "whole"))
    assert whole.returncode == 0, whole.stderr[-2000:]
    words = words_of(tmp_path, base, weights, "torn")
    torn = launched(LAUNCH, words, fatal=4)
    assert torn.returncode != 0
    assert (tmp_path / "torn" / "state.pt").exists()
    assert not (tmp_path / "torn" / "scorer").exists()
    again = launched(launcher, words)
    assert again.returncode == 0, again.stderr[-2000:]
    assert "step 1: loss" not in again.stderr
    wanted, found = weights_of(tmp_path / "whole"), weights_of(tmp_path / "torn")
    for name, value in wanted.items():
        assert float((found[name] - value).abs().max()) <= most, name
