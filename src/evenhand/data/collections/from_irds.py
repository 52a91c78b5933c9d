"""Texts, queries, judgments and first stage of a collection from ir_datasets."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from evenhand.data.collections.convert import normal_form
from evenhand.data.collections.declare import Irds, Lists
from evenhand.data.collections.files import write_objects, writing
from evenhand.data.collections.first_stage import DEPTH, make_run, write_run
from evenhand.data.collections.from_hub import seeded
from evenhand.data.collections.making import Making
from evenhand.data.collections.upstream import lists_file, open_irds, unreachable
from evenhand.data.jsonl import read_slates
from evenhand.data.trec import read_run
from evenhand.errors import InputError, MissingExtraError
from evenhand.seeds import content_hash, tie_ranks

Qrels = dict[str, dict[str, int]]
Ranked = Mapping[str, list[tuple[str, float]]]
_TOLD = 1_000_000


def make_from_irds(made: Making) -> None:
    """Make the files of a collection whose origin is an `Irds`."""
    origin = made.declared.origin
    assert isinstance(origin, Irds)
    dataset = open_irds(made.name, origin)
    made.source.update(dataset=origin.name)
    if origin.lists is not None:
        made.source.update(lists=origin.lists.url, md5=origin.lists.md5)
    try:
        queries, qrels = _judged(made, dataset, origin)
        ranked = _ranked(made, dataset, origin, qrels)
        if origin.lists is None:
            lacks = _make_texts(made, dataset, origin, queries, _needed(origin, ranked, qrels))
            _without(made, ranked, lacks)
    except (InputError, MissingExtraError):
        raise
    except Exception as error:
        # The library downloads as it reads, so any of its errors may be the network's.
        place = "place its download where ir_datasets looks (IR_DATASETS_HOME) and fetch again"
        raise unreachable(f"ir_datasets {origin.name}", made.name, error, place) from error
    if made.declared.first == "bm25":
        make_run(made)


def _judged(made: Making, dataset: Any, origin: Irds) -> tuple[dict[str, str], Qrels]:
    """Write and return the judged queries and their judgments."""
    made.say(f"{made.name}: queries and judgments")
    qrels: Qrels = {}
    for qrel in dataset.qrels_iter():
        qrels.setdefault(str(qrel.query_id), {})[str(qrel.doc_id)] = int(qrel.relevance)
    queries = {
        str(query.query_id): query.text
        for query in dataset.queries_iter()
        if str(query.query_id) in qrels
    }
    if origin.take is not None:
        kept = set(seeded(made.name, {key: key for key in queries}, origin.take.count))
        queries = {key: text for key, text in queries.items() if key in kept}
    qrels = {key: qrels[key] for key in queries}
    write_objects(
        made.folder / "queries.jsonl", ({"_id": key, "text": text} for key, text in queries.items())
    )
    with writing(made.folder / "qrels.tsv") as handle:
        handle.write("query-id\tcorpus-id\tscore\n")
        for query, grades in qrels.items():
            for key, grade in grades.items():
                handle.write(f"{query}\t{key}\t{grade}\n")
    return queries, qrels


def _ranked(made: Making, dataset: Any, origin: Irds, qrels: Qrels) -> Ranked | None:
    """Return the first stage that comes with the source or was placed, and write it; None = none."""
    if origin.lists is not None:
        return _from_lists(made, origin.lists, qrels)
    placed = made.root / made.name / "runs" / "BM25.trec"
    if placed.exists():
        return {query: pairs[:DEPTH] for query, pairs in read_run(placed).items() if query in qrels}
    if not origin.ranked:
        return None
    held: dict[str, dict[str, float]] = {}
    for one in dataset.scoreddocs_iter():
        if str(one.query_id) in qrels:
            held.setdefault(str(one.query_id), {})[str(one.doc_id)] = float(one.score)
    ranked = {query: _best(query, scores) for query, scores in held.items()}
    write_run(made, ranked)
    return ranked


def _best(query: str, scores: dict[str, float]) -> list[tuple[str, float]]:
    ties = dict(zip(scores, tie_ranks(query, list(scores)), strict=True))
    ordered = sorted(scores, key=lambda key: (-scores[key], ties[key]))
    return [(key, scores[key]) for key in ordered[:DEPTH]]


def _from_lists(made: Making, lists: Lists, qrels: Qrels) -> Ranked:
    """Write the run and the texts of a file of ready lists; return the run."""
    made.say(f"{made.name}: {lists.url}")
    path = lists_file(made.name, lists, made.folder.parent, made.mirror)
    ranked: dict[str, list[tuple[str, float]]] = {}
    texts: dict[str, dict[str, str]] = {}
    for slate in read_slates(path, format="rank_llm"):
        if slate.id not in qrels:
            made.left_out["a list without judgments"] += 1
            continue
        n = len(slate)
        ranked[slate.id] = [(one.id, float(n - i)) for i, one in enumerate(slate.candidates)]
        for one in slate.candidates:
            texts[one.id] = {"_id": one.id, "title": one.title, "text": one.text}
    write_objects(made.folder / "corpus.jsonl.gz", texts.values())
    write_run(made, ranked, lists.run)
    return ranked


def _needed(origin: Irds, ranked: Ranked | None, qrels: Qrels) -> set[str] | None:
    """Return the ids of the texts that are kept; None = all."""
    if origin.texts == "all" and ranked is None:
        return None
    needed = {key for pairs in (ranked or {}).values() for key, _ in pairs}
    return needed | {key for grades in qrels.values() for key in grades}


def _make_texts(
    made: Making, dataset: Any, origin: Irds, queries: dict[str, str], needed: set[str] | None
) -> set[str]:
    """Write the corpus, and for queries that are texts of it, what is no candidate of theirs.

    What was done before a fetch was cut is kept, if it was done for the same ids.

    Returns:
        The needed ids that the source lacks.
    """
    told = made.folder.parent / "texts.json"
    key = content_hash(None if needed is None else sorted(needed))
    state = json.loads(told.read_text("utf-8")) if told.exists() else {}
    if state.get("key") != key:
        made.say(f"{made.name}: texts")
        own = _Own(queries) if origin.own else None
        seen: set[str] = set()
        again: Counter[str] = Counter()
        docs = _docs(dataset, origin, needed)
        write_objects(made.folder / "corpus.jsonl.gz", _texts(made, docs, needed, own, seen, again))
        if own is not None:
            own.write(made)
        lacks = sorted((needed or set()) - seen)
        state = {"key": key, "texts": len(seen), "again": dict(again), "lacks": lacks}
        with writing(told) as handle:
            handle.write(json.dumps(state))
    made.left_out.update(state["again"])
    made.source.update(texts=state["texts"], whole=needed is None)
    return set(state["lacks"])


def _without(made: Making, ranked: Ranked | None, lacks: set[str]) -> None:
    """Take what has no text out of the first stage; one that a person placed is refused instead."""
    gone = sorted({key for pairs in (ranked or {}).values() for key, _ in pairs} & lacks)
    if not gone or ranked is None:
        return
    if not (made.folder / "runs").exists():
        raise InputError(f"the run that was placed names {gone[:5]}, which the source lacks")
    made.left_out["a retrieved text that the source lacks"] += len(gone)
    write_run(
        made,
        {query: [pair for pair in pairs if pair[0] not in lacks] for query, pairs in ranked.items()},
    )


def _docs(dataset: Any, origin: Irds, needed: set[str] | None) -> Iterator[Any]:
    if origin.store and needed is not None:
        yield from dataset.docs_store().get_many_iter(sorted(needed))
    else:
        yield from dataset.docs_iter()


def _texts(
    made: Making,
    docs: Iterable[Any],
    needed: set[str] | None,
    own: _Own | None,
    seen: set[str],
    again: Counter[str],
) -> Iterator[dict[str, str]]:
    for number, doc in enumerate(docs, start=1):
        if number % _TOLD == 0:
            made.say(f"{made.name}: {number:,} texts read")
        key = str(doc.doc_id)
        if needed is not None and key not in needed:
            continue
        if key in seen:
            again["an id that came before"] += 1
            continue
        seen.add(key)
        if own is not None:
            own.see(key, doc.text)
        yield {"_id": key, "title": getattr(doc, "title", "") or "", "text": doc.text}


class _Own:
    """The texts that are a query itself, by id or word for word."""

    def __init__(self, queries: dict[str, str]) -> None:
        self._queries = queries
        self._by_text: dict[str, list[str]] = {}
        for query, text in queries.items():
            self._by_text.setdefault(normal_form(text), []).append(query)
        self._pairs: set[tuple[str, str]] = set()

    def see(self, key: str, text: str) -> None:
        """Note which queries a text is."""
        if key in self._queries:
            self._pairs.add((key, key))
        self._pairs.update((query, key) for query in self._by_text.get(normal_form(text), ()))

    def write(self, made: Making) -> None:
        """Write the pairs as exclusions, in the order of the queries."""
        with writing(made.folder / "exclude.tsv") as handle:
            handle.write("query-id\tcorpus-id\n")
            for query, key in sorted(self._pairs):
                handle.write(f"{query}\t{key}\n")
