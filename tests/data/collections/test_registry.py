"""Declared collections: names, places, and what they hold where the files are here."""

from __future__ import annotations

import json
import os
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from evenhand.data.collections import COLLECTIONS, collection, collection_folder, open_collection
from evenhand.errors import InputError, UsageError

HOME = Path(os.environ.get("EVENHAND_SHARED_DATA") or Path(__file__).parents[4] / "shared" / "data")
HERE = (
    "trec_dl19", "trec_dl20", "noveleval", "cran", "hotpotqa_dev500", "musique_train100", "rm_bench",
    "llmbar",
)  # fmt: skip
needs_files = pytest.mark.skipif(
    not (HOME / "trec_dl19").is_dir(),
    reason="the shared collections are not here; name their folder in EVENHAND_SHARED_DATA",
)


def test_unknown_names_and_places_are_refused(tmp_path, monkeypatch):
    monkeypatch.delenv("EVENHAND_DATA", raising=False)
    with pytest.raises(UsageError, match=r"unknown collection 'dl19'; known are .*trec_dl19"):
        collection("dl19")
    with pytest.raises(InputError, match=r"needs its files .*variable EVENHAND_DATA"):
        collection_folder("cran")
    with pytest.raises(InputError, match=r"cran: no folder of collection 'cran'; get the files from"):
        collection_folder("cran", tmp_path)
    with pytest.raises(InputError, match=r"evenhand data fetch scifact$"):
        collection_folder("scifact", tmp_path)
    with pytest.raises(InputError, match=r"sign NIST's agreement .* in the folder robust04/"):
        collection_folder("robust04", tmp_path)
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path))
    (tmp_path / "cran").mkdir()
    assert collection_folder("cran") == tmp_path / "cran"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limit": 0}, "limit must be at least 1, got 0"),
        ({"cap": 0}, "cap must be at least 1, or None for no cut; got 0"),
        ({"cap": "long"}, "cap must be at least 1, or None for no cut; got 'long'"),
    ],
)
def test_limits_are_refused_before_anything_is_read(tmp_path, options, message):
    with pytest.raises(UsageError, match=message):
        open_collection("cran", tmp_path, **options)


@pytest.fixture
def robust04(tmp_path):
    """A licensed collection as a person places it: BEIR's layout, ids with odd signs."""
    folder = tmp_path / "robust04"
    (folder / "qrels").mkdir(parents=True)
    texts = {"FT_1|a": "river " * 200, "FT#2": "river bank", "LA_3": "no match"}
    lines = [json.dumps({"_id": key, "title": "", "text": text}) for key, text in texts.items()]
    (folder / "corpus.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "queries.jsonl").write_text('{"_id": "301", "text": "river"}\n')
    qrels = "query-id\tcorpus-id\tscore\n301\tFT_1|a\t2\n301\tLA_3\t0\n"
    (folder / "qrels" / "test.tsv").write_text(qrels)
    return tmp_path


def test_a_placed_collection_gets_bm25_and_its_length(robust04):
    pytest.importorskip("bm25s", reason="the extra data is not installed")
    slates = open_collection("robust04", robust04)
    (slate,) = slates
    assert set(slate.ids) == {"FT_1|a", "FT#2"}
    texts = {one.id: one.text for one in slate.candidates}
    # "river " is six characters: 500 hold 83 of them (498) and "ri".
    assert texts["FT_1|a"] == "river " * 83 + "ri"
    assert slates.report.to_dict() == {"cut_text": 1}
    assert slate.grades == {"FT_1|a": 2, "LA_3": 0}
    (whole,) = open_collection("robust04", robust04, cap=None)
    assert max(len(one.text) for one in whole.candidates) == 1200
    (short,) = open_collection("robust04", robust04, cap=5)
    assert {one.text for one in short.candidates} == {"river"}


def test_a_placed_first_stage_is_read(robust04):
    runs = robust04 / "robust04" / "runs"
    runs.mkdir()
    (runs / "BM25.trec").write_text("301 Q0 LA_3 1 9.0 x\n301 Q0 FT#2 2 8.0 x\n")
    (slate,) = open_collection("robust04", robust04)
    assert slate.ids == ("LA_3", "FT#2")
    (judged,) = open_collection("robust04", robust04, form="judged")
    assert set(judged.ids) == {"FT_1|a", "LA_3"}


def test_a_run_that_a_collection_cannot_do_without_is_asked_for(tmp_path):
    folder = tmp_path / "trec_dl19"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text('{"_id": "1", "text": "x"}\n')
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "x"}\n')
    with pytest.raises(UsageError, match="unknown run 'BM25'"):
        open_collection("trec_dl19", tmp_path)


@needs_files
@pytest.mark.parametrize("name", HERE)
def test_a_complete_copy_holds_what_is_declared(name):
    slates = open_collection(name, HOME)
    assert sum(1 for _ in slates) == COLLECTIONS[name].slates
    first = next(iter(open_collection(name, HOME, limit=1)))
    assert first.grades
    assert len(first) >= 2
    if COLLECTIONS[name].task == "qa":
        assert first.answers


@needs_files
@pytest.mark.slow
def test_climate_fever_has_verdicts_and_its_own_five():
    slates = list(open_collection("climate_fever", HOME))
    assert len(slates) == COLLECTIONS["climate_fever"].slates
    verdicts = Counter(slate.verdict for slate in slates)
    assert verdicts == {"SUPPORTS": 654, "REFUTES": 253, "NOT_ENOUGH_INFO": 474}
    for slate in islice(slates, 50):
        assert set(slate.grades) <= set(slate.ids)


@needs_files
def test_limit_and_options_reach_the_reader():
    slates = list(open_collection("trec_dl19", HOME, limit=2, run="SPLADE", depth=7))
    assert [len(slate) for slate in slates] == [7, 7]
