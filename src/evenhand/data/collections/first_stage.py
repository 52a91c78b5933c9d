"""The first stage of a collection whose texts are all here: BM25, written as a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from evenhand.data.collections.files import writing
from evenhand.data.collections.making import Making
from evenhand.data.retrieve import bm25
from evenhand.data.texts import read_corpus, read_pairs, read_queries

DEPTH = 100


def make_run(made: Making, name: str = "BM25") -> None:
    """Write runs/NAME.trec of the staging folder, unless a first stage is there or placed already.

    Raises:
        MissingExtraError: bm25s is not installed.
    """
    path = made.folder / "runs" / f"{name}.trec"
    placed = made.root / made.name / "runs" / path.name
    if path.exists() or placed.exists():
        return
    made.say(f"{made.name}: BM25 over its texts")
    exclude_file = made.folder / "exclude.tsv"
    exclude = read_pairs(exclude_file) if exclude_file.exists() else {}
    queries = read_queries(made.folder / "queries.jsonl")
    write_run(made, bm25(queries, read_corpus(made.folder / "corpus.jsonl.gz"), DEPTH, exclude), name)


def write_run(
    made: Making, rankings: Mapping[str, Iterable[tuple[str, float]]], name: str = "BM25"
) -> None:
    """Write a run in TREC's six columns, parted by tabs, as ids may hold spaces."""
    with writing(made.folder / "runs" / f"{name}.trec") as handle:
        for query, pairs in rankings.items():
            for rank, (key, score) in enumerate(pairs, start=1):
                handle.write(f"{query}\tQ0\t{key}\t{rank}\t{score!r}\t{name}\n")
