import math
import sys

import pytest

from evenhand.data import bm25
from evenhand.errors import MissingExtraError, UsageError
from evenhand.seeds import tie_ranks
from evenhand.types import Candidate

pytest.importorskip("bm25s", reason="bm25s is not installed")

CORPUS = {
    "a": "red fox jumps",
    "b": Candidate("b", "sleeps quietly", "blue fox"),
    "c": "green turtle",
    "d": "",
}


def test_scores_are_lucene_bm25():
    run = bm25({"q": "red fox"}, CORPUS)
    # Lengths 3 4 2 0, mean 2.25; idf = ln(1 + (N - df + .5)/(df + .5)), N = 4:
    # red (df 1) ln(1 + 3.5/1.5), fox (df 2) ln(1 + 2.5/2.5).
    # Term weight 1 / (1 + k1 (1 - b + b length/mean)), k1 1.5, b .75.
    red, fox = math.log(1 + 3.5 / 1.5), math.log(2)
    weight = {n: 1 / (1 + 1.5 * (0.25 + 0.75 * n / 2.25)) for n in (3, 4)}
    assert [key for key, _ in run["q"]] == ["a", "b"]
    assert [score for _, score in run["q"]] == pytest.approx(
        [(red + fox) * weight[3], fox * weight[4]], rel=1e-5
    )


def test_depth_and_exclusions():
    assert [key for key, _ in bm25({"q": "red fox"}, CORPUS, 1)["q"]] == ["a"]
    assert [key for key, _ in bm25({"q": "red fox"}, CORPUS, 1, {"q": {"a"}})["q"]] == ["b"]
    with pytest.raises(UsageError, match="depth"):
        bm25({"q": "fox"}, CORPUS, 0)


def test_nothing_to_find_gives_empty_lists():
    queries = {"none": "", "unknown": "zebra", "stop": "the of and", "hit": "turtle"}
    run = bm25(queries, CORPUS)
    assert {query: len(pairs) for query, pairs in run.items()} == {
        "none": 0,
        "unknown": 0,
        "stop": 0,
        "hit": 1,
    }
    assert bm25({"q": "fox"}, {}) == {"q": []}
    assert bm25({"q": "fox"}, {"a": "", "b": "  "}) == {"q": []}
    assert bm25({}, CORPUS) == {}


def test_ties_follow_the_hash_at_the_cut_too_and_the_corpus_order_changes_nothing():
    ids = [f"d{i}" for i in range(12)]
    corpus = dict.fromkeys(ids, "same words here") | {"best": "words words"}
    expected = ["best", *(ids[i] for i in sorted(range(12), key=tie_ranks("q", ids).__getitem__)[:4])]
    backwards = dict(reversed(corpus.items()))
    for texts in (corpus, backwards):
        assert [key for key, _ in bm25({"q": "words"}, texts, 5)["q"]] == expected


def test_a_missing_package_names_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "bm25s", None)
    with pytest.raises(MissingExtraError, match=r"evenhand\[data\]"):
        bm25({"q": "fox"}, CORPUS)
