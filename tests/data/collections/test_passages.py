"""Passages: the published sizes and lengths, and what is easily done wrong."""

from __future__ import annotations

import importlib.resources
import json

import pytest

from evenhand.data.collections import COLLECTIONS, Irds
from evenhand.data.collections.passages import PASSAGES

DL = [f"trec_dl{year}" for year in (19, 20, 21, 22, 23)]
BEIR = [
    "nfcorpus", "fiqa", "touche2020", "arguana", "climate_fever_beir", "trec_covid", "dbpedia",
    "scifact", "signal1m", "trec_news", "robust04",
]  # fmt: skip


def test_the_sixteen_public_sets_of_the_protocol_and_the_two_families():
    assert list(PASSAGES)[:16] == DL + BEIR
    families = [name.partition("_")[0] for name in list(PASSAGES)[16:]]
    assert (families.count("bright"), families.count("miracl"), len(families)) == (12, 17, 29)
    assert "miracl_en" not in PASSAGES


def test_lengths_and_widths_of_the_protocol():
    assert {(PASSAGES[name].cap, PASSAGES[name].width) for name in DL} == {(1200, 20)}
    assert {(PASSAGES[name].cap, PASSAGES[name].width) for name in BEIR} == {(500, 20)}
    assert {PASSAGES[name].rubric for name in DL + BEIR} == {"relevance"}


def test_published_queries():
    queries = [PASSAGES[name].slates for name in DL + BEIR]
    assert queries == [43, 54, 53, 76, 82, 323, 648, 49, 1406, 1535, 50, 400, 300, 97, 57, 249]
    assert [PASSAGES[name].counts.candidates for name in DL] == [4300, 5400, 5300, 7600, 8200]
    bright = [one.slates for name, one in PASSAGES.items() if name.startswith("bright_")]
    assert sum(bright) == 1384  # the paper's number of questions


def test_the_licensed_three_say_how_to_place_their_files():
    for name in ("signal1m", "trec_news", "robust04"):
        assert PASSAGES[name].origin.agreement
        assert "corpus.jsonl, queries.jsonl, qrels/test.tsv" in PASSAGES[name].origin.how


def test_only_arguanas_queries_are_texts_of_its_corpus():
    own = [name for name, one in PASSAGES.items() if isinstance(one.origin, Irds) and one.origin.own]
    assert own == ["arguana"]


def irds_count(metadata, name, part):
    held = metadata[name].get(part) or {}
    return irds_count(metadata, held["_ref"], part) if "_ref" in held else held.get("count")


@pytest.mark.parametrize(
    "name", [key for key, one in COLLECTIONS.items() if isinstance(one.origin, Irds)]
)
def test_names_and_sizes_are_those_of_ir_datasets(name):
    library = pytest.importorskip("ir_datasets", reason="the extra data-ir is not installed")
    metadata = json.loads(
        (importlib.resources.files(library) / "etc" / "metadata.json").read_text("utf-8")
    )
    one = COLLECTIONS[name]
    dataset = one.origin.name
    base = dataset.removesuffix("/test").removesuffix("/dev")
    place = dataset if "docs" in metadata.get(dataset, {}) else base
    assert irds_count(metadata, place, "docs") == one.counts.texts
    queries = irds_count(metadata, dataset, "queries")
    # A set that takes a sample takes fewer.
    assert queries == one.slates if one.origin.take is None else queries > one.slates
    if name.startswith("miracl_"):
        assert irds_count(metadata, dataset, "qrels") == one.counts.candidates
