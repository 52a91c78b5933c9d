"""Make what the readers are trained on and tested with.

    python prepare.py ../../../shared/data slates

Every file is evenhand's own JSONL of slates, so `evenhand audit` opens it as well:

- nq_train, xquad_train, climate_train: to train on;
- nq_held, xquad_held: whole gold passages and whole articles kept from training; no gold
  passage of theirs stands in a training slate, not even as a wrong one;
- hotpot, musique: tests. A training slate with one of their questions is left out, and so
  is a training passage that shares 13 words in a row with one of their passages;
- climate_test: the claims that no verdict reader sees, half of every verdict (DISPUTED
  left out): BM25's 20 best sentences and the claim's own five, which alone have grades.

Counts and the share of verdicts go to stats.json.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from evenhand.data import load_slates, write_slates
from evenhand.data.collections import open_collection
from evenhand.seeds import content_hash, generator
from evenhand.types import Slate

RUN = 13  # words in a row that make two passages one text
OTHERS = 7  # wrong passages kept beside the gold one: BM25's best
NEAR = 12  # sentences of other claims kept beside a claim's own five
HELD = {"nq_oracle": 0.12, "xquad_en": 0.15}


def gold(slate: Slate) -> list[str]:
    """Ids of the relevant candidates."""
    return [key for key, gain in zip(slate.ids, slate.gains(), strict=True) if gain > 0]


def runs_of(text: str) -> set[str]:
    words = "".join(c if c.isalnum() else " " for c in text.lower()).split()
    return {" ".join(words[i : i + RUN]) for i in range(len(words) - RUN + 1)}


def question(text: str) -> str:
    return " ".join("".join(c if c.isalnum() else " " for c in text.lower()).split())


def without(slate: Slate, ids: set[str]) -> Slate:
    """The slate without some candidates."""
    kept = tuple(one for one in slate.candidates if one.id not in ids)
    grades = {key: value for key, value in (slate.grades or {}).items() if key not in ids}
    return replace(slate, candidates=kept, grades=grades)


def shortened(slate: Slate, most: int) -> Slate:
    """Gold and the first so many others, in their order."""
    right = set(gold(slate))
    others = [key for key in slate.ids if key not in right]
    return without(slate, set(others[most:]))


def is_held(name: str, key: str) -> bool:
    return bool(generator(0, key, "held out").random() < HELD[name])


def answers(data: Path, name: str, tests: list[Slate]) -> tuple[list[Slate], list[Slate], Counter]:
    """Training and held-out slates of a collection, and what was left out."""
    slates = [slate for slate in load_slates(data / name) if slate.answers]
    group: Callable[[Slate], str] = (
        (lambda slate: gold(slate)[0])
        if name == "nq_oracle"
        else (lambda slate: slate.candidates[0].title)
    )
    tested = {question(slate.query) for slate in tests}
    runs = set().union(*(runs_of(one.text) for slate in tests for one in slate.candidates))
    # One look at each text, however many slates show it.
    shared: dict[str, bool] = {}
    left: Counter = Counter()
    sides: dict[bool, list[Slate]] = {True: [], False: []}
    for slate in slates:
        if not gold(slate):
            left["gold not among the candidates"] += 1
        else:
            sides[is_held(name, group(slate))].append(slate)
    held_gold = {key for slate in sides[True] for key in gold(slate)}
    train = []
    for slate in sides[False]:
        for one in slate.candidates:
            if one.id not in shared:
                shared[one.id] = not runs.isdisjoint(runs_of(one.text))
        out = {one.id for one in slate.candidates if shared[one.id] or one.id in held_gold}
        left["passages of held-out questions"] += len(out & held_gold)
        left["passages of a test"] += sum(shared[key] for key in out)
        if question(slate.query) in tested or not out.isdisjoint(gold(slate)):
            left["questions or gold passages of a test"] += 1
            continue
        train.append(shortened(without(slate, out), OTHERS))
    return train, [shortened(slate, 9) for slate in sides[True]], left


def halves(slates: list[Slate]) -> tuple[list[Slate], list[Slate]]:
    """Claims to train on and claims to test with, half of every verdict; equal claims stay together."""
    by_verdict: dict[str, list[str]] = defaultdict(list)
    same: dict[str, list[Slate]] = defaultdict(list)
    for slate in slates:
        same[question(slate.query)].append(slate)
    for text, found in same.items():
        by_verdict[str(found[0].verdict)].append(text)
    training: set[str] = set()
    for texts in by_verdict.values():
        drawn = sorted(texts, key=lambda text: generator(0, text, "half").random())
        training.update(drawn[: len(drawn) // 2])
    sides = ([], [])
    for slate in slates:
        sides[question(slate.query) not in training].append(slate)
    return sides


def claims(data: Path) -> tuple[list[Slate], list[Slate]]:
    """Training and test claims. A training claim has its own five sentences first, then others."""
    slates = list(open_collection("climate_fever", data, depth=20))
    train, test = halves(slates)
    made = []
    for slate in train:
        own = [one for one in slate.candidates if one.id in (slate.grades or {})]
        near = [one for one in slate.candidates if one.id not in (slate.grades or {})]
        made.append(replace(slate, candidates=(*own, *near[:NEAR])))
    return made, test


def described(slates: Iterable[Slate]) -> dict:
    found = list(slates)
    return {
        "slates": len(found),
        "candidates": sum(len(slate) for slate in found) / max(1, len(found)),
        "verdicts": dict(Counter(slate.verdict for slate in found if slate.verdict)),
        "ids": content_hash([slate.id for slate in found])[:12],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--limit", type=int, help="so many slates a file, for a try")
    args = parser.parse_args()
    hotpot = list(open_collection("hotpotqa_dev500", args.data))
    musique = list(open_collection("musique_train100", args.data))
    parts: dict[str, list[Slate]] = {"hotpot": hotpot, "musique": musique}
    left = {}
    for name, short in (("nq_oracle", "nq"), ("xquad_en", "xquad")):
        train, held, gone = answers(args.data, name, hotpot + musique)
        parts |= {f"{short}_train": train, f"{short}_held": held}
        left[name] = dict(gone)
    parts["climate_train"], parts["climate_test"] = claims(args.data)
    for name, slates in parts.items():
        write_slates(args.out / f"{name}.jsonl.gz", slates[: args.limit])
    stats = {"parts": {name: described(s[: args.limit]) for name, s in parts.items()}, "left": left}
    (args.out / "stats.json").write_text(json.dumps(stats, indent=1) + "\n")
    print(json.dumps(stats, indent=1))


if __name__ == "__main__":
    main()
