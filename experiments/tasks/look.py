"""A look at a task's tests: scores of every row, values of every slate."""

from __future__ import annotations

import json
import time
from dataclasses import asdict

import matrices
import numpy as np
import torch
from reading import Reader
from session import Session
from tasks import Task

from evenhand.measure.decision import pair_flip
from evenhand.measure.order import kendall_distance
from evenhand.seeds import tie_ranks
from evenhand.train.evaluate import judged
from evenhand.types import ScoreMatrix, Slate, Surface

JUDGED = ("served", "shuffled", "psi", "overlap", "spread", "residual")
TOLD = (*JUDGED[:4], "pair flip", "in order", "seconds", "tokens a second")
ISOLATED_ROWS = 2


def in_order(scores: np.ndarray, gains: np.ndarray) -> float:
    """Mean over rows of the share of (better, worse) candidate pairs put in that order, ties half."""
    better, worse = np.nonzero(gains[:, None] > gains[None, :])
    if not len(better):
        return float("nan")
    return float(np.nanmean((np.sign(scores[:, better] - scores[:, worse]) + 1) / 2))


def values_of(task: Task, slates: list[Slate], kept: list[ScoreMatrix]) -> dict:
    """Per-slate values by name."""
    held = judged(slates, kept, task.measure)
    found = {name: np.asarray(getattr(held, name)) for name in JUDGED}
    pairs = list(zip(slates, kept, strict=True))
    found["pair flip"] = np.array([
        pair_flip(m.random, tie_ranks(s.id, s.ids), exhaustive=m.plan.exhaustive) for s, m in pairs
    ])  # fmt: skip
    found["in order"] = np.array([in_order(m.random, s.gains()) for s, m in pairs])
    return found


def mean_of(values: np.ndarray) -> float | None:
    known = values[~np.isnan(values)]
    return round(float(known.mean()), 5) if known.size else None


def scored(
    reader: Reader, slates: list[Slate], shown: dict
) -> tuple[list[np.ndarray], np.ndarray, float]:
    """Scores (rows, n) of every slate, its mean tokens a row, and seconds."""
    began = time.perf_counter()
    plans = [matrices.plan_of(slate, shown) for slate in slates]
    every = [one for slate, plan in zip(slates, plans, strict=True) for one in plan.shown(slate)]
    read = reader.score(every)
    seconds, left = time.perf_counter() - began, iter(read)
    scores = [np.array([next(left).scores for _ in plan.kinds]) for plan in plans]
    owners = np.repeat(np.arange(len(slates)), [len(plan) for plan in plans])
    tokens = np.bincount(owners, [one.tokens for one in read]) / np.bincount(owners)
    return scores, tokens, seconds


def noise(reader: Reader, slates: list[Slate], scores: list[np.ndarray], shown: dict) -> np.ndarray:
    """Kendall distance, by slate, of the canonical row and itself read again in other batches."""
    alone = reader.score([next(matrices.plan_of(s, shown).shown(s)) for s in slates])
    return np.array([
        kendall_distance(one[0], other.scores) for one, other in zip(scores, alone, strict=True)
    ])  # fmt: skip


def one_look(reader: Reader, task: Task, slates: list[Slate], shown: dict, again: bool):
    """Scores as they are kept, per-slate values and means of one collection."""
    scores, tokens, seconds = scored(reader, slates, shown)
    # What is kept is what is judged, so that anyone finds the same values in it.
    kept = [
        ScoreMatrix(matrices.from_whole(matrices.to_whole(one)), matrices.plan_of(slate, shown))
        for one, slate in zip(scores, slates, strict=True)
    ]
    found = values_of(task, slates, kept) | {"tokens": tokens}
    if again:
        found["noise"] = noise(reader, slates, scores, shown)
    means = {key: mean_of(value) for key, value in found.items()}
    missing = int(sum(np.isnan(one).sum() for one in scores))
    read = sum(len(one) * used for one, used in zip(scores, tokens, strict=True))
    means |= {"slates": len(slates), "missing": missing, "seconds": round(seconds, 2),
              "tokens a second": round(read / seconds)}  # fmt: skip
    return scores, found, means


def looked(
    session: Session, name: str, seed: int, surface: Surface, took: dict, *, again: bool = False
) -> None:
    """Look at the tests with the model as it stands; write the JSON and the matrices.

    With `again` the canonical rows are read once more by themselves, for the noise floor.
    """
    task, args = session.task, session.args
    reader = session.reader(surface).take(session.loaded.model)
    rows = ISOLATED_ROWS if surface.visibility == "isolated" else args.rows
    shown = {"rows": rows, "width": task.width, "seed": 0, "surface": asdict(surface)}
    arrays, means = {}, {}
    for test, slates in session.tests.items():
        scores, found, means[test] = one_look(reader, task, slates, shown, again)
        arrays |= matrices.flat(test, slates, scores, shown)
        arrays |= {f"{test} value {k}": v.astype(np.float32) for k, v in found.items()}
        told = {key: means[test][key] for key in TOLD}
        print(f"{task.name} {name}-{seed} {test} {told}", flush=True)
    path = session.result(name, seed)
    np.savez_compressed(path.with_suffix(".npz"), **arrays)
    record = {
        "task": task.name, "arm": name, "seed": seed, "start": args.started, "means": means,
        "shown": shown, "cut": task.cut, "fast": reader.fast, "torch": torch.__version__, **took,
    }  # fmt: skip
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(record))
    partial.replace(path)
