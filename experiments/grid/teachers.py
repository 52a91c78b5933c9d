"""silver-beta of teachers against the students that are trained on their labels.

    python teachers.py stage1/model.safetensors SLATES DATA OUT \\
        --oc across/model.safetensors --single single/model.safetensors --encoder MINILM

Slates are those of stage 2 (the first hundred are left out, as arms.py holds them out)
whose list has the text that the query was made of. Every student is trained from --start (stage
1 without it) on one label a candidate, single-order, for the same few steps. silver-beta
is pooled over the first --beta slates, corrected for finite T; that of a mean over T orders
follows from the two variances, as independent orders give 1/T of the variance within.
Teachers that no order can move have 0 by construction.

Under OUT: labels-*.npz, teachers/NAME.json (those that are there are left), runs/.
"""

from __future__ import annotations

import argparse
import copy
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from shared import SURFACE, put, training_options, write

from evenhand.measure.quality import ranking_quality
from evenhand.measure.silver import label_variances
from evenhand.models.load import load
from evenhand.present.design import design
from evenhand.seeds import content_hash, file_hash
from evenhand.train.labels import Labelled
from evenhand.train.loop import train
from evenhand.train.settings import Descent, Run, Training, Weights
from evenhand.types import Slate, Surface

HELD_OUT = 100
ORDERS = 10  # of the stage-1 teacher
FEW = 4  # of the other graders, and only where silver-beta is measured
BLIND = replace(SURFACE, visibility="isolated")
PER_CANDIDATE = 85


@dataclass(frozen=True)
class Teacher:
    """Where labels come from: a grader's file under T orders, or a function that needs no order.

    mean: how many of the orders a label is the mean of; 0 = order-free.
    """

    weights: str = "stage1"
    mean: int = 1
    orders: int = FEW
    surface: Surface = SURFACE
    free: str = ""


TEACHERS = {
    "stage1-1": Teacher(orders=ORDERS),
    "stage1-10": Teacher(orders=ORDERS, mean=10),
    "stage1-isolated": Teacher(orders=1, mean=0, surface=BLIND),
    "likelihood": Teacher(free="likelihood", mean=0),
    "cosine": Teacher(free="cosine", mean=0),
    "gold": Teacher(free="gold", mean=0),
    "oc-1": Teacher("oc"),
    "single-1": Teacher("single"),
    "stage1-3": Teacher(orders=ORDERS, mean=3),
    "base-1": Teacher("base"),
}


def gold_of(slate: Slate, source: str) -> np.ndarray:
    """1 at the text that a pseudo-query was made of, 0 elsewhere."""
    made_of = slate.id.removeprefix(f"{source} ")
    return np.array([float(key == made_of) for key in slate.ids])


def drawn(args) -> tuple[list[Slate], list[np.ndarray]]:
    """Slates to label, and their gold."""
    from common import slates_of

    pairs = list(zip(*slates_of(args.slates, "stage2"), strict=True))
    pairs = pairs[HELD_OUT:] if len(pairs) > 2 * HELD_OUT else pairs
    known = [(s, gold_of(s, source)) for s, source in pairs]
    known = [(s, gold) for s, gold in known if gold.any()][: args.count]
    return [s for s, _ in known], [gold for _, gold in known]


def readings(loaded, slates, orders: int, surface: Surface) -> list[np.ndarray]:
    """(T, n) scores by slate under random orders of the whole slate at B = 10."""
    from common import scorer_of

    scorer = scorer_of(loaded, loaded.model, surface)
    plan = design("reorder", rows=orders, width=10, seed=2000, surface=surface, repeat=False)
    found = []
    for first in range(0, len(slates), 200):
        part = slates[first : first + 200]
        shown = [one for s in part for one in plan.draw(s).shown(s) if one.kind == "random"]
        scored = iter(scorer.score(shown))
        found += [np.array([next(scored).scores for _ in range(orders)]) for _ in part]
    return found


def under_orders(args, loaded, slates, teacher: Teacher) -> tuple[list, list]:
    """Labels for training, and (T, n) scores of the slates that silver-beta is of."""
    from common import kept_labels

    path = None if teacher.weights == "base" else getattr(args, teacher.weights)
    base = load(args.base, dtype="float32") if path is None else loaded
    if path is not None:
        from safetensors.torch import load_file

        put(base.model, load_file(path))
    key = [file_hash(path) if path else base.revision, str(teacher.surface), [s.id for s in slates]]
    few = slates[: args.beta]
    # A single order of every slate where only that one is a label.
    counts = [(slates, teacher.orders)] if teacher.mean != 1 or teacher.orders == ORDERS else []
    counts = counts or [(slates, 1), (few, teacher.orders)]
    found = []
    for own, orders in counts:
        name = f"labels-{content_hash([*key, len(own), orders])[:12]}.npz"
        make = partial(readings, base, own, orders, teacher.surface)
        found.append(kept_labels(args.out / name, own, make))
    used = max(1, teacher.mean)
    return [rows[:used].mean(0) for rows in found[0]], found[-1][: args.beta]


def order_free(args, loaded, slates, gold, kind: str) -> list[np.ndarray]:
    """Labels that no order can move, in [0, 1]."""
    import stage1
    from common import cosines, kept_labels

    if kind == "gold":
        return gold
    makes: dict[str, Callable] = {
        "cosine": lambda: cosines(args.encoder, slates, loaded.device.type),
        "likelihood": lambda: stage1.likelihoods(load(args.base, dtype="float32"), slates),
    }
    name = f"labels-{kind}-{content_hash([s.id for s in slates])[:12]}.npz"
    values = kept_labels(args.out / name, slates, makes[kind])
    return {"cosine": stage1.from_cosine, "likelihood": stage1.from_likelihood}[kind](values)


def beta_of(rows: list[np.ndarray], mean: int) -> float:
    """Corrected silver-beta of the mean over so many orders, pooled over slates."""
    within, between = np.mean([label_variances(one, corrected=True) for one in rows], axis=0)
    return float(within / mean / (within / mean + between))


def settings_of(args) -> Training:
    """Single-order training as arms.py has it, shorter."""
    from arm import arm

    single = arm("single")
    return Training(
        views=single.views, objective=single.objective, weights=Weights(method="full"),
        descent=Descent(rate=args.rate, warmup=0.1, ramp=0.1),
        run=Run(windows=args.windows, epochs=50, steps=args.steps, token_budget=args.budget,
                half=not args.plain, compiled=not args.plain, workers=args.workers,
                max_candidate_tokens=64),
    )  # fmt: skip


def student(args, name: str, loaded, slates, labels, lists) -> dict:
    """Train on the labels from the common start; what it is on the test lists."""
    from common import look, scorer_of
    from safetensors.torch import load_file

    put(loaded.model, load_file(args.start or args.stage1))
    made = [Labelled(s, np.clip(y, 0, 1)) for s, y in zip(slates, labels, strict=True)]
    began = time.perf_counter()
    outcome = train(copy.copy(loaded), made, settings_of(args), args.out / "runs" / name)
    seconds = time.perf_counter() - began
    tokens = sum(one["tokens"] for one in outcome.log)
    print(f"{name}: {seconds:.0f} s, {tokens / 1e6:.1f} M tokens", flush=True)
    looks = look(scorer_of(loaded, outcome.model), lists, random_rows=args.rows)
    shutil.rmtree(args.out / "runs" / name, ignore_errors=True)
    return {"looks": looks, "seconds": seconds, "tokens": tokens, "steps": outcome.steps}


def taught(args, name: str, loaded, slates, gold, lists) -> dict:
    """A teacher's labels, their silver-beta and quality, and its student."""
    teacher = TEACHERS[name]
    beta = 0.0
    if teacher.free:
        labels = order_free(args, loaded, slates, gold, teacher.free)
    else:
        labels, rows = under_orders(args, loaded, slates, teacher)
        beta = beta_of(rows, teacher.mean) if teacher.mean else 0.0
    known = [replace(s, grades={k: int(g) for k, g in zip(s.ids, own, strict=True)})
             for s, own in zip(slates, gold, strict=True)]  # fmt: skip
    quality = ranking_quality(["nDCG@10"], known, [one[None] for one in labels])["nDCG@10"]
    found = {"teacher": name, "beta": beta, "order_free": teacher.mean == 0,
             "label_quality": [float(one[0]) for one in quality], "slates": len(slates)}  # fmt: skip
    return found | student(args, name, loaded, slates, labels, lists)


def print_budget(args, names: list[str]) -> None:
    """Tokens of each teacher's labels and student, about; shared labels are counted once."""
    total, seen = 0.0, set()
    for name in names:
        teacher = TEACHERS[name]
        whole = args.count * 40 * PER_CANDIDATE
        orders = 1.0 if teacher.mean == 0 else float(teacher.orders)
        if teacher.mean and teacher.orders == FEW:
            orders = 1 + FEW * args.beta / args.count
        source = teacher.free or f"{teacher.weights} {teacher.surface.visibility}"
        price = 0 if source in seen or source in ("gold", "cosine") else whole * orders
        seen.add(source)
        trained = args.steps * args.windows * 10 * PER_CANDIDATE
        looked = 97 * (1 + args.rows) * 100 * PER_CANDIDATE
        total += price + trained + looked
        print(f"{name:16} labels {price / 1e6:5.1f} M, training {trained / 1e6:.1f} M, "
              f"looks {looked / 1e6:.1f} M; {total / 1e6:.0f} M so far")  # fmt: skip


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("stage1", "slates", "data", "out"):
        parser.add_argument(name, type=Path)
    for name in ("oc", "single", "encoder", "start"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--base", default="smollm2-135m")
    parser.add_argument("--teachers", nargs="*", choices=list(TEACHERS), default=list(TEACHERS))
    parser.add_argument("--count", type=int, default=960, help="slates that are labelled")
    parser.add_argument("--beta", type=int, default=240, help="slates that silver-beta is of")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--rate", type=float, default=2e-4)
    training_options(parser)
    return parser.parse_args()


def main() -> None:
    args = options()
    path = args.out / "teachers"
    left = [name for name in args.teachers if not (path / f"{name}.json").exists()]
    print_budget(args, left)
    for name in left:
        needed = TEACHERS[name].free if TEACHERS[name].free == "cosine" else TEACHERS[name].weights
        needed = {"cosine": "encoder", "oc": "oc", "single": "single"}.get(needed)
        if needed and getattr(args, needed) is None:
            raise SystemExit(f"{name} needs --{needed}, or leave it out of --teachers")
    if args.dry_run or not left:
        return
    from common import lists_of

    args.out.mkdir(parents=True, exist_ok=True)
    loaded = load(args.base, dtype="float32")
    slates, gold = drawn(args)
    lists = lists_of(args.data, args.lists)
    for name in left:
        write(path / f"{name}.json", taught(args, name, loaded, slates, gold, lists))


if __name__ == "__main__":
    main()
