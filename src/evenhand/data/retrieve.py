"""First stages: BM25 over a corpus in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import ModuleType

import numpy as np

from evenhand.data.trec import Run
from evenhand.errors import MissingExtraError, UsageError
from evenhand.seeds import tie_ranks
from evenhand.types import Candidate, FloatArray


def bm25(
    queries: Mapping[str, str],
    corpus: Mapping[str, Candidate | str],
    depth: int = 100,
    exclude: Mapping[str, Collection[str]] | None = None,
) -> Run:
    """Rank the texts of a corpus for each query by BM25 (Lucene's form, k1 1.5, b .75).

    Words are runs of two or more letters or digits in lower case, without the
    commonest English ones and without stemming; a title counts as text. Only
    texts that share a word with the query are ranked, so a list may be short or
    empty. Scores are computed in float32; ties are broken by the tie hash of
    the ids, so the order of the corpus changes nothing.

    Args:
        queries: query texts by id.
        corpus: candidates (or texts) by id.
        depth: most candidates a query.
        exclude: by query id, candidate ids that are left out.

    Returns:
        Query id to (candidate id, score) pairs, best first; a query without any
        known word has an empty list.

    Raises:
        UsageError: depth below 1.
        MissingExtraError: bm25s is not installed.
    """
    if not isinstance(depth, int) or depth < 1:
        raise UsageError(f"depth must be at least 1, got {depth!r}")
    try:
        import bm25s
    except ImportError:
        raise MissingExtraError("bm25s", "data") from None
    ids = list(corpus)
    words = _words(bm25s, [_full_text(corpus[key]) for key in ids])
    if not any(words):
        return Run({query: [] for query in queries})
    index = bm25s.BM25(k1=1.5, b=0.75, method="lucene", backend="numpy")
    index.index(words, show_progress=False)
    asked = dict(zip(queries, _words(bm25s, list(queries.values())), strict=True))
    rankings = {}
    for query, tokens in asked.items():
        known = [token for token in tokens if token in index.vocab_dict]
        scores = np.asarray(index.get_scores(known) if known else np.zeros(len(ids)), dtype=np.float64)
        out = (exclude or {}).get(query, ())
        rankings[query] = _best(query, ids, scores, depth, out)
    return Run(rankings)


def _full_text(value: Candidate | str) -> str:
    return value if isinstance(value, str) else value.full_text


def _words(bm25s: ModuleType, texts: list[str]) -> list[list[str]]:
    if not texts:
        return []
    found: list[list[str]] = bm25s.tokenize(
        texts, stopwords="en", return_ids=False, show_progress=False
    )
    return found


def _best(
    query: str, ids: list[str], scores: FloatArray, depth: int, out: Collection[str]
) -> list[tuple[str, float]]:
    """Return the highest positive scores; all that tie with the last place compete for it."""
    matched = np.flatnonzero(scores > 0)
    matched = np.array([i for i in matched if ids[i] not in out], dtype=np.int64) if out else matched
    if len(matched) > depth:
        last = np.partition(scores[matched], -depth)[-depth]
        matched = matched[scores[matched] >= last]
    ties = tie_ranks(query, [ids[i] for i in matched])
    order = matched[np.lexsort((ties, -scores[matched]))][:depth]
    return [(ids[i], float(scores[i])) for i in order]
