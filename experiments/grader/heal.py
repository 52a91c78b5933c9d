"""A low-rank adapter on a cut grader: what is shipped.

    python heal.py CUT START SLATES DATA OUT --arm across-10 --rank 8

CUT is the folder of `weights.py cut`, START the weights it was cut from, whose labels
under --orders random orders are learned. The adapter is trained on base + cut with the
objective of the arm, so that base + cut + adapter is one difference of a low rank.
Writes OUT/<arm>/, a PEFT folder, and OUT/<arm>.json.
"""

from __future__ import annotations

import argparse
import copy
import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from arm import arm
from arms import HELD_OUT, known_items, looks, put, start_labels
from common import CUT, lists_of, slates_of
from safetensors.torch import load_file

from evenhand.models.load import load
from evenhand.train.labels import Labelled
from evenhand.train.loop import train
from evenhand.train.settings import Descent, Run, Training, Weights


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("cut", "start", "slates", "data", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--arm", required=True)
    parser.add_argument("--rank", type=int, default=8)
    parser.add_argument("--orders", type=int, default=1)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lists", type=int)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--held", type=int, default=HELD_OUT)
    parser.add_argument("--windows", type=int, default=64)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--base", default="smollm2-135m")
    parser.add_argument("--workers", type=int, default=4)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    slates, _ = slates_of(args.slates, "stage2")
    slates = slates[: args.limit]
    held, trained = known_items(slates[: args.held]), slates[args.held :]
    loaded = load(args.base, dtype="float32")
    put(loaded.model, load_file(args.start))
    labels = start_labels(args, loaded, trained, args.orders)
    put(loaded.model, load_file(args.cut / "model.safetensors"))
    made = [Labelled(s, np.clip(y.mean(0), 0, 1)) for s, y in zip(trained, labels, strict=True)]
    chosen = replace(arm(args.arm), weights=Weights(rank=args.rank, alpha=2 * args.rank, dropout=0.0))
    settings = Training(
        views=chosen.views, objective=chosen.objective, weights=chosen.weights,
        descent=Descent(rate=args.rate, warmup=0.1, ramp=0.1),
        run=Run(windows=args.windows, epochs=50, steps=args.steps, seed=args.seed, token_budget=65536,
                half=not args.plain, compiled=not args.plain, workers=args.workers,
                max_candidate_tokens=CUT),
    )  # fmt: skip
    name = f"{args.arm}-{args.seed}"
    began = time.perf_counter()
    outcome = train(copy.copy(loaded), made, settings, args.out / f"run-{name}")
    seconds = time.perf_counter() - began
    outcome.model.save_pretrained(args.out / name)
    scores: dict = {}
    found = looks(
        loaded, outcome.model.merge_and_unload(), chosen, lists_of(args.data, args.lists), held, scores
    )
    np.savez_compressed(args.out / f"{name}.npz", **scores)
    record = {
        "arm": args.arm, "seed": args.seed, "rank": args.rank, "orders": args.orders,
        "steps": args.steps, "rate": args.rate, "seconds": seconds,
        "tokens": sum(one["tokens"] for one in outcome.log), "looks": found,
        "log": [one for one in outcome.log if one["step"] % 20 == 0], "torch": torch.__version__,
    }  # fmt: skip
    (args.out / f"{name}.json").write_text(json.dumps(record))


if __name__ == "__main__":
    main()
