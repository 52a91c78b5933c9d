"""Weights in a byte each, and the low-rank cut of what training changed.

    python weights.py bytes MODEL OUT          # int8, and MODEL rewritten with what it gives back
    python weights.py whole PARTS... MODEL     # the float16 file again
    python weights.py cut MODEL RANK OUT [BASE]     # what training changed, in a low rank

The first two carry a start from one machine to another without a change: every arm
starts from exactly what the bytes give back.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from common import add_low_rank, low_rank
from safetensors.torch import load_file, save, save_file

from evenhand.models.load import load

PART = 15_500_000


def to_bytes(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Rows of matrices as int8 and a float32 scale each; vectors as they are."""
    kept = {}
    for name, value in weights.items():
        if value.ndim != 2:
            kept[name] = value.float()
            continue
        scale = value.float().abs().amax(1).clamp_min(1e-12) / 127
        kept[name] = (value.float() / scale[:, None]).round().to(torch.int8)
        kept[f"{name} scale"] = scale
    return kept


def from_bytes(kept: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    found = {}
    for name, value in kept.items():
        if name.endswith(" scale"):
            continue
        whole = value.float() * kept[f"{name} scale"][:, None] if value.ndim == 2 else value
        found[name] = whole.half().contiguous()
    return found


def cut(model: Path, rank: int, out: Path, base: str = "smollm2-135m") -> None:
    """Write the difference from the base in a low rank, and the model that it gives."""
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    loaded = load(base, dtype="float32")
    old = {name: value.detach().clone() for name, value in loaded.model.named_parameters()}
    new = load_file(model)
    with torch.no_grad():
        for name, value in loaded.model.named_parameters():
            value.copy_(new[name].float())
    kept = low_rank(loaded.model, old, rank)
    add_low_rank(loaded.model, old, kept)
    save_file(kept, out / "cut.safetensors")
    whole = {k: v.detach().cpu().contiguous() for k, v in loaded.model.named_parameters()}
    save_file(whole, out / "model.safetensors")


def main() -> None:
    what, *rest = sys.argv[1:]
    if what == "bytes":
        model, out = Path(rest[0]), Path(rest[1])
        kept = to_bytes(load_file(model))
        data = save(kept)
        out.mkdir(parents=True, exist_ok=True)
        for index, start in enumerate(range(0, len(data), PART)):
            (out / f"part{index}").write_bytes(data[start : start + PART])
        save_file(from_bytes(kept), model)
    elif what == "whole":
        *parts, model = map(Path, rest)
        from safetensors.torch import load as loads

        save_file(from_bytes(loads(b"".join(part.read_bytes() for part in parts))), model)
    else:
        cut(Path(rest[0]), int(rest[1]), Path(rest[2]), *rest[3:])


if __name__ == "__main__":
    main()
