"""Stage 2: every objective from the same start, side by side.

    python arms.py START SLATES DATA OUT --arms single across-4 --seeds 0 1

START is stage 1's model.safetensors. Labels are the start's own, under one random
order of the whole slate at B = 10 (order-noisy), or averaged over --orders of them.
Each arm sees the same number of windows of first views; "single-tokens" sees as many
tokens as the arms with two views. "isolated" is trained and looked at with candidates
blind to each other. Every arm is looked at on BM25's top 100 of both test sets.

Under OUT: labels-*.npz, made once and read again; results/, one JSON an arm and seed
and nothing else; runs/, the state of each training, which is large. The same command
goes on after a stop: arms with a JSON are not trained again.
"""

from __future__ import annotations

import argparse
import copy
import json
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import torch
from common import CUT, ISOLATED, SURFACE, kept_labels, lists_of, look, scorer_of, slates_of
from safetensors.torch import load_file

from evenhand.models.load import load
from evenhand.present.design import design
from evenhand.seeds import content_hash, file_hash
from evenhand.train.labels import Labelled
from evenhand.train.loop import train
from evenhand.train.settings import Descent, Run, Training, Weights
from evenhand.train.step import Objective
from evenhand.train.views import Views

HELD_OUT = 100
WITHIN = Views(mix="within", count=2, widths=(10,), surface=SURFACE)
ACROSS = replace(WITHIN, mix="across")
SINGLE = Views(mix="across", count=1, widths=(10,), surface=SURFACE)


def arm(name: str) -> tuple[Views, Objective, str, float]:
    """Views, objective, which labels, and the factor on the number of steps."""
    kind, _, value = name.partition("-")
    if kind == "single":
        # The paper's: canonical contiguous windows, each shown once.
        views = replace(SINGLE, mix="within", first="canonical")
        return views, Objective(), "noisy", 2.0 if value == "tokens" else 1.0
    if kind == "averaged":
        return replace(SINGLE, mix="within", first="canonical"), Objective(), "averaged", 1.0
    if kind == "shuffled":
        return SINGLE, Objective(), "noisy", 1.0
    if kind == "augmentation":
        return ACROSS, Objective(anchor="all"), "noisy", 1.0
    if kind == "debias":
        return ACROSS, Objective(anchor="all", weighting="position"), "noisy", 1.0
    if kind == "within":
        return WITHIN, Objective(consistency=float(value)), "noisy", 1.0
    if kind == "across":
        return ACROSS, Objective(consistency=float(value)), "noisy", 1.0
    if kind == "isolated":
        return replace(SINGLE, surface=ISOLATED), Objective(), "noisy", 1.0
    raise SystemExit(f"unknown arm {name}")


def own_labels(loaded, slates, orders: int, seed: int) -> list[np.ndarray]:
    """(T, n) labels by slate of the start under random orders of the whole slate."""
    scorer = scorer_of(loaded, loaded.model)
    drawn = design("reorder", rows=orders, width=10, seed=1000 + seed, surface=SURFACE, repeat=False)
    shown = [one for slate in slates for one in drawn.draw(slate).shown(slate) if one.kind == "random"]
    scored = iter(scorer.score(shown))
    return [np.array([next(scored).scores for _ in range(orders)]) for _ in slates]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("start", type=Path)
    parser.add_argument("slates", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--arms", nargs="+", required=True)
    parser.add_argument("--base", default="smollm2-135m")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--steps", type=int, default=220)
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--orders", type=int, default=4)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--lists", type=int)
    parser.add_argument("--windows", type=int, default=64)
    parser.add_argument("--budget", type=int, default=65536)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--workers", type=int, default=12)
    args = parser.parse_args()
    for folder in ("results", "runs"):
        (args.out / folder).mkdir(parents=True, exist_ok=True)
    wanted = [(name, seed) for seed in args.seeds for name in args.arms]
    for name, _ in wanted:
        arm(name)
    left = [one for one in wanted if not result_of(args, *one).exists()]
    print(f"{len(left)} of {len(wanted)} arms left", flush=True)
    loaded = load(args.base, dtype="float32")
    start = load_file(args.start)
    put(loaded.model, start)
    slates, _ = slates_of(args.slates, "stage2")
    slates = slates[: args.limit]
    held, trained = slates[:HELD_OUT], slates[HELD_OUT:]
    trained = trained or held
    lists = lists_of(args.data, args.lists)
    if not result_of(args, "start", 0).exists():
        keep(args, "start", 0, look(scorer_of(loaded, loaded.model), lists), 0.0)
    for name, seed in left:
        trained_arm(args, name, seed, loaded, start, trained, lists)


def trained_arm(args, name: str, seed: int, loaded, start, trained, lists) -> None:
    """Train one arm and write its JSON."""
    views, objective, which, factor = arm(name)
    put(loaded.model, start)
    orders = args.orders if which == "averaged" else 1
    labels = start_labels(args, loaded, trained, orders)
    made = [Labelled(s, np.clip(y.mean(0), 0, 1)) for s, y in zip(trained, labels, strict=True)]
    # Blocks of branches have as many shapes as windows: nothing is gained by compiling each.
    compiled = not args.plain and views.surface.visibility == "sequential"
    settings = Training(
        views=views, objective=objective, weights=Weights(method="full"),
        descent=Descent(rate=args.rate, warmup=0.1, ramp=0.1),
        run=Run(windows=args.windows, epochs=50, steps=int(args.steps * factor), seed=seed,
                token_budget=args.budget, half=not args.plain, compiled=compiled,
                workers=args.workers, max_candidate_tokens=CUT),
    )  # fmt: skip
    began = time.perf_counter()
    outcome = train(copy.copy(loaded), made, settings, args.out / "runs" / f"{name}-{seed}")
    seconds = time.perf_counter() - began
    tokens = sum(one["tokens"] for one in outcome.log)
    print(f"{name} seed {seed}: {seconds:.0f} s, {tokens / 1e6:.1f} M tokens, "
          f"loss {outcome.log[-1]['loss']:.5f}", flush=True)  # fmt: skip
    found = look(scorer_of(loaded, loaded.model, views.surface), lists)
    keep(args, name, seed, found, seconds, tokens, outcome.log)


def start_labels(args, loaded, trained, orders: int) -> list[np.ndarray]:
    """(T, n) labels of the start by slate, made once: weights, prompts and texts name the file."""
    texts = [[slate.query, *(c.text for c in slate.candidates)] for slate in trained]
    key = content_hash([file_hash(args.start), args.base, asdict(SURFACE), CUT, texts])[:12]
    path = args.out / f"labels-{orders}-{key}.npz"
    return kept_labels(path, trained, lambda: own_labels(loaded, trained, orders, 0))


def result_of(args, name: str, seed: int) -> Path:
    return args.out / "results" / f"{name}-{seed}.json"


def put(model, weights) -> None:
    with torch.no_grad():
        for name, value in model.named_parameters():
            value.copy_(weights[name].float())
            value.grad = None


def keep(args, name: str, seed: int, found: dict, seconds: float, tokens: int = 0, log=()) -> None:
    record = {
        "arm": name,
        "seed": seed,
        "seconds": seconds,
        "tokens": tokens,
        "looks": found,
        "log": [one for one in log if one["step"] % 20 == 0],
        "steps": args.steps,
        "rate": args.rate,
        "windows": args.windows,
        "torch": torch.__version__,
    }
    path = result_of(args, name, seed)
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(record))
    partial.replace(path)


if __name__ == "__main__":
    main()
