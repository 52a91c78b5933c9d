"""What the stages share: slates with their texts, labels, looks at held-out lists."""

from __future__ import annotations

import copy
import gzip
import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from evenhand.data import load_slates
from evenhand.models.load import Loaded
from evenhand.score.local import LocalOptions, LocalScorer
from evenhand.train.evaluate import judged, matrices
from evenhand.types import Candidate, Slate, Surface

CUT = 64
VALUES = ("served", "shuffled", "psi", "overlap", "spread", "residual")
SURFACE = Surface(markers="single", enclose=True, query="around")
ISOLATED = Surface(markers="single", enclose=True, query="before", visibility="isolated")


def rows(path: Path) -> list[dict]:
    with gzip.open(path, "rt") as file:
        return [json.loads(line) for line in file]


def slates_of(folder: Path, name: str = "slates") -> tuple[list[Slate], list[str]]:
    """Slates of a prepared file, and the source of each."""
    texts = {row["id"]: row["text"] for row in rows(folder / "texts.jsonl.gz")}
    made, sources = [], []
    for row in rows(folder / f"{name}.jsonl.gz"):
        candidates = tuple(Candidate(key, texts[key]) for key in row["candidates"])
        made.append(Slate(row["id"], row["query"], candidates, row["grades"]))
        sources.append(row["source"])
    return made, sources


def bi_encoder(folder: Path, texts: list[str], device: str) -> np.ndarray:
    """Unit vectors (texts, d) of a mean-pooling sentence encoder."""
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder, dtype=torch.float32).to(device).eval()
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    found = np.zeros((len(texts), model.config.hidden_size), dtype=np.float32)
    for start in range(0, len(order), 512):
        part = order[start : start + 512]
        batch = tokenizer([texts[i] for i in part], padding=True, truncation=True, max_length=128,
                          return_tensors="pt").to(device)  # fmt: skip
        with (
            torch.inference_mode(),
            torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"),
        ):
            states = model(**batch).last_hidden_state.float()
        mask = batch["attention_mask"][..., None].float()
        pooled = (states * mask).sum(1) / mask.sum(1)
        found[part] = torch.nn.functional.normalize(pooled, dim=-1).cpu().numpy()
    return found


def cosines(folder: Path, slates: list[Slate], device: str) -> list[np.ndarray]:
    """Cosine of query and candidate, by slate."""
    texts = sorted({c.text for slate in slates for c in slate.candidates} | {s.query for s in slates})
    place = {text: i for i, text in enumerate(texts)}
    vectors = bi_encoder(folder, texts, device)
    return [
        vectors[[place[c.text] for c in slate.candidates]] @ vectors[place[slate.query]]
        for slate in slates
    ]


def kept_labels(
    path: Path, slates: list[Slate], make: Callable[[], list[np.ndarray]]
) -> list[np.ndarray]:
    """Labels of a file, by slate; made and written where there is none.

    The file's name holds what the labels depend on beside the slates, and the file their ids.
    """
    ids = [slate.id for slate in slates]
    if path.exists():
        held = np.load(path)
        if held["ids"].tolist() == ids:
            print(f"labels: those of {path.name}", flush=True)
            return np.split(held["labels"], held["ends"][:-1], axis=-1)
        print(f"labels: {path.name} is of other slates; made anew", flush=True)
    began = time.perf_counter()
    labels = make()
    ends = np.cumsum([one.shape[-1] for one in labels])
    partial = path.with_suffix(".partial.npz")
    # float16 would move them by 2e-4; a session's labels are a few megabytes.
    joined = np.concatenate(labels, axis=-1).astype(np.float32)
    np.savez_compressed(partial, ids=np.array(ids), labels=joined, ends=ends)
    partial.replace(path)
    print(f"labels: {len(ids)} slates, {time.perf_counter() - began:.1f} s", flush=True)
    return np.split(joined, ends[:-1], axis=-1)


def snapshot(loaded: Loaded, model: torch.nn.Module) -> Loaded:
    """A bfloat16 copy on the GPU to look at, or a float32 one on the CPU."""
    kind = torch.bfloat16 if loaded.device.type == "cuda" else torch.float32
    plain = copy.deepcopy(model).eval().requires_grad_(False).to(kind)
    return Loaded(
        plain, loaded.tokenizer, loaded.name, loaded.revision, loaded.device, str(kind).split(".")[-1]
    )


def scorer_of(loaded: Loaded, model: torch.nn.Module, surface: Surface = SURFACE) -> LocalScorer:
    options = LocalOptions(max_candidate_tokens=CUT, label_mass=False, token_budget=131072, width=10)
    return LocalScorer(snapshot(loaded, model), options, surface)


def look(
    scorer: LocalScorer,
    lists: dict[str, list[Slate]],
    *,
    random_rows: int = 10,
    width: int = 10,
    design: str = "reorder",
    scores: dict | None = None,
) -> dict:
    """Means and per-slate values on every list, and the seconds they took.

    With `scores`, the score matrices are put there too, by list, in half precision.
    """
    found = {}
    for name, slates in lists.items():
        began = time.perf_counter()
        shown = matrices(scorer, slates, name=design, rows=random_rows, width=width)
        held = judged(slates, shown)
        values = {key: [round(float(v), 6) for v in getattr(held, key)] for key in VALUES}
        found[name] = {"means": held.means(), "values": values, "ids": [s.id for s in slates],
                       "seconds": time.perf_counter() - began}  # fmt: skip
        if scores is not None:
            halves = [matrix.scores.astype(np.float16) for matrix in shown]
            scores |= dict(zip([f"{name}/{slate.id}" for slate in slates], halves, strict=True))
        means = {key: round(value, 4) for key, value in held.means().items()}
        print(name, f"{design} B={width}", means, f"{found[name]['seconds']:.1f} s", flush=True)
    return found


def lists_of(data: Path, limit: int | None = None) -> dict[str, list[Slate]]:
    """BM25's top 100 of both test sets; a limit takes so many slates, cut to 20."""
    depth = 100 if limit is None else 20
    found = {}
    for name in ("trec_dl19", "trec_dl20"):
        slates = load_slates(data / name, run="BM25", depth=depth)
        found[name] = list(itertools.islice(slates, limit))
    return found


def low_rank(new: torch.nn.Module, old: dict[str, torch.Tensor], rank: int) -> dict[str, torch.Tensor]:
    """The difference of two sets of weights, matrices as the product of two of a low rank."""
    kept = {}
    for name, value in new.named_parameters():
        gap = value.detach().float() - old[name].to(value.device).float()
        if gap.ndim != 2 or min(gap.shape) <= rank:
            kept[name] = gap.half().cpu()
            continue
        left, size, right = torch.svd_lowrank(gap, q=rank + 16, niter=4)
        scale = size[:rank].sqrt()
        kept[f"{name}.left"] = (left[:, :rank] * scale).half().cpu().contiguous()
        kept[f"{name}.right"] = (right[:, :rank] * scale).T.half().cpu().contiguous()
    return kept


def add_low_rank(
    model: torch.nn.Module, old: dict[str, torch.Tensor], kept: dict[str, torch.Tensor]
) -> None:
    """Set a model to old weights plus a kept difference."""
    with torch.no_grad():
        for name, value in model.named_parameters():
            base = old[name].to(value.device).float()
            if name in kept:
                gap = kept[name].to(value.device).float()
            else:
                gap = (
                    kept[f"{name}.left"].to(value.device).float()
                    @ kept[f"{name}.right"].to(value.device).float()
                )
            value.copy_(base + gap)
