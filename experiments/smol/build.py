"""Make the packaged file of a shipped scorer from a cut and an adapter trained on it.

    python build.py CUT OUT --adapter FOLDER --result RESULT.json

CUT is the cut.safetensors of ../grader/weights.py, FOLDER and RESULT what ../grader/heal.py
wrote. Base + cut + adapter becomes one difference of the sum of both ranks, is compared
with PEFT's own merge, rounded to int8 and written to OUT with scorer.json and the card.
Printed are its size and its fidelity: how far scores of probe slates move by the rounding.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from card import card
from safetensors.torch import load_file

from evenhand import __version__
from evenhand.data.demo import demo_slates
from evenhand.models import difference
from evenhand.models.load import Loaded, load
from evenhand.models.quiet import quiet
from evenhand.models.shipped import FILE, NAMES, folder
from evenhand.present.design import design
from evenhand.present.surface import texts_hash
from evenhand.present.texts import RUBRICS, SKELETONS
from evenhand.score.base import GRADES
from evenhand.score.local import LocalOptions, LocalScorer
from evenhand.score.shipped import FORMAT, NAME, grade_ids
from evenhand.train.feed import prompt_builder
from evenhand.train.licence import base_licence

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "grader"))
from common import CUT, SURFACE

MOST_BYTES = 12 * 2**20
WIDTH = 10
# Of a weight, between two ways to add the same in float32.
TOLERANCE = 1e-5
PREFIX, DOWN, UP = "base_model.model.", ".lora_A.weight", ".lora_B.weight"


def adapter_factors(path: Path) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """(left, right) of each weight that a plain LoRA adapter changes, the scale in left."""
    config = json.loads((path / "adapter_config.json").read_text())
    refused = [
        name
        for name in ("use_dora", "fan_in_fan_out", "modules_to_save", "rank_pattern", "alpha_pattern")
        if config.get(name)
    ]
    if config.get("peft_type") != "LORA" or config.get("bias", "none") != "none" or refused:
        raise SystemExit(f"{path}: no plain LoRA adapter {refused}; only left times right is joined")
    scale = config["lora_alpha"] / config["r"] ** (0.5 if config.get("use_rslora") else 1)
    weights = load_file(path / "adapter_model.safetensors")
    found = {}
    for name in sorted(one for one in weights if one.endswith(DOWN)):
        right, left = weights.pop(name), weights.pop(name.removesuffix(DOWN) + UP)
        own = name.removeprefix(PREFIX).removesuffix(DOWN) + ".weight"
        found[own] = (left.float() * scale, right.float())
    if weights or not found:
        raise SystemExit(f"{path}: {sorted(weights)[:1] or 'nothing'} is no part of plain LoRA")
    return found


def joined(cut: dict[str, torch.Tensor], adapter: dict) -> dict[str, torch.Tensor]:
    """Cut and adapter as one difference: columns of left and rows of right side by side."""
    found = {name: value.float() for name, value in cut.items()}
    for name, (left, right) in adapter.items():
        if f"{name}.left" not in found:
            raise SystemExit(f"the adapter changes {name}, which has no left and right in the cut")
        found[f"{name}.left"] = torch.cat([found[f"{name}.left"], left], dim=1)
        found[f"{name}.right"] = torch.cat([found[f"{name}.right"], right], dim=0)
    return found


def lowered(cut: dict[str, torch.Tensor], rank: int) -> dict[str, torch.Tensor]:
    """The first ranks of a cut, whose columns stand with the largest first."""
    ends = {".left": lambda one: one[:, :rank], ".right": lambda one: one[:rank]}
    return {
        name: next((take(value) for end, take in ends.items() if name.endswith(end)), value)
        for name, value in cut.items()
    }


def plus(base: str, tensors: dict[str, torch.Tensor]) -> Loaded:
    """The base with a difference added in float32, before any rounding."""
    loaded = load(base, device="cpu")
    factors, plain = difference.split(tensors)
    whole = difference.Difference(base, loaded.revision, factors, plain)
    difference.add(loaded.model, whole, loaded.revision)
    return loaded


def check_joined(base: str, cut: dict, adapter: Path, tensors: dict) -> float:
    """Largest gap of a weight between the joined difference and PEFT's merge onto base + cut."""
    from peft import PeftModel

    with quiet():
        merged = PeftModel.from_pretrained(plus(base, cut).model, str(adapter)).merge_and_unload()
    wanted = dict(merged.named_parameters())
    with torch.no_grad():
        gap = max(
            float((value - wanted[name]).abs().max())
            for name, value in plus(base, tensors).model.named_parameters()
        )
    if not gap <= TOLERANCE:
        raise SystemExit(f"joined and merged weights differ by up to {gap:.2g}; nothing was written")
    return gap


def scores(loaded: Loaded, slates) -> np.ndarray:
    """Scores of slates in canonical order and one random one, as the shipped form shows them."""
    options = LocalOptions(max_candidate_tokens=CUT, width=WIDTH, label_mass=False)
    scorer = LocalScorer(loaded, options, SURFACE)
    drawn = design("reorder", rows=1, width=WIDTH, surface=SURFACE, repeat=False, seed=0)
    shown = [one for slate in slates for one in drawn.draw(slate).shown(slate)]
    return np.concatenate([scored.scores for scored in scorer.score(shown)])


def fidelity(base: str, tensors: dict, path: Path, probe: int) -> dict:
    """How far scores of the bundled slates move when the difference is kept in int8."""
    slates = demo_slates(probe)
    exact = scores(plus(base, tensors), slates)
    loaded = load(base, device="cpu")
    difference.add(loaded.model, difference.read(path), loaded.revision)
    gap = np.abs(scores(loaded, slates) - exact)
    return {"slates": probe, "scores": len(gap), "largest": float(gap.max()), "mean": float(gap.mean())}


def record_of(args, loaded: Loaded, facts: dict) -> dict:
    """What scorer.json holds."""
    builder = prompt_builder(loaded, CUT)
    result = json.loads(args.result.read_text()) if args.result else {}
    said = ("arm", "seed", "rank", "orders", "steps", "rate", "seconds", "tokens")
    looks = result.get("looks", {})
    if result and "arm" not in result:
        # Of stage1.py: one look, at the weights before they were cut.
        result |= {"arm": "stage1", "steps": int(result["arguments"]["steps"])}
    looks = looks.get("reorder", looks.get("full", {}))
    return {
        "format": FORMAT,
        "evenhand": __version__,
        "base": {"name": args.base, "revision": loaded.revision, "dtype": loaded.dtype,
                 "licence": base_licence(args.base)},
        "surface": asdict(SURFACE),
        "texts_hash": texts_hash(SURFACE),
        "rubric": asdict(RUBRICS[SURFACE.rubric]),
        "skeleton": asdict(SKELETONS[SURFACE.skeleton]),
        "grades": {"strings": list(GRADES), "ids": list(grade_ids(builder, SURFACE))},
        "width": WIDTH,
        "max_candidate_tokens": CUT,
        "threshold": None,
        "threshold_tuned": None,
        "training": {name: result[name] for name in said if name in result} or None,
        "measures": {
            name: {"slates": len(one["ids"]), **one["means"]} for name, one in looks.items()
        } or None,
        "difference": facts,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("cut", type=Path)
    parser.add_argument("out", type=Path, help="a folder, or the name of a shipped scorer")
    parser.add_argument("--adapter", type=Path, help="PEFT folder trained on base + cut")
    parser.add_argument("--result", type=Path, help="JSON of heal.py, or of stage1.py, for the card")
    parser.add_argument("--base", default="smollm2-135m")
    parser.add_argument("--rank", type=int, help="keep so many ranks of the cut only")
    parser.add_argument("--probe", type=int, default=10, help="bundled slates that are scored")
    parser.add_argument("--note", default="", help="a sentence for the head of the card")
    args = parser.parse_args()
    cut = load_file(args.cut)
    cut = cut if args.rank is None else lowered(cut, args.rank)
    tensors, facts = cut, {}
    if args.adapter is not None:
        tensors = joined(cut, adapter_factors(args.adapter))
        gap = check_joined(args.base, cut, args.adapter, tensors)
        print(f"joined as PEFT merges: weights within {gap:.2g}")
    out = folder(args.out.name) if str(args.out) in NAMES else args.out
    out.mkdir(parents=True, exist_ok=True)
    loaded = load(args.base, device="cpu")
    partial = out / f"{FILE}.partial"
    kept = difference.write(partial, tensors, base=args.base, revision=loaded.revision)
    size = partial.stat().st_size
    if size > MOST_BYTES:
        partial.unlink()
        raise SystemExit(f"{size:,} bytes, more than the {MOST_BYTES:,} allowed; take a lower rank")
    facts |= {"rank": kept.rank, "dtype": difference.DTYPE, "bytes": size}
    facts["fidelity"] = fidelity(args.base, tensors, partial, args.probe)
    partial.replace(out / FILE)
    record = record_of(args, loaded, facts)
    (out / NAME).write_text(json.dumps(record, indent=2, allow_nan=False) + "\n")
    (out / "README.md").write_text(card(out.name, record, args.note))
    moved = facts["fidelity"]
    print(f"{out.name}: rank {kept.rank}, {size:,} bytes; int8 moves {moved['scores']} scores by "
          f"{moved['mean']:.5f} on average, {moved['largest']:.5f} at most")  # fmt: skip


if __name__ == "__main__":
    main()
