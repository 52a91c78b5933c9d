"""One cell: presentations are scored and its per-slate values are made."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from shared import MEASURE, SURFACE, Cell, identity, put, there, write

from evenhand.decide.threshold import cross_fit, quantile, relevant, retained
from evenhand.measure.decision import overlap, retained_share
from evenhand.measure.order import exact_ties, tau_psi, top_instability
from evenhand.measure.pool import pool_psi
from evenhand.measure.quality import ranking_quality
from evenhand.measure.spread import normalised_residual, score_spread
from evenhand.present.design import design
from evenhand.remedy import apply
from evenhand.seeds import file_hash, tie_ranks
from evenhand.types import Plan, Scored, Shown, Slate


class Memo:
    """A scorer that reads no prompt of a slate twice, and still says what each cost.

    Averages of 2, 4 and 10 orders draw the same first ones, and adaptive ones the same first
    two whatever alpha is. A repeat row is always read.
    """

    def __init__(self, scorer) -> None:
        self.inner = scorer
        self.known: dict = {}
        self.read = 0

    def __getattr__(self, name: str):
        if name.startswith("_") or name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)

    def score(self, shown: Sequence[Shown]) -> list[Scored]:
        keys = [self._key(place, one) for place, one in enumerate(shown)]
        asked = {k: one for k, one in zip(keys, shown, strict=True) if k not in self.known}
        answers = dict(zip(asked, self.inner.score(list(asked.values())), strict=True))
        self.read += sum(answer.tokens for answer in answers.values())
        found = [answers[key] if key in answers else self.known[key] for key in keys]
        self.known |= {key: one for key, one in answers.items() if key[0] != "repeat"}
        return found

    @staticmethod
    def _key(place: int, one: Shown) -> tuple:
        if one.kind == "repeat":
            return "repeat", place
        # Lists of one query have the same id and other candidates.
        return one.slate.id, one.slate.ids, one.presentation


def scored_rows(scorer, drawn, slates, repeat: int | None):
    """(plans, scores by slate (rows, n), tokens by slate (rows,), repeats by slate or None)."""
    plans = [drawn.draw(slate) for slate in slates]
    shown = [list(plan.shown(slate)) for slate, plan in zip(slates, plans, strict=True)]
    answers = iter(scorer.score([one for own in shown for one in own]))
    found = [[next(answers) for _ in own] for own in shown]
    again = shown if repeat is None else shown[:repeat]
    repeats = [Shown(own[0].slate, own[0].presentation, len(own), "repeat") for own in again]
    second = [one.scores for one in scorer.score(repeats)] if repeats else []
    second += [None] * (len(slates) - len(second))
    scores = [np.array([one.scores for one in own]) for own in found]
    tokens = [np.array([one.tokens for one in own], dtype=float) for own in found]
    return plans, scores, tokens, second


def agreement(slate: Slate, rows: np.ndarray, cuts: dict[str, float], whole: bool) -> dict:
    """Stability of one slate's (M, n) rows, and the sets that each threshold keeps."""
    found = {
        "psi": tau_psi(rows, exhaustive=whole),
        "top": top_instability(rows, tie_ranks(slate.id, slate.ids), exhaustive=whole),
        "spread": score_spread(rows),
        "residual": normalised_residual(rows, exhaustive=whole),
        "ties": exact_ties(rows),
    }
    for name, cut in cuts.items():
        kept = np.where(np.isnan(rows), np.nan, retained(rows, cut))
        found[f"overlap_{name}"] = overlap(kept, exhaustive=whole)
        found[f"kept_{name}"] = retained_share(kept)
    return found


def values_of(cell: Cell, slates, rows, threshold: float | None, free: bool) -> tuple[dict, dict]:
    """Per-slate values by name, and thresholds: own and the plain grader's 80% quantile, best F1.

    `threshold` is the plain grader's, None where this is the plain grader itself.
    """
    plans, scores, tokens, second = rows
    firsts = [one[0] for one in scores]
    own = quantile(firsts)
    hits = [relevant(slate) for slate in slates]
    fitted = cross_fit([slate.id for slate in slates], firsts, hits)
    measured = ranking_quality([MEASURE], slates, scores)[MEASURE]
    found: dict = {"served": [float(one[0]) for one in measured], "tokens": []}
    for place, slate in enumerate(slates):
        part = moved(cell, plans[place], scores[place], free)
        cuts = {"own": own, "plain": own if threshold is None else threshold,
                "f1": float(fitted.thresholds[place])}  # fmt: skip
        whole = plans[place].exhaustive and not free
        if cell.design == "membership":
            one = {"pool": pool_psi(scores[place][1:], firsts[place], plans[place].presentations[1:])}
        else:
            one = agreement(slate, part, cuts, whole)
        quality = measured[place][len(scores[place]) - len(part) :]
        one["shuffled"] = float(np.mean(quality)) if len(part) else float("nan")
        if free:
            one["shuffled"] = found["served"][place]
        again = second[place]
        one["floor"] = float("nan") if again is None else tau_psi(np.stack([firsts[place], again]))
        for name, value in one.items():
            found.setdefault(name, []).append(float(value))
        found["tokens"].append(float(tokens[place].mean()))
    return found, {"own": own, "plain": threshold, "f1": list(fitted.folds), "rule": fitted.rule}


def moved(cell: Cell, plan: Plan, scores: np.ndarray, free: bool) -> np.ndarray:
    """The rows that stability is of: random ones, or all where each has draws of its own.

    What no order can move has its one row twice.
    """
    if free:
        return np.stack([scores[0], scores[0]])
    return scores if cell.ensembles else scores[plan.rows("random")]


def measured_cell(scorer: Memo, cell: Cell, slates: list[Slate], threshold: float | None) -> dict:
    """Everything that is written of one cell."""
    began, before = time.perf_counter(), scorer.read
    remedied = apply(scorer, [cell.remedy.replace("=T,", f"={threshold!r},")] if cell.remedy else [])
    # Alone in its prompt, or blind to the others, a candidate meets no order.
    free = cell.width == 1 or bool(remedied.order_free)
    rows = 0 if free else cell.rows
    drawn = design(cell.design, rows=max(1, rows), width=cell.width, rule=cell.rule,
                   surface=SURFACE, repeat=False)  # fmt: skip
    asked = drawn if rows else Canonical(drawn)
    found = scored_rows(remedied, asked, slates, cell.repeat)
    values, cuts = values_of(cell, slates, found, threshold, free)
    return {
        "cell": cell.name, "list": cell.list, "width": cell.width, "rule": cell.rule,
        "design": cell.design, "remedy": cell.remedy,
        "rows": rows + int(cell.ensembles and rows > 0), "order_free": free,
        "by_construction": bool(getattr(remedied, "by_construction", None)) or free,
        "ids": [slate.id for slate in slates], "values": values, "thresholds": cuts,
        "missing": int(sum((np.isnan(one) & plan.included()).sum()
                           for plan, one in zip(found[0], found[1], strict=True))),
        "read": scorer.read - before, "seconds": time.perf_counter() - began,
    }  # fmt: skip


class Canonical:
    """A design that draws the canonical row alone."""

    def __init__(self, drawn) -> None:
        self.drawn = drawn

    def draw(self, slate: Slate) -> Plan:
        plan = self.drawn.draw(slate)
        return Plan(plan.presentations[:1], plan.kinds[:1])


def read_cells(args, grader, cells: Sequence[Cell], lists: dict, threshold_of) -> bool:
    """Read the cells that are not there; False when the tokens are used up.

    Args:
        grader: what `opened` gives. lists: slates by name of the list.
        threshold_of: of a cell, or None where it takes its own.
    """
    name, scorer, weights = grader
    began = time.perf_counter()
    for cell in cells:
        slates = lists[cell.list][:: cell.every]
        path, key = args.out / name / f"{cell.name}.json", identity(weights, cell, slates)
        if there(path, key):
            continue
        if args.tokens and scorer.read + cell.tokens() > args.tokens * 1e6:
            print(f"{cell.name}: left, the tokens are used up")
            return False
        record = measured_cell(scorer, cell, slates, threshold_of(cell))
        write(path, {"grader": name, "identity": key, **record})
        own, all_read = record["read"] / 1e6, scorer.read / 1e6
        print(f"{cell.name}: {own:.2f} M tokens, {record['seconds']:.1f} s; in all {all_read:.1f} M, "
              f"{time.perf_counter() - began:.0f} s", flush=True)  # fmt: skip
    return True


def opened(args) -> tuple[str, Memo, str]:
    """Name of the grader, its scorer, and a hash of its file."""
    from common import scorer_of
    from safetensors.torch import load_file

    from evenhand.models.load import load

    name, equals, path = args.grader.partition("=")
    if not equals:
        raise SystemExit(f"a grader is NAME=FILE, got {args.grader!r}")
    loaded = load(args.base, dtype="float32")
    put(loaded.model, load_file(path))
    return name, Memo(scorer_of(loaded, loaded.model)), file_hash(Path(path))[:16]
