"""The recipe of stage 1, one thing changed at a time, on a short schedule.

    python recipe.py SLATES DATA OUT --encoder MINILM [--only reference gold] [--dry-run]

Every setting sees as many windows (--steps of 64) of as many slates, from the same
untrained model, and is looked at on BM25's top 100 of both test sets under its own form.
Slates are drawn once: every setting but "no-pseudo" and "only-pseudo" has the same.
"canonical" shows the windows of a list sorted by rare words shared with the query, as a first
stage would bring them, instead of in random order.

Under OUT: recipe/NAME.json (those that are there are left), labels-*.npz, runs/, and
with --keep NAME the weights of a setting. Processes may share OUT with other --only.
"""

from __future__ import annotations

import argparse
import re
import shutil
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from shared import SURFACE, training_options, write

from evenhand.models.load import load
from evenhand.train.labels import Labelled
from evenhand.train.loop import train
from evenhand.train.pseudo import rarity
from evenhand.train.settings import Descent, Run, Training, Weights
from evenhand.train.step import Objective
from evenhand.train.views import Views
from evenhand.types import Slate, Surface

WORD = re.compile(r"[a-z0-9][a-z0-9'-]+")
WIDTHS = (10, 10, 20)
LONGEST = 64


@dataclass(frozen=True)
class Setting:
    """One way to train stage 1.

    Attributes:
        labels: "cosine", "likelihood" (the model's own), "gold" (0 and 1).
        gold: whether gold is mixed into dense labels where there is any.
        slates: "all", "real", "pseudo". curriculum: widths grow, or are the last ones throughout.
        rate: factor on the learning rate.
    """

    labels: str = "cosine"
    gold: bool = True
    slates: str = "all"
    canonical: bool = False
    error: str = "soft_grade"
    curriculum: bool = True
    surface: Surface = SURFACE
    weights: Weights = field(default_factory=lambda: Weights(method="full"))
    rate: float = 1.0


def low_rank(rank: int) -> Weights:
    return Weights(rank=rank, alpha=2 * rank, dropout=0.0)


SETTINGS = {
    "reference": Setting(),
    "gold": Setting(labels="gold"),
    "likelihood": Setting(labels="likelihood"),
    "no-pseudo": Setting(slates="real"),
    "canonical": Setting(canonical=True),
    "squared": Setting(error="squared"),
    "no-curriculum": Setting(curriculum=False),
    "numeric-before": Setting(surface=replace(SURFACE, markers="numeric", enclose=False)),
    "query-before": Setting(surface=replace(SURFACE, query="before")),
    "lora-16": Setting(weights=low_rank(16), rate=2.0),
    "lora-64": Setting(weights=low_rank(64), rate=2.0),
    "no-gold": Setting(gold=False),
    "only-pseudo": Setting(slates="pseudo"),
    "enclose-off": Setting(surface=replace(SURFACE, enclose=False)),
}


def drawn(slates: list[Slate], sources: list[str], which: str, count: int) -> tuple[list, list]:
    """So many slates and their sources, spread over the file."""
    wanted = [
        pair for pair in zip(slates, sources, strict=True)
        if which == "all" or pair[1].startswith("pseudo ") == (which == "pseudo")
    ]  # fmt: skip
    if not wanted:
        raise SystemExit(f"the file holds no slates of kind {which!r}")
    wanted = wanted[:: max(1, len(wanted) // count)][:count]
    return [slate for slate, _ in wanted], [source for _, source in wanted]


def binary(slate: Slate, source: str) -> np.ndarray:
    """Gold alone: the grades of a question, the text that a pseudo-query was made of."""
    if slate.grades is not None:
        return (slate.gains() > 0).astype(float)
    made_of = slate.id.removeprefix(f"{source} ")
    return np.array([float(key == made_of) for key in slate.ids])


def labelled_by(args, setting: Setting, loaded, slates, sources) -> list[Labelled]:
    """Slates with the labels of a setting."""
    import stage1

    if setting.labels == "gold":
        pairs = zip(slates, sources, strict=True)
        return [Labelled(slate, binary(slate, source)) for slate, source in pairs]
    own = argparse.Namespace(**{**vars(args), "labels": setting.labels})
    values = stage1.labels_of(own, loaded, slates)
    if setting.gold:
        return stage1.labelled(slates, values)
    return [Labelled(s, np.clip(v, 0, 1)) for s, v in zip(slates, values, strict=True)]


def first_stage(made: list[Labelled]) -> list[Labelled]:
    """The same slates, candidates by the rare words that they share with the query."""
    texts = {c.id: c.text for one in made for c in one.slate.candidates}
    rare = rarity(texts)
    found = []
    for one in made:
        asked = set(WORD.findall(one.slate.query.lower()))
        shared = [
            sum(rare.get(word, 0.0) for word in asked & set(WORD.findall(c.text.lower())))
            for c in one.slate.candidates
        ]
        order = np.argsort(-np.array(shared), kind="stable")
        candidates = tuple(one.slate.candidates[i] for i in order)
        found.append(Labelled(replace(one.slate, candidates=candidates), one.labels[order]))
    return found


def training_of(args, setting: Setting) -> Training:
    """The settings of stage1.py but for what is changed."""
    import stage1

    first = "canonical" if setting.canonical else "shuffled"
    views = Views(mix="across", count=1, widths=WIDTHS, surface=setting.surface, first=first)
    return Training(
        views=views, objective=Objective(error=setting.error), weights=setting.weights,
        descent=Descent(rate=args.rate * setting.rate, warmup=0.05),
        run=Run(windows=args.windows, epochs=50, steps=args.steps, token_budget=args.budget,
                half=not args.plain, compiled=not args.plain, workers=args.workers,
                seed=args.seed, max_candidate_tokens=LONGEST),
        widths=stage1.WIDTHS if setting.curriculum else (),
    )  # fmt: skip


def trained(args, name: str, slates, sources, lists) -> dict:
    """Train one setting from the untrained model and look at it."""
    from common import look, scorer_of

    setting = SETTINGS[name]
    loaded = load(args.base, dtype="float32")
    made = labelled_by(args, setting, loaded, *drawn(slates, sources, setting.slates, args.count))
    if setting.canonical:
        made = first_stage(made)
    began = time.perf_counter()

    def progress(record: dict) -> None:
        if record["step"] % 50 == 0:
            print(f"{name} step {record['step']} loss {record['loss']:.4f} "
                  f"{time.perf_counter() - began:.0f} s", flush=True)  # fmt: skip

    run = args.out / "runs" / f"{name}-{args.seed}"
    outcome = train(loaded, made, training_of(args, setting), run, progress=progress)
    seconds, tokens = time.perf_counter() - began, sum(one["tokens"] for one in outcome.log)
    model = outcome.model
    if setting.weights.method == "lora":
        model = model.merge_and_unload()
    looks = look(scorer_of(loaded, model, setting.surface), lists, random_rows=args.rows)
    if name in args.keep:
        keep_weights(model, args.out / "weights" / name)
    # Its state is twice the model and more; a result is never trained again.
    shutil.rmtree(run, ignore_errors=True)
    log = [one for one in outcome.log if one["step"] % 25 == 0]
    return {"setting": name, "seed": args.seed, "steps": outcome.steps, "slates": len(made),
            "seconds": seconds, "tokens": tokens, "looks": looks, "log": log}  # fmt: skip


def keep_weights(model, folder: Path) -> None:
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    halves = {k: v.detach().half().cpu().contiguous() for k, v in model.named_parameters()}
    save_file(halves, folder / "model.safetensors")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("slates", "data", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--encoder", type=Path)
    parser.add_argument("--base", default="smollm2-135m")
    parser.add_argument("--only", nargs="*", choices=list(SETTINGS), default=list(SETTINGS))
    parser.add_argument("--keep", nargs="*", choices=list(SETTINGS), default=[])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--rate", type=float, default=5e-4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=10_000, help="slates of each setting at most")
    training_options(parser)
    return parser.parse_args()


def main() -> None:
    args = options()
    folder = args.out / "recipe"
    paths = {name: folder / f"{name}-{args.seed}.json" for name in args.only}
    left = [name for name, path in paths.items() if not path.exists()]
    # Windows of 2 and 5 at first, of 10 and 20 in the end: about 7 candidates, and the form.
    each = args.steps * args.windows * (7 * 75 + 200)
    looked = 97 * (1 + args.rows) * 100 * 85
    print(f"{len(left)} settings left: {', '.join(left)}\nabout {each / 1e6:.0f} M tokens of training "
          f"and {looked / 1e6:.0f} M of looks each")  # fmt: skip
    if args.dry_run or not left:
        return
    from common import lists_of, slates_of

    args.out.mkdir(parents=True, exist_ok=True)
    slates, sources = slates_of(args.slates)
    lists = lists_of(args.data, args.lists)
    for name in left:
        write(paths[name], trained(args, name, slates, sources, lists))


if __name__ == "__main__":
    main()
