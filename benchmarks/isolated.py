"""What isolated windows cost beside batched and pointwise ones, on the same slates.

Ways of scoring, in this process and on the same weights:

- `batched`: windows of B candidates, sequential visibility;
- `pointwise`: the isolated layout with one candidate a window, so that all that
  candidates share is read once for each of them;
- `isolated`: the isolated layout with B candidates a window;
- `one_mask`: the same prompts as `isolated`, attended to with one mask over the
  whole prompt. `--no-mask` leaves it out.

Each round takes slates of its own and scores them once in every way, the ways in
another order each round, so no prompt is read twice by one way. A warm-up round
with as many further slates comes first and is not counted. Every way tokenises for itself.
`largest_difference` is that of any candidate's score from its pointwise one.

    python benchmarks/isolated.py [--model smollm2-135m] [--slates 6] [--candidates 12] [--width 12]
    python benchmarks/isolated.py --model hf:FOLDER --data FOLDER --device cuda --dtype bfloat16
"""

import argparse
import itertools
import json
import platform
import time
from pathlib import Path

import numpy as np
import torch
import transformers

from evenhand.data import load_slates
from evenhand.data.demo import demo_slates
from evenhand.models.load import load
from evenhand.present.design import design
from evenhand.score.local import LocalOptions, LocalScorer
from evenhand.types import Slate, Surface

WAYS = ("batched", "pointwise", "isolated", "one_mask")


def read_slates(given, needed):
    """Return so many slates, each cut to n candidates; shorter ones are passed over."""
    source = demo_slates() if given.data == "demo" else load_slates(given.data)
    cut = (Slate(s.id, s.query, s.candidates[: given.candidates]) for s in source)
    found = list(itertools.islice((s for s in cut if len(s) == given.candidates), needed))
    if len(found) < needed:
        raise SystemExit(
            f"{given.data} has {len(found)} slates of {given.candidates} candidates; {needed} are "
            "needed, those of the warm-up among them; ask for fewer slates or candidates"
        )
    return found


def open_ways(given, loaded):
    """Return a scorer, surface and width for each way, all on the same weights."""
    options = LocalOptions(
        max_candidate_tokens=given.max_candidate_tokens, token_budget=given.token_budget
    )
    ways = {}
    for name in WAYS[: 3 if given.no_mask else 4]:
        surface = Surface(visibility="sequential" if name == "batched" else "isolated")
        scorer = LocalScorer(loaded, options, surface)
        scorer._forward.whole = name == "one_mask"
        ways[name] = (scorer, surface, 1 if name == "pointwise" else given.width)
    return ways


def score(way, slates):
    """Return the canonical rows of some slates, scored in one call, and what it took."""
    scorer, surface, width = way
    plan = design(rows=1, width=width, surface=surface)
    shown = [next(iter(plan.draw(slate).shown(slate))) for slate in slates]
    on_gpu = scorer._forward.device.type == "cuda"
    if on_gpu:
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    # Scores come back to the CPU, so the device has finished when this returns.
    scored = scorer.score(shown)
    seconds = time.perf_counter() - start
    return scored, seconds, torch.cuda.max_memory_allocated() if on_gpu else 0


def measure(given, loaded):
    per_round = -(-given.slates // given.rounds)
    found = read_slates(given, given.slates + per_round)
    warm_up, timed = found[given.slates :], found[: given.slates]
    ways = open_ways(given, loaded)
    for way in ways.values():
        score(way, warm_up)
    totals = {name: {"prompts": 0, "tokens": 0, "seconds": 0.0, "peak": 0} for name in ways}
    scores = {name: [] for name in ways}
    for turn, start in enumerate(range(0, given.slates, per_round)):
        order = list(ways)[turn % len(ways) :] + list(ways)[: turn % len(ways)]
        for name in order:
            scored, seconds, peak = score(ways[name], timed[start : start + per_round])
            totals[name]["prompts"] += sum(one.prompts for one in scored)
            totals[name]["tokens"] += sum(one.tokens for one in scored)
            totals[name]["seconds"] += seconds
            totals[name]["peak"] = max(totals[name]["peak"], peak)
            scores[name] += [one.scores for one in scored]
    return totals, {name: np.array(rows) for name, rows in scores.items()}


def per_slate(total, slates):
    row = {
        "prompts": total["prompts"] / slates,
        "tokens": round(total["tokens"] / slates, 1),
        "seconds": round(total["seconds"] / slates, 5),
        "tokens_per_second": round(total["tokens"] / total["seconds"]),
    }
    return row | ({"peak_gib": round(total["peak"] / 2**30, 2)} if total["peak"] else {})


def report(given, loaded, totals, scores):
    rows = {name: per_slate(total, given.slates) for name, total in totals.items()}
    gaps = {
        f"{name} - pointwise": float(np.abs(scores[name] - scores["pointwise"]).max())
        for name in scores
        if name not in ("batched", "pointwise")
    }
    device = loaded.device
    named = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
    setting = {
        name: getattr(given, name)
        for name in (
            "slates", "candidates", "width", "rounds", "max_candidate_tokens", "token_budget",
        )
    }  # fmt: skip
    return {
        "model": given.label or given.model,
        "parameters": sum(p.numel() for p in loaded.model.parameters()),
        "data": Path(given.data).name,
        **setting,
        "device": f"{device.type} ({named})",
        "threads": torch.get_num_threads(),
        "dtype": loaded.dtype,
        "per_slate": rows,
        "largest_difference": gaps,
        "seconds_beside_batched": beside(rows, "batched"),
        "seconds_beside_pointwise": beside(rows, "pointwise"),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }


def beside(rows, base):
    """Return the seconds of each other way as a multiple of one."""
    return {
        name: round(row["seconds"] / rows[base]["seconds"], 3)
        for name, row in rows.items()
        if name != base
    }


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="smollm2-135m", help="as evenhand.open_scorer takes it")
    parser.add_argument("--label", help="what to call the model in the output")
    parser.add_argument("--data", default="demo", help="demo, a collection's folder, a JSONL file")
    parser.add_argument("--slates", type=int, default=6)
    parser.add_argument("--candidates", type=int, default=12, help="n, candidates of a slate")
    parser.add_argument("--width", type=int, default=12, help="B, candidates of a window")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--max-candidate-tokens", type=int, default=512)
    parser.add_argument("--token-budget", type=int, default=8192)
    parser.add_argument("--device")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--no-mask", action="store_true", help="leave one_mask out")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "isolated.json")
    return parser.parse_args()


def main():
    given = arguments()
    loaded = load(given.model, device=given.device, dtype=given.dtype)
    result = report(given, loaded, *measure(given, loaded))
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
