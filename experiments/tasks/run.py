"""Teach each task, then train every arm from that start, side by side.

    python run.py SLATES OUT --start ../grader/out/model.safetensors

SLATES is what prepare.py wrote, START a grader of passages (float16 tensors by name; none:
the base as it is). Of each task: stage 1 learns gold on one half of the training slates
(cross-entropy on the soft grade); that grader labels the other half under one random
order (order-noisy), or ten for "averaged-10"; every arm starts from it, is trained on its
labels and looked at on the task's test collections, canonical and in M random orders.
"isolated" has no order: two random rows show what float error leaves.

Under OUT: results/TASK, a JSON and the score matrices of an arm and seed (matrices.py
reads them); work/TASK, weights and labels, which are large. The same command goes on
after a stop. --dry-run prints tokens and seconds and runs nothing; --smoke does all of it
with a tiny model that knows nothing.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import json
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import torch
from look import looked
from plan import dry_run
from safetensors.torch import load_file, save_file
from session import Session, arm_settings, data_of, stage1_settings
from tasks import ARMS, TASKS, Task, kept_labels, put

from evenhand.models.load import Loaded, load
from evenhand.seeds import content_hash, file_hash
from evenhand.train.labels import Labelled
from evenhand.train.loop import train
from evenhand.train.settings import Training
from evenhand.train.silver import Orders

LABEL_SEED = 1000


def descended(session: Session, name: str, settings: Training, made: list[Labelled]) -> dict:
    """Train the model as it stands; return what it took."""
    folder, began = session.work / "runs" / name, time.perf_counter()
    outcome = train(copy.copy(session.loaded), made, settings, folder)
    seconds, tokens = time.perf_counter() - began, sum(one["tokens"] for one in outcome.log)
    print(f"{session.task.name} {name}: {outcome.steps} steps, {seconds:.0f} s, {tokens / 1e6:.1f} M "
          f"tokens, loss {outcome.log[-1]['loss']:.5f}", flush=True)  # fmt: skip
    shutil.rmtree(folder)
    return {"seconds": seconds, "tokens": tokens, "settings": settings.plain(),
            "identity": settings.identity(),
            "log": [one for one in outcome.log if one["step"] % 20 == 0]}  # fmt: skip


def require_same(path: Path, settings: Training) -> None:
    """Refuse what an earlier call left under other settings."""
    if json.loads(path.read_text())["identity"] != settings.identity():
        raise SystemExit(f"{path} is of other settings; use another folder")


def taught(session: Session) -> dict:
    """The weights of the task's stage 1, trained or read, in half precision either way."""
    args, path = session.args, session.work / "stage1.safetensors"
    made = [Labelled(slate, slate.gains()) for slate in session.slates["stage1"]]
    settings = stage1_settings(args, session.task)
    if not path.exists():
        took = descended(session, "stage1", settings, made)
        named = session.loaded.model.named_parameters()
        save_file({key: value.detach().half().cpu().contiguous() for key, value in named}, path)
        (session.work / "stage1.json").write_text(json.dumps(took))
    require_same(session.work / "stage1.json", settings)
    weights = load_file(path)
    put(session.loaded.model, weights)
    if not session.result("stage1", 0).exists():
        took = json.loads((session.work / "stage1.json").read_text())
        looked(session, "stage1", 0, session.task.surface, took, again=True)
    return weights


def labels_of(session: Session, orders: int) -> list[np.ndarray]:
    """(T, n) labels by slate of the task's stage 1, of so many orders or of more."""
    task, slates = session.task, session.slates["arms"]
    texts = [[slate.query, *(c.text for c in slate.candidates)] for slate in slates]
    start = file_hash(session.work / "stage1.safetensors")
    key = content_hash([start, asdict(task.surface), task.width, task.cut, LABEL_SEED, texts])[:12]
    # Labels of more orders begin with those of fewer.
    held = [int(path.name.split("-")[1]) for path in session.work.glob(f"labels-*-{key}.npz")]
    orders = max([orders, *held])
    drawn = Orders(orders, task.width, "contiguous", LABEL_SEED, task.surface)

    def make() -> list[np.ndarray]:
        reader = session.reader(task.surface).take(session.loaded.model)
        reader.remember, found = False, []
        for first in range(0, len(slates), 200):
            part = slates[first : first + 200]
            shown = [one for slate in part for one in drawn.draw(slate).shown(slate)]
            scored = iter(reader.score(shown))
            found += [np.array([next(scored).scores for _ in range(orders)]) for _ in part]
        reader.remember = True
        return found

    return kept_labels(session.work / f"labels-{orders}-{key}.npz", slates, make)


def trained(session: Session, weights: dict, name: str, seed: int) -> None:
    """Train one arm and write what came out."""
    put(session.loaded.model, weights)
    task, slates = session.task, session.slates["arms"]
    most = max(task.arm(one).orders for one in session.args.arms)
    orders, labels = task.arm(name).orders, labels_of(session, most)
    made = [Labelled(s, np.clip(y[:orders].mean(0), 0, 1)) for s, y in zip(slates, labels, strict=True)]
    settings = arm_settings(session.args, task, name, seed)
    took = descended(session, f"{name}-{seed}", settings, made)
    looked(session, name, seed, settings.views.surface, took)


def tiny(folder: Path, base: str) -> str:
    """The spec of a model of two narrow layers that knows nothing, with the base's tokenizer."""
    from transformers import AutoModelForCausalLM

    from evenhand.models.quiet import quiet
    from evenhand.train.forecast import outlined

    found = outlined(base)
    config = copy.deepcopy(found.model.config)
    changes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "head_dim": 16,
               "num_attention_heads": 2, "num_key_value_heads": 1}  # fmt: skip
    for name, value in changes.items():
        setattr(config, name, value)
    torch.manual_seed(0)
    with quiet():
        AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    found.tokenizer.save_pretrained(folder)
    return f"hf:{folder}"


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("slates", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--start", type=Path)
    parser.add_argument("--base", default="smollm2-135m")
    parser.add_argument("--tasks", nargs="+", choices=sorted(TASKS), default=list(TASKS))
    parser.add_argument("--arms", nargs="*", default=list(ARMS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    for name, value in (("stage1-steps", 90), ("steps", 50), ("windows", 32), ("rows", 10),
                        ("budget", 65536), ("workers", 6)):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--stage1-rate", type=float, default=3e-4)
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--limit", type=int, help="training slates of each half")
    parser.add_argument("--tests", type=int, help="test slates of each collection")
    parser.add_argument("--cut", type=int, help="tokens of a candidate, instead of the task's")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no arm after so many")
    parser.add_argument("--plain", action="store_true", help="float32, nothing compiled: on a CPU")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--smoke", action="store_true")
    args = parser.parse_args()
    if args.smoke:
        small = {"plain": True, "workers": 0, "stage1_steps": 2, "steps": 2, "windows": 4, "rows": 3,
                 "limit": 6, "tests": 4, "cut": 12, "budget": 4096, "start": None,
                 "arms": ["single", "within-4", "across-4", "averaged-2", "isolated"],
                 "base": tiny(args.out / "tiny", args.base)}  # fmt: skip
        vars(args).update(small)
    return args


def run_task(args, task: Task, loaded: Loaded, late: Callable[[], bool]) -> None:
    session = Session(args, task, loaded, data_of(args, task), {})
    for folder in (session.results, session.work):
        folder.mkdir(parents=True, exist_ok=True)
    weights = taught(session)
    for seed, name in itertools.product(args.seeds, args.arms):
        if session.result(name, seed).exists():
            require_same(session.result(name, seed), arm_settings(args, task, name, seed))
            continue
        if late():
            print(f"{task.name} {name}-{seed} is left: time is up", flush=True)
            continue
        trained(session, weights, name, seed)


def main() -> None:
    args, began = options(), time.perf_counter()
    tasks = [replace(TASKS[name], cut=args.cut or TASKS[name].cut) for name in args.tasks]
    for task, name in itertools.product(tasks, args.arms):
        task.arm(name)
    if args.dry_run:
        dry_run(args, tasks)
        return
    loaded = load(args.base, dtype="float32")
    first = {key: value.detach().clone() for key, value in loaded.model.named_parameters()}
    args.started = file_hash(args.start) if args.start else args.base
    for task in tasks:
        put(loaded.model, load_file(args.start) if args.start else first)
        run_task(args, task, loaded, lambda: time.perf_counter() - began > 60 * args.minutes)
    print(f"{time.perf_counter() - began:.0f} s in all", flush=True)


if __name__ == "__main__":
    main()
