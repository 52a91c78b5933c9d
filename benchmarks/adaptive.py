"""What adaptive costs, what it reaches, and whether its flip probabilities are true.

Toys with known noise: for each, the overlap (Jaccard) of the chosen sets of independent
rows of the bare scorer, of average:10 and of adaptive, the prompts and tokens of each over
those of the bare scorer, and how well the two stated probabilities foretell what happens:
whether an independent run of the same procedure, and one more single order, decide
otherwise. Both are observed, not modelled: by other rows of adaptive and of the bare
scorer.

    python benchmarks/adaptive.py [--slates 120] [--runs 3] [--seed 1] [--only NAME ...]
"""

import argparse
import json
import os
from dataclasses import dataclass, field
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from evenhand.present.design import design
from evenhand.remedy import parse
from evenhand.score.toy import Toy
from evenhand.seeds import generator, tie_ranks
from evenhand.types import Candidate, Slate


@dataclass(frozen=True)
class Setting:
    """A toy, the slates it is asked about, and the decision.

    grades: shares of the grades 0, 1, 2 and 3, or None for relevance evenly in [0, 1).
    times: slates over the usual number, where a slate has few decisions in doubt.
    """

    name: str
    toy: Toy
    n: int
    width: int
    remedy: str
    grades: tuple[float, ...] | None = None
    times: int = 1


FEW = (0.75, 0.12, 0.08, 0.05)
EVEN = {"relevance": "hash"}
COUPLED = Toy(spread=0.6, coupling=0.6, noise=0.03)
ALL = Toy(spread=0.6, noise=0.05, slot_bias=0.1, coupling=0.3, grid=61)
THREE, FOUR, FIVE = (f"adaptive:threshold=0.{tenths}" for tenths in (3, 4, 5))
LESS, LOW = "adaptive:threshold=0.47", "adaptive:threshold=0.35"
RESULTS = Path(__file__).parent / "results"
SETTINGS = (
    Setting("noise", Toy(**EVEN, noise=0.02), 100, 10, FIVE),
    Setting("noise, 20 wide", Toy(**EVEN, noise=0.004), 100, 20, FIVE, times=4),
    Setting("noise, 8 by 4", Toy(**EVEN, noise=0.01), 8, 4, FIVE, times=20),
    Setting("slot bias", Toy(**EVEN, slot_bias=0.06), 100, 10, LESS),
    Setting("few relevant", Toy(spread=0.6, noise=0.01), 100, 10, FIVE, FEW),
    Setting("coupling", Toy(**EVEN, coupling=0.3, noise=0.01), 100, 10, LOW, times=2),
    Setting("coupling, few relevant", Toy(spread=0.6, coupling=0.3, noise=0.01), 100, 10, FOUR, FEW),
    Setting("levels", Toy(**EVEN, grid=61, noise=0.018), 100, 10, FIVE),
    Setting("top 10", Toy(**EVEN, noise=0.015), 100, 10, "adaptive:top=10", times=2),
    Setting("best of 8", Toy(**EVEN, noise=0.015), 8, 4, "adaptive:best", times=12),
    Setting("much noise", Toy(**EVEN, noise=0.1), 100, 20, FIVE),
    Setting("much noise, few relevant", Toy(spread=0.6, noise=0.06), 100, 10, FIVE, FEW),
    Setting("much coupling", COUPLED, 100, 10, THREE, FEW),
    Setting("much coupling, share 0", COUPLED, 100, 10, THREE + ",share=0", FEW),
    Setting("one window", Toy(**EVEN, noise=0.05), 10, 10, FIVE, None, 5),
    Setting("coarse levels", Toy(**EVEN, grid=11, noise=0.05), 100, 10, FIVE),
    Setting("all at once", ALL, 100, 10, FOUR, FEW),
    Setting("place alone", Toy(relevance="slot"), 20, 10, FIVE, None, 2),
)  # fmt: skip


# How the cost grows with the noise: sd of one score, where relevance lies evenly in [0, 1).
NOISES = (0.005, 0.01, 0.02, 0.03, 0.05, 0.1)
BY_NOISE = tuple(Setting(f"noise {noise}", Toy(**EVEN, noise=noise), 100, 10, FIVE) for noise in NOISES)


def slates_of(setting, count, seed):
    """Other slates for every seed from 1."""
    slates = []
    first = (seed - 1) * 1_000_000
    for i in range(first, first + count):
        rng = generator(0, f"s{i}", "benchmark grades")
        grades = None
        if setting.grades is not None:
            drawn = rng.choice(4, setting.n, p=setting.grades)
            grades = {f"c{j}": int(grade) for j, grade in enumerate(drawn)}
        candidates = tuple(Candidate(f"c{j}", f"text {j}") for j in range(setting.n))
        slates.append(Slate(f"s{i}", f"query {i}", candidates, grades))
    return slates


def rows_of(setting, slates, rows, seed):
    """The random rows of the slates, slate by slate."""
    drawn = design(rows=rows, width=setting.width, seed=seed)
    return [[one for one in drawn.draw(slate).shown(slate) if one.kind == "random"] for slate in slates]


@dataclass
class Runs:
    """Chosen sets (slates, rows, n), prompts and tokens a row, stated flips by name."""

    chosen: np.ndarray
    prompts: float
    tokens: float
    stated: dict = field(default_factory=dict)
    shows: float = 0.0


def run(scorer, rule, shown):
    """Decide every row; adaptive also says how sure it is."""
    flat = [one for rows in shown for one in rows]
    explained = scorer.explain(flat) if hasattr(scorer, "explain") else []
    answers = [scored for scored, _ in explained] or scorer.score(flat)
    doubts = [doubt for _, doubt in explained]
    chosen = np.array(
        [
            rule.chosen(answer.scores, tie_ranks(one.slate.id, one.slate.ids))
            for one, answer in zip(flat, answers, strict=True)
        ]
    )
    shape = (len(shown), len(shown[0]), -1)
    return Runs(
        chosen.reshape(shape),
        float(np.mean([answer.prompts for answer in answers])),
        float(np.mean([answer.tokens for answer in answers])),
        {
            name: np.array([getattr(doubt, name) for doubt in doubts]).reshape(shape)
            for name in ("flip_again", "flip_single")
            if doubts
        },
        float(np.mean([doubt.shows.mean() for doubt in doubts])) if doubts else 0.0,
    )


def overlaps(chosen):
    """(slates,) mean Jaccard overlap of the sets of two rows."""
    found = []
    for a in range(chosen.shape[1]):
        for b in range(a):
            both = (chosen[:, a] & chosen[:, b]).sum(axis=1)
            any_ = (chosen[:, a] | chosen[:, b]).sum(axis=1)
            found.append(np.where(any_ == 0, 1.0, both / np.maximum(any_, 1)))
    return np.mean(found, axis=0)


def calibration(stated, own, others):
    """Brier skill over all, and the calibration error over stated p in [.05, .95].

    stated, own, others: (slates, runs, n). Run r is held against every other run, never
    against itself: each stated probability has runs - 1 trials.
    """
    p = stated.ravel()
    shifts = range(1, stated.shape[1])
    trials = np.array([(np.roll(others, by, axis=1) != own).ravel() for by in shifts])
    came, base = trials.mean(axis=0), trials.mean()
    skill = 1 - float(((p - trials) ** 2).mean() / ((base - trials) ** 2).mean())
    inside = (p >= 0.05) & (p <= 0.95)
    bins = np.minimum(((p - 0.05) / 0.1).astype(int), 8)
    error = 0.0
    for each in range(9):
        chosen = inside & (bins == each)
        if chosen.any():
            error += abs(p[chosen].mean() - came[chosen].mean()) * chosen.sum() / inside.sum()
    return {
        "brier_skill": round(skill, 4),
        "ece": round(float(error), 4),
        "n": int(p.size),
        "n_inside": int(inside.sum()),
        "trials": len(trials),
        "base_rate": round(float(base), 4),
    }


def measure(setting, slates, runs, seed):
    shown = rows_of(setting, slates_of(setting, slates, seed), runs, seed)
    remedy = parse(setting.remedy)
    bare = run(setting.toy, remedy.rule, shown)
    mean = run(parse("average:10")(setting.toy), remedy.rule, shown)
    ours = run(remedy(setting.toy), remedy.rule, shown)
    by_slate = overlaps(ours.chosen) - overlaps(mean.chosen)
    difference = float(by_slate.mean())
    error = float(by_slate.std(ddof=1) / np.sqrt(len(by_slate)))
    ratio = ours.prompts / bare.prompts
    return {
        "name": setting.name,
        "toy": setting.toy.name,
        "n": setting.n,
        "width": setting.width,
        "remedy": setting.remedy,
        "overlap_bare": round(float(overlaps(bare.chosen).mean()), 4),
        "overlap_average_10": round(float(overlaps(mean.chosen).mean()), 4),
        "overlap_adaptive": round(float(overlaps(ours.chosen).mean()), 4),
        "slates": len(by_slate),
        "difference": round(difference, 4),
        "difference_se": round(error, 4),
        # Not below by more than two standard errors, at no more than 3 times the prompts.
        "reached": bool(difference > -2 * error and ratio <= 3),
        "prompts_ratio": round(ratio, 3),
        "tokens_ratio": round(ours.tokens / bare.tokens, 3),
        "shows_per_candidate": round(ours.shows, 2),
        "again": calibration(ours.stated["flip_again"], ours.chosen, ours.chosen),
        "single": calibration(ours.stated["flip_single"], ours.chosen, bare.chosen),
    }


def line(found):
    told = "".join(
        f" | {name}: skill {of['brier_skill']:+.3f} ece {of['ece']:.3f} n {of['n_inside']}"
        for name, of in (("again", found["again"]), ("single", found["single"]))
    )
    return (
        f"{found['name']:24s} overlap {found['overlap_bare']:.4f} {found['overlap_average_10']:.4f} "
        f"{found['overlap_adaptive']:.4f} ({found['difference']:+.4f} se {found['difference_se']:.4f}) "
        f"cost {found['prompts_ratio']:.2f} {'reached' if found['reached'] else '-'}{told}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slates", type=int, default=120)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--out", type=Path, help="where to; by default only a whole run is kept")
    given = parser.parse_args()
    report = {"slates": given.slates, "runs": given.runs, "seed": given.seed}
    for key, settings in (("results", SETTINGS), ("by_noise", BY_NOISE)):
        report[key] = []
        for setting in settings:
            if given.only and setting.name not in given.only:
                continue
            report[key].append(measure(setting, given.slates * setting.times, given.runs, given.seed))
            print(line(report[key][-1]), flush=True)
    out = given.out or (None if given.only else RESULTS / "adaptive.json")
    if out is not None:
        out.parent.mkdir(exist_ok=True)
        out.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
