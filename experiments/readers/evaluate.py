"""How well a reader reads, and how much the order of its passages alone moves it.

    python evaluate.py smollm2-135m+readers/abstains answer slates results/abstains.json
    python evaluate.py smollm2-135m+readers/verdict verdict slates results/verdict.json
    python evaluate.py smollm2-135m answer slates results/untrained.json

Each set of passages is shown in --orders orders: canonical, then drawn ones. *Own order
dependence* is the share of pairs of them whose answers (SQuAD-normalised) or verdicts
differ: the same passages, so nothing but their order moved it. Sets: held-out questions
with five passages, gold among them; HotpotQA and MuSiQue with the gold passages and with
all; and no passages at all, which tells reading from knowing. Claims: own five sentences.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

import numpy as np
from kept import opened, reader_options
from teaching import ABSTAIN, slates_of

from evenhand.decide.answers import exact_match, token_f1
from evenhand.decide.fitness import Judged, fitness
from evenhand.decide.reading import evidence_of, outcome
from evenhand.decide.verdicts import LABELS, as_label, majority_class
from evenhand.measure.outcomes import pairwise_flip
from evenhand.measure.stats import estimate
from evenhand.seeds import generator
from evenhand.study.plain import plain
from evenhand.types import Slate

TOP = 5
SETS = {
    "answer": {
        "nq_held": ("gold", "top"),
        "xquad_held": ("gold", "top"),
        "hotpot": ("gold", "all"),
        "musique": ("gold", "all"),
    },
    "verdict": {"climate_test": ("own",)},
}


def columns_of(slate: Slate, kind: str) -> list[int]:
    """Canonical indices of what is shown."""
    gains = slate.gains() > 0
    gold = [int(i) for i in np.flatnonzero(gains)]
    if kind == "gold":
        return gold
    if kind == "own":
        return [i for i, key in enumerate(slate.ids) if key in (slate.grades or {})]
    if kind == "all":
        return list(range(len(slate)))
    if kind == "none":
        return []
    others = [int(i) for i in np.flatnonzero(~gains)]
    return sorted((gold + others)[:TOP])


def orders_of(slate: Slate, columns: list[int], count: int) -> list[list[int]]:
    """Canonical order, then drawn ones; two passages have two, and one has one."""
    drawn = [columns]
    if len(columns) < 3:
        return [columns, columns[::-1]][: max(1, len(columns))]
    for index in range(1, count):
        rng = generator(0, slate.id, "reader orders", index)
        drawn.append([columns[i] for i in rng.permutation(len(columns))])
    return drawn


def look(reader, slates: list[Slate], kind: str, orders: int) -> dict:
    """Values of one set, a mean over orders for each slate."""
    shown = [orders_of(slate, columns_of(slate, kind), orders) for slate in slates]
    asked = [evidence_of(slate, one) for slate, some in zip(slates, shown, strict=True) for one in some]
    given = iter(reader.read(asked))
    outputs = [[next(given).output for _ in some] for some in shown]
    scored = [values(reader.task, slate, some) for slate, some in zip(slates, outputs, strict=True)]
    flips = [pairwise_flip([outcome(reader.task, one) for one in some]) for some in outputs]
    per_slate = {name: [one[name] for one in scored] for name in scored[0]} | {"own_order": flips}
    said = Counter(outcome(reader.task, one) for some in outputs for one in some)
    count = sum(said.values())
    found = {
        "ids": [slate.id for slate in slates],
        "orders": orders,
        "estimates": {name: estimate(np.array(v, dtype=float)) for name, v in per_slate.items()},
        "per_slate": per_slate,
        "outputs": outputs,
        "abstains": said[ABSTAIN] / count,
        "words": float(np.mean([len((one or "").split()) for some in outputs for one in some])),
    }
    return found | (verdicts(slates, outputs) if reader.task == "verdict" else {})


def values(task: str, slate: Slate, outputs: list[str | None]) -> dict[str, float]:
    known = [one for one in outputs if one is not None]
    if not known:
        return {"right": float("nan")} | ({"f1": float("nan")} if task == "answer" else {})
    if task == "verdict":
        return {"right": float(np.mean([one == slate.verdict for one in known]))}
    return {
        "right": float(np.mean([exact_match(one, slate.answers) for one in known])),
        "f1": float(np.mean([token_f1(one, slate.answers) for one in known])),
    }


def verdicts(slates: list[Slate], outputs: list[list[str | None]]) -> dict:
    """The most common verdict and its share; recall of each verdict; what was said for which."""
    gold = [str(as_label(str(slate.verdict))) for slate in slates]
    label, share = majority_class(gold)
    table = {name: Counter() for name in LABELS}
    for wanted, some in zip(gold, outputs, strict=True):
        table[wanted].update(some)
    recall = {n: table[n][n] / table[n].total() for n in LABELS if table[n].total()}
    return {
        "majority": {"label": label, "share": share},
        "recall": recall,
        "balanced_accuracy": float(np.mean(list(recall.values()))),
        "said": {name: dict(sorted(map_none(counts).items())) for name, counts in table.items()},
    }


def map_none(counts: Counter) -> dict[str, int]:
    return {str(key): value for key, value in counts.items()}


def fit(task: str, slates: list[Slate], with_gold: dict, bare: dict):
    """evenhand's own judgement whether a reader reads, gold passages against none."""
    judged = []
    for i, slate in enumerate(slates):
        pair = [one["per_slate"] for one in (with_gold, bare)]
        f1 = [one["f1"][i] for one in pair] if task == "answer" else [float("nan")] * 2
        said = with_gold["outputs"][i][0]
        label = as_label(str(slate.verdict)) if task == "verdict" else None
        judged.append(Judged(label, said, *(one["right"][i] for one in pair), *f1))
    return fitness(task, judged)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reader", help="as evenhand audit --reader takes it")
    parser.add_argument("task", choices=("answer", "verdict"))
    parser.add_argument("slates", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sets", nargs="+", help="files of prepare.py; all of the task by default")
    parser.add_argument("--orders", type=int, default=4)
    reader_options(parser)
    args = parser.parse_args()
    reader = opened(args)
    found: dict = {}
    for name in args.sets or SETS[args.task]:
        kinds = SETS[args.task][name]
        slates = slates_of(args.slates, (name,), args.limit)
        looks = {kind: look(reader, slates, kind, args.orders) for kind in (*kinds, "none")}
        fitted = fit(args.task, slates, looks[kinds[0]], looks["none"])
        found[name] = {"sets": looks, "fitness": fitted}
        for kind, one in looks.items():
            means = {key: round(value.mean, 4) for key, value in one["estimates"].items()}
            more = {k: one[k] for k in ("majority", "balanced_accuracy") if k in one}
            print(name, kind, means, f"abstains {one['abstains']:.3f}", more, flush=True)
        print(f"  fit: {fitted.fit}, {fitted.reason}", flush=True)
    record = {"reader": Path(args.reader).name, "task": args.task, "revision": reader.revision,
              "dtype": args.dtype, "looks": found}  # fmt: skip
    args.out.write_text(json.dumps(plain(record)) + "\n")


if __name__ == "__main__":
    main()
