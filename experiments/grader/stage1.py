"""Stage 1: teach the small model to grade at all.

    python stage1.py SLATES DATA OUT --encoder MINILM --steps 1500

Labels are pointwise and order-free: the cosine of a bi-encoder mapped to [0, 1], .6
of it and .4 of gold where there is gold; or (--labels likelihood) the model's own
query likelihood, mapped by quantiles over all labels. Windows show a random order;
widths grow from 2 and 5 to 10 with some 20; cross-entropy on the soft grade; all
weights are trained. Writes model.safetensors and stage1.json; labels are kept in
labels-*.npz and read again by the same command.
"""

from __future__ import annotations

import argparse
import json
import time
from functools import partial
from pathlib import Path

import numpy as np
import torch
from common import (
    CUT,
    SURFACE,
    add_low_rank,
    cosines,
    kept_labels,
    lists_of,
    look,
    low_rank,
    scorer_of,
    slates_of,
)
from safetensors.torch import save_file

from evenhand.models.load import load
from evenhand.present.design import design
from evenhand.score.likelihood import LikelihoodOptions, LikelihoodScorer
from evenhand.seeds import content_hash
from evenhand.train.labels import Labelled
from evenhand.train.loop import train
from evenhand.train.settings import Descent, Run, Training, Weights
from evenhand.train.step import Objective
from evenhand.train.views import Views

GOLD = 0.4
WIDTHS = ((0.1, (2, 5)), (0.35, (2, 5, 10)), (0.7, (5, 10)))


def from_cosine(values: list[np.ndarray]) -> list[np.ndarray]:
    """0 at a cosine of .1, 1 at .8, linear between."""
    return [np.clip((one - 0.1) / 0.7, 0, 1) for one in values]


def from_likelihood(values: list[np.ndarray]) -> list[np.ndarray]:
    """Logistic: 5% of all labels lie under .05, 95% under .95."""
    low, high = np.quantile(np.concatenate(values), [0.05, 0.95])
    edge = np.log(19)
    return [1 / (1 + np.exp(-edge * (2 * (one - low) / (high - low) - 1))) for one in values]


def likelihoods(loaded, slates) -> list[np.ndarray]:
    scorer = LikelihoodScorer(loaded, LikelihoodOptions(max_candidate_tokens=CUT, token_budget=131072))
    shown = [next(iter(design(rows=1, repeat=False).draw(slate).shown(slate))) for slate in slates]
    return [scored.scores for scored in scorer.score(shown)]


def labelled(slates, values) -> list[Labelled]:
    made = []
    for slate, value in zip(slates, values, strict=True):
        if slate.grades is not None:
            value = (1 - GOLD) * value + GOLD * (slate.gains() > 0)
        made.append(Labelled(slate, np.clip(value, 0, 1)))
    return made


def labels_of(args, loaded, slates) -> list[np.ndarray]:
    """Labels of the chosen kind, kept under a name that says what they were made from."""
    texts = [[slate.query, *(c.text for c in slate.candidates)] for slate in slates]
    if args.labels == "cosine":
        key = content_hash([args.encoder.name, texts])[:12]
        make = partial(cosines, args.encoder, slates, loaded.device.type)
    else:
        key = content_hash([loaded.revision, CUT, texts])[:12]
        make = partial(likelihoods, loaded, slates)
    found = kept_labels(args.out / f"labels-{args.labels}-{key}.npz", slates, make)
    return from_cosine(found) if args.labels == "cosine" else from_likelihood(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("slates", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--encoder", type=Path)
    parser.add_argument("--base", default="smollm2-135m")
    parser.add_argument("--labels", choices=("cosine", "likelihood"), default="cosine")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--rate", type=float, default=5e-4)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--lists", type=int, help="so many short lists to look at, for a try")
    parser.add_argument("--rank", type=int, default=0, help="write and look at a low-rank difference")
    parser.add_argument("--plain", action="store_true", help="float32, nothing compiled: on a CPU")
    parser.add_argument("--windows", type=int, default=64)
    parser.add_argument("--budget", type=int, default=65536)
    parser.add_argument("--workers", type=int, default=12)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    loaded = load(args.base, dtype="float32")
    old = {name: value.detach().clone() for name, value in loaded.model.named_parameters()}
    slates, _ = slates_of(args.slates)
    slates = slates[:: max(1, len(slates) // args.limit)] if args.limit else slates
    values = labels_of(args, loaded, slates)
    print("quantiles:", np.quantile(np.concatenate(values), [0, 0.25, 0.5, 0.75, 1]))
    made = labelled(slates, values)
    settings = Training(
        views=Views(mix="across", count=1, widths=(10, 10, 20), surface=SURFACE),
        objective=Objective(error="soft_grade"),
        weights=Weights(method="full"),
        descent=Descent(rate=args.rate, warmup=0.05),
        run=Run(
            windows=args.windows,
            epochs=50,
            steps=args.steps,
            token_budget=args.budget,
            half=not args.plain,
            compiled=not args.plain,
            workers=args.workers,
            max_candidate_tokens=CUT,
        ),
        widths=WIDTHS,
    )  # fmt: skip
    began, tokens = time.perf_counter(), 0
    marks = []

    def progress(record: dict) -> None:
        nonlocal tokens
        tokens += record["tokens"]
        if record["step"] % 50 == 0 or record["step"] in (1, 2, 5, 10, 20):
            marks.append((time.perf_counter(), tokens))
            print(f"step {record['step']} loss {record['loss']:.4f} norm {record['norm']:.2f} "
                  f"{tokens / 1e6:.1f} M tokens {marks[-1][0] - began:.0f} s", flush=True)  # fmt: skip

    outcome = train(loaded, made, settings, args.out / "run", progress=progress)
    seconds = time.perf_counter() - began
    lists = lists_of(args.data, args.lists)
    found = {"full": look(scorer_of(loaded, loaded.model), lists)}
    save_file({k: v.detach().half().cpu().contiguous() for k, v in loaded.model.named_parameters()},
              args.out / "model.safetensors")  # fmt: skip
    if args.rank:
        kept = low_rank(loaded.model, old, args.rank)
        save_file(kept, args.out / f"rank{args.rank}.safetensors")
        add_low_rank(loaded.model, old, kept)
        found[f"rank {args.rank}"] = look(scorer_of(loaded, loaded.model), lists, random_rows=4)
    kept_log = [one for one in outcome.log if one["step"] % 25 == 0]
    record = {
        "arguments": {name: getattr(value, "name", str(value)) for name, value in vars(args).items()},
        "slates": len(made),
        "seconds": seconds,
        "tokens": tokens,
        "looks": found,
        "log": kept_log,
        "torch": torch.__version__,
    }
    (args.out / "stage1.json").write_text(json.dumps(record))
    rate = tokens / seconds
    print(f"{outcome.steps} steps, {tokens / 1e6:.1f} M tokens, {seconds:.0f} s, {rate:.0f} tokens/s")


if __name__ == "__main__":
    main()
