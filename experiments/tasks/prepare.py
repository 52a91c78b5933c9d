"""Make the slates of both tasks: questions with paragraphs, requests with responses.

    python prepare.py ../shared/data slates/tasks

Writes qa/ and responses/, each with texts.jsonl.gz, stage1.jsonl.gz (half of the training
prompts: the task is taught on them), arms.jsonl.gz (the other half: every arm is trained
on them) and one file a test collection, in the form of ../grader/prepare.py.

Candidates of training slates stand in random canonical slots. Test slates keep ids and
order of `load_slates`, so that scores of them can be laid beside gold answers. Training
prompts that are like a test prompt, or that show a text of a test slate, are left out
and counted.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from evenhand.data import load_slates
from evenhand.data.retrieve import bm25
from evenhand.seeds import generator, tie_ranks
from evenhand.types import Candidate, Slate

TESTS = {"qa": ("hotpotqa_dev500", "musique_train100"), "responses": ("rm_bench",)}
# A word has a token at least: no fewer than the tokens that are shown.
WORDS = {"qa": 160, "responses": 320}
GRAM = 5
MOST_BYTES = 20_000_000


def plain(text: str) -> str:
    """Lower-case words and numbers alone: what counts as the same text."""
    return " ".join(re.findall(r"[^\W_]+", text.lower()))


def grams(text: str) -> set[tuple[str, ...]]:
    words = plain(text).split()
    return {tuple(words[i : i + GRAM]) for i in range(len(words) - GRAM + 1)}


def cut(slate: Slate, words: int) -> Slate:
    """The slate with one text a candidate, title in front, and no more of it than is shown."""
    shown = [Candidate(c.id, " ".join(c.full_text.split()[:words])) for c in slate.candidates]
    return replace(slate, candidates=tuple(shown))


def distinct(slate: Slate) -> Slate:
    """The slate without candidates whose text stands in it already; the highest grade stays."""
    grades, first = slate.grades or {}, {}
    for one in slate.candidates:
        held = first.get(plain(one.text))
        if held is None or grades.get(one.id, 0) > grades.get(held.id, 0):
            first[plain(one.text)] = one
    kept = {one.id for one in first.values()}
    return replace(slate, candidates=tuple(c for c in slate.candidates if c.id in kept))


def drawn(name: str, slate: Slate, size: int, gold: int) -> Slate | None:
    """At most `size` candidates, at most `gold` of them right, at random places; grades 0 and 1.

    Wrong ones are taken in their order in the slate. None where either kind is lacking.
    """
    rng = generator(0, f"{name} {slate.id}", "candidates")
    right = [c for c in slate.candidates if (slate.grades or {}).get(c.id, 0) > 0][:gold]
    wrong = [c for c in slate.candidates if (slate.grades or {}).get(c.id, 0) <= 0]
    chosen = [*right, *wrong[: size - len(right)]]
    if not right or len(chosen) == len(right):
        return None
    grades = {c.id: int(c in right) for c in chosen}
    placed = tuple(chosen[i] for i in rng.permutation(len(chosen)))
    return Slate(f"{name} {slate.id}", slate.query, placed, grades)


def halves(slates: Sequence[Slate]) -> tuple[list[Slate], list[Slate]]:
    """Two halves that share no prompt."""
    queries = sorted({plain(slate.query) for slate in slates})
    half = dict(zip(queries, tie_ranks("", queries, salt="half") % 2, strict=True))
    first = [slate for slate in slates if not half[plain(slate.query)]]
    return first, [slate for slate in slates if half[plain(slate.query)]]


def with_others(slates: Sequence[Slate], size: int) -> list[Slate]:
    """Slates filled up to `size` with what BM25 finds in the texts of all of them."""
    texts = {c.id: c for slate in slates for c in slate.candidates}
    own = {slate.id: {c.id for c in slate.candidates} for slate in slates}
    lists = bm25({s.id: s.query for s in slates}, texts, depth=size, exclude=own)
    return [
        replace(s, candidates=(*s.candidates, *(texts[key] for key, _ in lists[s.id]))) for s in slates
    ]


def qa(data: Path) -> tuple[list[Slate], list[Slate]]:
    """Stage 1 in tens, the arms in twenties: two windows, whose companions can change."""
    stage1, arms = [], []
    for name in ("nq_oracle", "xquad_en"):
        slates = [cut(slate, WORDS["qa"]) for slate in load_slates(data / name)]
        if name == "xquad_en":
            slates = with_others(slates, 20)
        first, second = halves([distinct(slate) for slate in slates])
        stage1 += [drawn(name, slate, 10, 1) for slate in first]
        arms += [drawn(name, slate, 20, 1) for slate in second]
    return [s for s in stage1 if s], [s for s in arms if s]


def responses(data: Path, most: tuple[int, int]) -> tuple[list[Slate], list[Slate]]:
    """Pairs, and answers in fours (stage 1) or eights of one question (arms)."""
    stage1, arms = [], []
    for name in ("llmbar", "hhh_alignment", "medquad"):
        slates = [distinct(cut(s, WORDS["responses"])) for s in load_slates(data / name)]
        first, second = halves(slates)
        if name == "medquad":
            first, second = sampled(name, first, most[0]), sampled(name, second, most[1])
        stage1 += [drawn(name, slate, 4, 1) for slate in first]
        arms += [drawn(name, slate, 8, 2) for slate in second]
    return [s for s in stage1 if s], [s for s in arms if s]


def sampled(name: str, slates: Sequence[Slate], most: int) -> list[Slate]:
    order = generator(0, name, "sample").permutation(len(slates))[:most]
    return [slates[i] for i in sorted(order)]


def apart(slates: Iterable[Slate], tests: Sequence[Slate], what: str) -> list[Slate]:
    """Training slates that are like no test slate; what was left out is counted."""
    queries = {plain(slate.query) for slate in tests}
    wanted = [found for slate in tests if (found := grams(slate.query))]
    texts = {plain(c.text) for slate in tests for c in slate.candidates}
    kept, same, like, shared = [], 0, 0, 0
    for slate in slates:
        own = grams(slate.query)
        if plain(slate.query) in queries:
            same += 1
        elif any(2 * len(own & other) >= len(other) for other in wanted):
            like += 1
        elif any(plain(c.text) in texts for c in slate.candidates):
            shared += 1
        else:
            kept.append(slate)
    print(f"{what}: {len(kept)} slates; left out {same} with a test prompt, {like} with half of the "
          f"{GRAM}-word runs of one, {shared} with a test text")  # fmt: skip
    return kept


def write(folder: Path, files: dict[str, list[Slate]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    texts: dict[str, str] = {}
    for slate in (slate for slates in files.values() for slate in slates):
        for one in slate.candidates:
            if texts.setdefault(one.id, one.text) != one.text:
                raise SystemExit(f"two texts have the id {one.id!r}")
    for name, slates in files.items():
        with gzip.open(folder / f"{name}.jsonl.gz", "wt") as file:
            for slate in slates:
                source, space, _ = slate.id.partition(" ")
                row = {"id": slate.id, "query": slate.query, "source": source if space else name,
                       "candidates": list(slate.ids), "grades": dict(slate.grades or {})}  # fmt: skip
                file.write(json.dumps(row) + "\n")
    with gzip.open(folder / "texts.jsonl.gz", "wt") as file:
        for key in sorted(texts):
            file.write(json.dumps({"id": key, "text": texts[key]}) + "\n")
    for name, slates in files.items():
        sizes = sorted({len(slate) for slate in slates})
        twice = sum(len(distinct(slate)) < len(slate) for slate in slates)
        print(f"  {name}: {len(slates)} slates of {sizes[0]} to {sizes[-1]} candidates, {twice} of "
              "them show a text twice")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--medquad", nargs=2, type=int, default=[1200, 400], help="questions a half")
    parser.add_argument("--rm-bench", type=int, default=200, help="prompts, drawn by seed")
    args = parser.parse_args()
    made = {"qa": qa(args.data), "responses": responses(args.data, tuple(args.medquad))}
    for task, (stage1, arms) in made.items():
        tests = {name: [cut(s, WORDS[task]) for s in load_slates(args.data / name)]
                 for name in TESTS[task]}  # fmt: skip
        every = [slate for slates in tests.values() for slate in slates]
        files = {"stage1": apart(stage1, every, f"{task} stage 1"),
                 "arms": apart(arms, every, f"{task} arms")}  # fmt: skip
        if task == "responses":
            tests["rm_bench"] = sampled("rm_bench", tests["rm_bench"], args.rm_bench)
        write(args.out / task, files | tests)
    size = sum(path.stat().st_size for path in args.out.rglob("*.jsonl.gz"))
    print(f"{size / 1e6:.1f} MB")
    if size > MOST_BYTES:
        raise SystemExit(f"more than {MOST_BYTES / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
