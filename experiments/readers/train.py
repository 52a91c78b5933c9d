"""Train one frozen reader.

    python train.py abstains slates readers/abstains
    python train.py answers slates readers/answers
    python train.py verdict slates readers/verdict

A reader is the base with low-rank adapters (--method lora): a PEFT folder of 15 MB that
opens as `smollm2-135m+FOLDER`; or all its weights (--method full), which opens as
`hf:FOLDER`. Prompts are built by the reader that uses them later; the loss is on the wanted
words and the end of turn alone. The same command gives the same weights on a CPU; on a GPU
they differ by what its kernels leave open.

One slate in ten is not trained on: its loss is looked at now and then, and the weights that
did best there are kept. It is no part of the held-out files, which nothing here reads.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import torch
from teaching import RECIPES, Coder, Recipe, example, slates_of, stream

from evenhand.decide.reader import LocalReader
from evenhand.models.attention import pad
from evenhand.models.batching import batches
from evenhand.models.load import load
from evenhand.models.quiet import quiet
from evenhand.seeds import content_hash, file_hash
from evenhand.train.schedule import rate_at
from evenhand.train.settings import Descent, Weights
from evenhand.train.weights import prepare, recompute_blocks
from evenhand.types import slate_to_dict

LOOKED = 10  # one slate in so many
LOOKS = 128
VIEWS = 4  # of each of them


def loss_sum(inner, rows: list[tuple[tuple[int, ...], int]]) -> torch.Tensor:
    """Summed cross-entropy (float32) of the wanted tokens of some rows.

    Rows are padded on the right: a causal model never sees that, and no mask is needed.
    Only the states that predict a wanted token meet the output head.
    """
    device = next(inner.parameters()).device
    ids = pad([row for row, _ in rows], max(len(row) for row, _ in rows), 0).to(device)
    at = [(i, len(row) - k + j) for i, (row, k) in enumerate(rows) for j in range(k)]
    row, place = torch.tensor(at, device=device).T
    states = inner.model(input_ids=ids, use_cache=False).last_hidden_state[row, place - 1]
    with torch.autocast(device.type, enabled=False):
        logits = torch.nn.functional.linear(states.float(), inner.lm_head.weight.float())
        return torch.nn.functional.cross_entropy(logits, ids[row, place], reduction="sum")


def looked_at(inner, rows: list, budget: int, half) -> float:
    """Mean loss of a wanted token over some rows."""
    with torch.inference_mode(), half():
        sums = [
            float(loss_sum(inner, [rows[i] for i in one]))
            for one in batches([len(ids) for ids, _ in rows], budget)
        ]
    return sum(sums) / sum(count for _, count in rows)


def descend(model, inner, examples: Iterator, looks: list, recipe: Recipe, args, half) -> list[dict]:
    """The loop: so many steps of so many examples each; leaves the best weights, returns its log."""
    descent = Descent(rate=recipe.rate, warmup=0.05)
    trained = [value for value in model.parameters() if value.requires_grad]
    optimiser = torch.optim.AdamW(trained, lr=descent.rate, betas=descent.betas,
                                  weight_decay=descent.decay)  # fmt: skip
    log, tokens, best, began = [], 0, [], time.perf_counter()
    for step in range(recipe.steps):
        rows = list(itertools.islice(examples, recipe.examples))
        wanted = sum(count for _, count in rows)
        total = torch.zeros((), device=next(inner.parameters()).device)
        model.train()
        for one in batches([len(ids) for ids, _ in rows], args.budget):
            with half():
                loss = loss_sum(inner, [rows[i] for i in one]) / wanted
            loss.backward()
            total += loss.detach()
        norm = torch.nn.utils.clip_grad_norm_(trained, descent.clip)
        for group in optimiser.param_groups:
            group["lr"] = rate_at(step, recipe.steps, descent)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        tokens += sum(len(ids) for ids, _ in rows)
        if step % args.every == 0 or step == recipe.steps - 1:
            model.eval()
            record = {"step": step + 1, "loss": float(total), "norm": float(norm), "tokens": tokens,
                      "looked": looked_at(inner, looks, args.budget, half),
                      "seconds": time.perf_counter() - began}  # fmt: skip
            if not math.isfinite(record["loss"]):
                raise SystemExit(f"step {step + 1}: the loss is {record['loss']}; lower --rate")
            if record["looked"] < min([one["looked"] for one in log], default=math.inf):
                best = [value.detach().clone() for value in trained]
            log.append(record)
            print(" ".join(f"{key} {value:.6g}" for key, value in record.items()), flush=True)
    with torch.no_grad():
        for value, kept in zip(trained, best, strict=True):
            value.copy_(kept)
    return log


def save(model, tokenizer, folder: Path, method: str, base: str) -> None:
    """Write the reader in half precision: what is evaluated is what is kept.

    The base goes by its name, without the folder it stood in.
    """
    folder.mkdir(parents=True, exist_ok=True)
    model = model.half()
    if method == "full":
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return
    config = model.peft_config["default"]
    config.base_model_name_or_path = base
    with quiet():
        model.save_pretrained(str(folder), save_embedding_layers=False)
    # PEFT writes a set in another order each time, and a model card that nobody filled in.
    path = folder / "adapter_config.json"
    saved = json.loads(path.read_bytes())
    saved["target_modules"] = sorted(saved["target_modules"])
    path.write_text(json.dumps(saved, indent=2, sort_keys=True) + "\n")
    (folder / "README.md").unlink(missing_ok=True)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reader", choices=sorted(RECIPES))
    parser.add_argument("slates", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--base", default="smollm2-135m")
    parser.add_argument("--device")
    parser.add_argument("--method", choices=("lora", "full"), default="lora")
    parser.add_argument("--rank", type=int, default=24, help="24 is the most under 16 MiB a file")
    parser.add_argument("--rate", type=float)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--examples", type=int, help="a step")
    parser.add_argument("--budget", type=int, default=32768, help="padded tokens read at once")
    parser.add_argument("--every", type=int, default=50, help="steps between looks")
    parser.add_argument("--limit", type=int, help="so many slates a source, for a try")
    parser.add_argument("--plain", action="store_true", help="float32: on a CPU")
    parser.add_argument("--recompute", action="store_true", help="less memory, more time")
    return parser.parse_args()


def recipe_of(args: argparse.Namespace) -> Recipe:
    """The recipe that is asked for, with what was given instead."""
    given = {name: getattr(args, name) for name in ("rate", "steps", "seed", "examples")}
    recipe = RECIPES[args.reader]
    if args.method == "full":
        recipe = replace(recipe, rate=recipe.rate / 10)
    return replace(recipe, **{k: v for k, v in given.items() if v is not None})


def main() -> None:
    args = parsed()
    recipe = recipe_of(args)
    slates = slates_of(args.slates, recipe.sources, args.limit)
    loaded = load(args.base, device=args.device, dtype="float32")
    coder = Coder(LocalReader(loaded, recipe.task), loaded.tokenizer)
    apart = {slate.id for slate in slates[::LOOKED]}
    taught = [slate for slate in slates if slate.id not in apart]
    looks = [coder(example(slate, recipe, view)) for slate in slates[::LOOKED][:LOOKS]
             for view in range(VIEWS)]  # fmt: skip
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    weights = Weights(method=args.method, rank=args.rank, alpha=2 * args.rank, dropout=0.0)
    model = prepare(loaded, weights, recipe.seed)
    inner = model.get_base_model() if args.method == "lora" else model
    if args.recompute:
        recompute_blocks(inner)
    half = nullcontext if args.plain else lambda: torch.autocast(loaded.device.type, torch.bfloat16)
    log = descend(model, inner, map(coder, stream(taught, recipe)), looks, recipe, args, half)
    save(model, loaded.tokenizer, args.out, args.method, Path(args.base).name)
    record = {
        "reader": args.reader,
        "recipe": asdict(recipe),
        "method": args.method,
        "rank": args.rank if args.method == "lora" else None,
        "base_revision": loaded.revision,
        "slates": len(taught),
        "data": content_hash([slate_to_dict(slate) for slate in taught])[:12],
        "half": not args.plain,
        "kept_step": min(log, key=lambda one: one["looked"])["step"],
        "seconds": log[-1]["seconds"],
        "tokens": log[-1]["tokens"],
        "torch": torch.__version__,
        "files": {p.name: file_hash(p)[:12] for p in sorted(args.out.glob("*.safetensors"))},
        "log": log,
    }
    (args.out / "reader.json").write_text(json.dumps(record, indent=1) + "\n")
    spec = f"hf:{args.out}" if args.method == "full" else f"{args.base}+{args.out}"
    rate = record["tokens"] / record["seconds"]
    print(f"{record['tokens'] / 1e6:.1f} M tokens, {record['seconds']:.0f} s, {rate:.0f} tokens/s; "
          f"read with --reader {spec} --reader-task {recipe.task}")  # fmt: skip


if __name__ == "__main__":
    main()
