"""Make the slates of stage 1: real questions and pseudo-queries, with their candidates.

    python prepare.py ../shared/data slates/clean
    python prepare.py ../shared/data slates/transductive --passages trec_dl19 trec_dl20

Writes slates.jsonl.gz, and stage2.jsonl.gz of other pseudo-queries with longer lists:
one line a slate, {id, query, source, candidates: [text id],
grades: {text id: 0 or 1} or null}, and texts.jsonl.gz: {id, text}. "clean" reads the
training collections alone. Passages named are read as unlabelled text (never their
queries, runs or grades): a grader trained on them is for research.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
from pathlib import Path

import numpy as np

from evenhand.data import load_slates
from evenhand.data.retrieve import bm25
from evenhand.seeds import generator
from evenhand.train.pseudo import pseudo_query, rarity

TRAINING = ("medquad", "nq_oracle", "selqa", "xquad_en")
WORDS = 80  # of a text: more than the 64 tokens a candidate is cut at


def opened(path: Path):
    return gzip.open(path, "rt") if path.suffix == ".gz" else path.open()


def corpus(folder: Path) -> dict[str, str]:
    path = next(p for p in (folder / "corpus.jsonl.gz", folder / "corpus.jsonl") if p.exists())
    with opened(path) as lines:
        rows = [json.loads(line) for line in lines]
    joined = {row["_id"]: f"{row.get('title') or ''} {row['text']}".strip() for row in rows}
    return {key: " ".join(text.split()[:WORDS]) for key, text in joined.items()}


def real(data: Path, name: str, most: int) -> list[dict]:
    """Questions of a collection, each with at most `most` candidates, gold among them."""
    found = []
    for slate in itertools.islice(load_slates(data / name), 20_000):
        grades = dict(slate.grades or {})
        ids = list(slate.ids)
        rng = generator(0, slate.id, "candidates")
        if len(ids) > most:
            gold = [i for i in ids if grades.get(i, 0) > 0]
            rest = [i for i in ids if grades.get(i, 0) <= 0]
            rest = [rest[i] for i in rng.permutation(len(rest))]
            ids = (gold + rest)[:most]
        # No place says anything: some sources keep gold first.
        ids = [ids[i] for i in rng.permutation(len(ids))]
        if len(ids) < 3:
            continue
        found.append({
            "id": f"{name} {slate.id}", "query": slate.query, "source": name,
            "candidates": ids, "grades": {i: int(grades.get(i, 0) > 0) for i in ids},
        })  # fmt: skip
    return found


def pseudo(
    name: str, texts: dict[str, str], count: int, size: int, *, skip: int = 0,
    most: int | None = None, hard: bool = True,
) -> list[dict]:  # fmt: skip
    """Pseudo-queries on drawn texts; candidates are the text and others that BM25 finds.

    `skip` leaves out the texts that an earlier call drew, `most` keeps to so many texts.
    Without `hard` the list is BM25's own top, as a reranker meets it.
    """
    keys = sorted(texts)
    drawn = generator(0, name, "texts").permutation(len(keys))
    rare = rarity(texts)
    queries = {}
    for place in drawn[skip:most]:
        if len(queries) >= count:
            break
        query = pseudo_query(keys[place], texts[keys[place]], rare)
        if query is not None:
            queries[keys[place]] = query
    lists = bm25(queries, texts, depth=100)
    found = []
    for key, query in queries.items():
        rng = generator(0, key, "pseudo candidates")
        others = [other for other, _ in lists[key] if other != key]
        near, far = others[:20], others[20:]
        half = [near[i] for i in rng.permutation(len(near))[: size // 2]]
        rest = [far[i] for i in rng.permutation(len(far))[: size - 1 - len(half)]]
        chosen = [key, *half, *rest] if hard else [other for other, _ in lists[key]][:size]
        if len(chosen) < min(5 if hard else 30, size):
            continue
        # BM25's order is kept where the list is a first stage's.
        ids = [chosen[i] for i in rng.permutation(len(chosen))] if hard else chosen
        found.append({"id": f"pseudo {name} {key}", "query": query, "source": f"pseudo {name}",
                      "candidates": ids, "grades": None})  # fmt: skip
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--passages", nargs="*", default=[])
    parser.add_argument("--pseudo", type=int, default=13_000, help="pseudo-queries a collection")
    parser.add_argument("--second", type=int, default=2_000, help="slates of stage 2 a collection")
    parser.add_argument("--real", type=int, default=6_000, help="real questions a collection at most")
    args = parser.parse_args()
    texts: dict[str, str] = {}
    slates: list[dict] = []
    second: list[dict] = []
    for name in TRAINING:
        own = corpus(args.data / name)
        texts |= own
        slates += real(args.data, name, 10)[: args.real]
        if not args.passages and name != "xquad_en":
            # A small collection keeps a quarter of its texts for stage 2.
            kept = min(args.second, len(own) // 4)
            drawn = min(args.pseudo // 2, len(own) - kept)
            slates += pseudo(name, own, drawn, 20, most=drawn)
            second += pseudo(name, own, kept, 40, skip=drawn, hard=False)
    for name in args.passages:
        own = corpus(args.data / name)
        texts |= own
        slates += pseudo(name, own, args.pseudo, 10)
        second += pseudo(name, own, args.second, 40, skip=args.pseudo + 500, hard=False)
    used = {key for slate in slates + second for key in slate["candidates"]}
    args.out.mkdir(parents=True, exist_ok=True)
    with gzip.open(args.out / "slates.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(slate) + "\n" for slate in slates)
    with gzip.open(args.out / "stage2.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(slate) + "\n" for slate in second)
    with gzip.open(args.out / "texts.jsonl.gz", "wt") as file:
        file.writelines(json.dumps({"id": key, "text": texts[key]}) + "\n" for key in sorted(used))
    sources, counts = np.unique([slate["source"] for slate in slates], return_counts=True)
    counted = {str(s): int(c) for s, c in zip(sources, counts, strict=True)}
    print(counted, len(second), "slates of stage 2,", len(used), "texts")


if __name__ == "__main__":
    main()
