"""Stage 2: every objective from the same start, side by side.

    python arms.py START SLATES DATA OUT --arms single across-4 --seeds 0 1

START is stage 1's model.safetensors. Labels are the start's own, under one random
order of the whole slate at B = 10 (order-noisy), or averaged over as many orders as
the arm says; the first slates are held out, and known items of theirs choose lambda.
Every arm of one view, and each first view of two, is shown as many windows; "single-tokens"
sees as many tokens as the arms with two views. Every arm is looked at on BM25's top 100
of both test sets under `reorder`, under `order` (slots move, companions stay), and on
the slates held out.

Under OUT: labels-*.npz, made once and read again; results/, one JSON and the score
matrices of an arm and seed; runs/, the state of each training, which is large. The same
command goes on after a stop, and may run several times at once beside itself: each
arm is claimed by one (delete claims/ after a kill).
"""

from __future__ import annotations

import argparse
import copy
import json
import shutil
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import torch
from arm import HELD_OUT_MARKERS, Arm, arm
from common import CUT, SURFACE, kept_labels, lists_of, look, scorer_of, slates_of
from safetensors.torch import load_file

from evenhand.models.load import load
from evenhand.present.design import design
from evenhand.seeds import content_hash, file_hash
from evenhand.train.labels import Labelled
from evenhand.train.loop import train
from evenhand.train.settings import Descent, Run, Training
from evenhand.types import Slate

HELD_OUT = 100


def own_labels(loaded, slates, orders: int, seed: int) -> list[np.ndarray]:
    """(T, n) labels by slate of the start under random orders of the whole slate."""
    scorer = scorer_of(loaded, loaded.model)
    drawn = design("reorder", rows=orders, width=10, seed=1000 + seed, surface=SURFACE, repeat=False)
    found = []
    for first in range(0, len(slates), 500):
        part = slates[first : first + 500]
        shown = [
            one for slate in part for one in drawn.draw(slate).shown(slate) if one.kind == "random"
        ]
        scored = iter(scorer.score(shown))
        found += [np.array([next(scored).scores for _ in range(orders)]) for _ in part]
    return found


def known_items(slates: list[Slate]) -> list[Slate]:
    """Slates of pseudo-queries with the one grade that is known: the text they were made of."""
    return [
        replace(s, grades={i: int(i == s.id.split(" ", 2)[2]) for i in s.ids}) for s in slates
    ]  # fmt: skip


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("start", type=Path)
    parser.add_argument("slates", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--arms", nargs="*", default=[])
    parser.add_argument("--labels", nargs="*", type=int, default=[], help="make labels of T orders")
    parser.add_argument("--base", default="smollm2-135m")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--lists", type=int)
    parser.add_argument("--held", type=int, default=HELD_OUT)
    parser.add_argument("--windows", type=int, default=64)
    parser.add_argument("--budget", type=int, default=65536)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--workers", type=int, default=4)
    return parser.parse_args()


def main() -> None:
    args = options()
    for folder in ("results", "runs", "claims"):
        (args.out / folder).mkdir(parents=True, exist_ok=True)
    wanted = [(name, seed) for seed in args.seeds for name in args.arms]
    for name, _ in wanted:
        arm(name)
    loaded = load(args.base, dtype="float32")
    start = load_file(args.start)
    put(loaded.model, start)
    slates, _ = slates_of(args.slates, "stage2")
    slates = slates[: args.limit]
    held, trained = known_items(slates[: args.held]), slates[args.held :]
    lists = lists_of(args.data, args.lists)
    for orders in args.labels:
        start_labels(args, loaded, trained, orders)
    for name, seed in [("start", 0), *wanted]:
        if result_of(args, name, seed).exists() or not claimed(args, name, seed):
            continue
        if name == "start":
            keep(args, name, seed, looks(loaded, loaded.model, arm("single"), lists, held), 0.0)
        else:
            # An adapter stays in the model it was put into.
            if arm(name).weights.method == "lora":
                loaded = load(args.base, dtype="float32")
            put(loaded.model, start)
            trained_arm(args, (name, seed), loaded, trained, lists, held)
            if arm(name).weights.method == "lora":
                loaded = load(args.base, dtype="float32")


def trained_arm(args, which: tuple[str, int], loaded, trained, lists, held) -> None:
    """Train one arm and write what came out."""
    (name, seed), chosen = which, arm(which[0])
    labels = start_labels(args, loaded, trained, chosen.orders)
    made = [Labelled(s, np.clip(y.mean(0), 0, 1)) for s, y in zip(trained, labels, strict=True)]
    made = made[: max(1, round(len(made) * chosen.share))]
    # Blocks of branches have as many shapes as windows: nothing is gained by compiling each.
    compiled = not args.plain and chosen.surface.visibility == "sequential"
    steps = max(1, int(args.steps * chosen.steps))
    settings = Training(
        views=chosen.views, objective=chosen.objective, weights=chosen.weights,
        descent=Descent(rate=args.rate * chosen.rate, warmup=0.1, ramp=0.1),
        run=Run(windows=args.windows, epochs=50, steps=steps, seed=seed, token_budget=args.budget,
                half=not args.plain, compiled=compiled,
                workers=args.workers, max_candidate_tokens=CUT),
    )  # fmt: skip
    run = args.out / "runs" / f"{name}-{seed}"
    began = time.perf_counter()
    outcome = train(copy.copy(loaded), made, settings, run)
    seconds = time.perf_counter() - began
    tokens = sum(one["tokens"] for one in outcome.log)
    print(f"{name} seed {seed}: {seconds:.0f} s, {tokens / 1e6:.1f} M tokens, "
          f"loss {outcome.log[-1]['loss']:.5f}", flush=True)  # fmt: skip
    model = outcome.model.merge_and_unload() if chosen.weights.method == "lora" else loaded.model
    scores: dict = {}
    found = looks(loaded, model, chosen, lists, held, scores)
    np.savez_compressed(args.out / "results" / f"{name}-{seed}.npz", **scores)
    keep(args, name, seed, found, seconds, tokens, outcome.log)
    shutil.rmtree(run)


def looks(loaded, model, chosen: Arm, lists, held, scores: dict | None = None) -> dict:
    """Every look at one grader, by design and collection."""
    scorer = scorer_of(loaded, model, chosen.surface)
    found = {"reorder": look(scorer, lists, scores=scores)}
    found["held out"] = look(scorer, {"stage2": held}, random_rows=5)
    found["order"] = look(scorer, lists, random_rows=3, design="order")
    if chosen.views.markers:
        for scheme in (*chosen.views.markers, *HELD_OUT_MARKERS):
            shown = replace(chosen.surface, markers=scheme)
            found[f"markers {scheme}"] = look(scorer_of(loaded, model, shown), lists, random_rows=3)
    return found


def start_labels(args, loaded, trained, orders: int) -> list[np.ndarray]:
    """(T, n) labels of the start by slate, made once: weights, prompts and texts name the file."""
    texts = [[slate.query, *(c.text for c in slate.candidates)] for slate in trained]
    key = content_hash([file_hash(args.start), args.base, asdict(SURFACE), CUT, texts])[:12]
    path = args.out / f"labels-{orders}-{key}.npz"
    return kept_labels(path, trained, lambda: own_labels(loaded, trained, orders, 0))


def result_of(args, name: str, seed: int) -> Path:
    return args.out / "results" / f"{name}-{seed}.json"


def claimed(args, name: str, seed: int) -> bool:
    """Whether this process is the one that does it."""
    try:
        (args.out / "claims" / f"{name}-{seed}").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


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
        "start": file_hash(args.start),
        "torch": torch.__version__,
    }
    path = result_of(args, name, seed)
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(record))
    partial.replace(path)


if __name__ == "__main__":
    main()
