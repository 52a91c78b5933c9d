"""Fetching from ir_datasets, with its own readers on files as its sources write them."""

from __future__ import annotations

import dataclasses
import gzip
import json

import pytest

from evenhand.data import InputWarning
from evenhand.data.collections import COLLECTIONS, Take, fetch, open_collection, verify
from evenhand.data.collections.verify import compare
from evenhand.errors import InputError

pytest.importorskip("ir_datasets", reason="the extra data-ir is not installed")
pytest.importorskip("bm25s", reason="the extra data is not installed")


def texts(folder):
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as handle:
        return {record["_id"]: record for record in map(json.loads, handle)}


def test_scifact_from_a_beir_archive(tmp_path, irds, beir_zip):
    corpus = [
        {"_id": "10_a", "title": "Salt", "text": "The sea is salt."},
        {"_id": "11#b", "title": "", "text": "Rain is fresh water."},
        {"_id": "12|c", "title": "Sand", "text": "Deserts are dry."},
    ]
    queries = [{"_id": "1", "text": "Is the sea salt?"}, {"_id": "2", "text": "not judged, dry"}]
    irds["beir/scifact/test"] = beir_zip(
        "beir/scifact/test", corpus, queries, [("1", "10_a", 1), ("1", "12|c", 0)]
    )
    folder = fetch("scifact", tmp_path)
    (slate,) = open_collection("scifact", tmp_path)
    assert slate.id == "1"
    # Only 10_a shares words with the query; 12|c is judged and stays in the grades.
    assert slate.ids == ("10_a",)
    assert slate.candidates[0].title == "Salt"
    assert slate.grades == {"10_a": 1, "12|c": 0}
    assert set(texts(folder)) == {"10_a", "11#b", "12|c"}
    assert (folder / "runs/BM25.trec").read_text().startswith("1\tQ0\t10_a\t1\t")


def test_arguana_drops_the_query_by_id_and_by_text(tmp_path, irds, beir_zip):
    argument = "Zoos keep animals in small cages."
    corpus = [
        {"_id": "zoo-con01a", "title": "zoo", "text": argument},
        {"_id": "zoo-copy", "title": "zoo", "text": "Zoos keep  animals in small CAGES."},
        {"_id": "zoo-con01b", "title": "zoo", "text": "Zoos keep animals safe in cages."},
        {"_id": "other", "title": "", "text": "Schools keep animals."},
    ]
    queries = [{"_id": "zoo-con01a", "text": argument}]
    irds["beir/arguana"] = beir_zip("beir/arguana", corpus, queries, [("zoo-con01a", "zoo-con01b", 1)])
    folder = fetch("arguana", tmp_path)
    (slate,) = open_collection("arguana", tmp_path)
    assert set(slate.ids) == {"zoo-con01b", "other"}
    assert slate.grades == {"zoo-con01b": 1}
    lines = (folder / "exclude.tsv").read_text().splitlines()
    assert lines == ["query-id\tcorpus-id", "zoo-con01a\tzoo-con01a", "zoo-con01a\tzoo-copy"]


def test_touche_is_cut_to_its_length_and_unjudged_texts_count_as_0(tmp_path, irds, beir_zip):
    corpus = [
        {"_id": "a", "title": "School", "text": "School uniforms " * 100},
        {"_id": "b", "title": "School", "text": "School uniforms cost money."},
    ]
    queries = [{"_id": "1", "text": "school uniforms"}]
    irds["beir/webis-touche2020/v2"] = beir_zip(
        "beir/webis-touche2020/v2", corpus, queries, [("1", "a", 2)]
    )
    fetch("touche2020", tmp_path)
    slates = open_collection("touche2020", tmp_path)
    (slate,) = slates
    by_id = {one.id: one for one in slate.candidates}
    # 16 characters a phrase: 500 are 31 phrases (496) and "Scho".
    assert by_id["a"].text == "School uniforms " * 31 + "Scho"
    assert by_id["b"].text == "School uniforms cost money."
    assert slates.report.to_dict() == {"cut_text": 1}
    assert dict(zip(slate.ids, slate.gains(), strict=True)) == {"a": 2.0, "b": 0.0}
    (whole,) = open_collection("touche2020", tmp_path, cap=None)
    assert max(len(one.text) for one in whole.candidates) == 1600


DOCS = "".join(f"msmarco_passage_00_{i}\ttext number {i}\n" for i in range(6))
V2_QRELS = "7 0 msmarco_passage_00_4 3\n7 0 msmarco_passage_00_1 0\n"
V2_TOP = "".join(
    f"{query} Q0 msmarco_passage_00_{i} {rank} {score} bm25\n"
    for query, i, rank, score in [(7, 0, 1, 9.0), (7, 4, 2, 8.5), (7, 2, 3, 8.5), (8, 3, 1, 2.0)]
)


@pytest.mark.parametrize("name", ["trec_dl21", "trec_dl22", "trec_dl23"])
def test_trec_dl_takes_the_tracks_own_run_and_only_its_texts(tmp_path, irds, msmarco, name):
    dataset = msmarco(DOCS, "7\twhat is 4\n8\tnot judged\n", V2_QRELS, V2_TOP)
    irds[COLLECTIONS[name].origin.name] = dataset
    folder = fetch(name, tmp_path / "data")
    (slate,) = open_collection(name, tmp_path / "data")
    ids = [key.rpartition("_")[2] for key in slate.ids]
    assert ids[0] == "0"
    assert set(ids[1:]) == {"2", "4"}  # a tie, broken by the hash of ids
    # The retrieved of the judged query and its judged ones.
    assert {key.rpartition("_")[2] for key in texts(folder)} == {"0", "1", "2", "4"}
    assert slate.grades["msmarco_passage_00_4"] == 3


def test_miracl_has_the_judged_passages_in_seeded_slots(tmp_path, irds, miracl):
    irds["miracl/sw/dev"] = miracl("sw")
    folder = fetch("miracl_sw", tmp_path / "data")
    (slate,) = open_collection("miracl_sw", tmp_path / "data")
    assert sorted(slate.ids) == [f"{i}#0" for i in range(8)]
    assert list(slate.ids) != sorted(slate.ids)
    assert slate.grades == {f"{i}#0": int(i == 0) for i in range(8)}
    assert len(texts(folder)) == 8  # not the twelve of the corpus


@pytest.fixture
def dl19(irds, msmarco, rank_llm_lists):
    """Lists in a mirror and judgments in ir_datasets."""
    qrels = "7 0 3 3\n7 0 9 2\n"
    name = COLLECTIONS["trec_dl19"].origin.name
    irds[name] = msmarco("3\tx\n", "7\tquery 7\n8\tquery 8\n", qrels)
    return rank_llm_lists("trec_dl19", {"7": ["5", "3", "4"], "8": ["1"]})


def test_trec_dl19_takes_ready_lists_and_official_judgments(tmp_path, dl19):
    folder = fetch("trec_dl19", tmp_path / "data", mirror=dl19)
    (slate,) = open_collection("trec_dl19", tmp_path / "data")
    assert slate.ids == ("5", "3", "4")
    assert slate.candidates[1].text == "text of 3"
    assert slate.grades == {"3": 3, "9": 2}  # 9 was judged and not retrieved
    told = json.loads((folder / "fetched.json").read_text())
    assert told["left_out"] == {"a list without judgments": 1}


def test_lists_that_are_not_the_declared_file_are_refused(tmp_path, dl19):
    (path,) = dl19.iterdir()
    path.write_text(path.read_text() + "\n")
    with pytest.raises(InputError, match=r"has MD5 \w{32}, and \w{32} is declared"):
        fetch("trec_dl19", tmp_path / "data", mirror=dl19)


@pytest.fixture
def few_queries(monkeypatch):
    declared = COLLECTIONS["msmarco_train"]
    origin = dataclasses.replace(declared.origin, take=Take(3, "seeded"))
    monkeypatch.setitem(COLLECTIONS, "msmarco_train", dataclasses.replace(declared, origin=origin))


def marco_train(irds, msmarco):
    docs = "".join(f"{i}\tpassage about topic{i % 5} {i}\n" for i in range(40))
    queries = "".join(f"{i}\ttopic{i % 5}\n" for i in range(10))
    qrels = "".join(f"{i} 0 {i} 1\n" for i in range(9))
    irds["msmarco-passage/train/judged"] = msmarco(docs, queries, qrels)


def test_msmarco_takes_seeded_judged_queries_and_bm25(tmp_path, irds, msmarco, few_queries):
    marco_train(irds, msmarco)
    fetch("msmarco_train", tmp_path / "data")
    slates = list(open_collection("msmarco_train", tmp_path / "data"))
    assert len(slates) == 3
    for slate in slates:
        assert len(slate) == 8  # every fifth of 40 has the query's word
        assert slate.grades == {slate.id: 1}
    again = tmp_path / "again"
    fetch("msmarco_train", again)
    assert [slate.id for slate in open_collection("msmarco_train", again)] == [s.id for s in slates]


def test_a_first_stage_that_was_placed_is_used_and_kept(tmp_path, irds, msmarco, few_queries):
    marco_train(irds, msmarco)
    placed = tmp_path / "data" / "msmarco_train" / "runs" / "BM25.trec"
    placed.parent.mkdir(parents=True)
    run = "".join(
        f"{i} Q0 {key} 1 {score} mine\n" for i in range(9) for key, score in ((30, 2), (31, 1))
    )
    placed.write_text(run)
    folder = fetch("msmarco_train", tmp_path / "data")
    with pytest.warns(InputWarning, match="6 queries of the run without judgments"):
        slates = list(open_collection("msmarco_train", tmp_path / "data"))
    assert {slate.ids for slate in slates} == {("30", "31")}
    assert placed.read_text() == run
    hashes, unlisted = compare(folder)
    assert unlisted == ()
    assert hashes["runs/BM25.trec"] == "same"
    judged = {slate.id for slate in slates}
    assert set(texts(folder)) == {"30", "31"} | judged


def test_a_retrieved_text_that_the_source_lacks_is_no_candidate(tmp_path, irds, msmarco):
    docs = DOCS.replace("msmarco_passage_00_2\t", "msmarco_passage_00_9\t")
    irds[COLLECTIONS["trec_dl21"].origin.name] = msmarco(docs, "7\tx\n", V2_QRELS, V2_TOP)
    folder = fetch("trec_dl21", tmp_path / "data")
    (slate,) = open_collection("trec_dl21", tmp_path / "data")
    assert slate.ids == ("msmarco_passage_00_0", "msmarco_passage_00_4")
    told = json.loads((folder / "fetched.json").read_text())
    assert told["left_out"] == {"a retrieved text that the source lacks": 1}


def test_a_placed_run_of_texts_that_the_source_lacks_is_refused(tmp_path, irds, msmarco, few_queries):
    marco_train(irds, msmarco)
    placed = tmp_path / "data" / "msmarco_train" / "runs" / "BM25.trec"
    placed.parent.mkdir(parents=True)
    placed.write_text("".join(f"{i} Q0 999 1 1.0 mine\n" for i in range(9)))
    with pytest.raises(InputError, match=r"names \['999'\], which the source lacks"):
        fetch("msmarco_train", tmp_path / "data")


def test_a_fetch_that_was_cut_in_bm25_keeps_its_texts_and_exclusions(
    tmp_path, irds, beir_zip, monkeypatch
):
    from evenhand.data.collections import first_stage

    corpus = [
        {"_id": "zoo", "title": "", "text": "Zoos keep animals."},
        {"_id": "zoo2", "title": "", "text": "Zoos free animals."},
        {"_id": "zoo2", "title": "", "text": "Zoos free animals."},
    ]
    dataset = beir_zip(
        "beir/arguana", corpus, [{"_id": "zoo", "text": corpus[0]["text"]}], [("zoo", "zoo2", 1)]
    )
    irds["beir/arguana"] = dataset
    whole = first_stage.bm25

    def killed(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(first_stage, "bm25", killed)
    with pytest.raises(KeyboardInterrupt):
        fetch("arguana", tmp_path / "data")
    assert not (tmp_path / "data" / "arguana").exists()
    monkeypatch.setattr(first_stage, "bm25", whole)
    told = []
    folder = fetch("arguana", tmp_path / "data", say=told.append)
    assert "arguana: texts" not in told
    (slate,) = open_collection("arguana", tmp_path / "data")
    assert slate.ids == ("zoo2",)
    manifest = json.loads((folder / "fetched.json").read_text())
    assert manifest["left_out"] == {"an id that came before": 1}
    assert manifest["source"]["texts"] == 2
    # A whole corpus of another size than declared is a problem.
    assert "2 texts where 8,674 are declared" in verify("arguana", tmp_path / "data").problems


def test_without_a_connection_the_library_is_named(tmp_path, irds):
    class Offline:
        def qrels_iter(self):
            raise ConnectionError("no route")

    irds["beir/scifact/test"] = Offline()
    with pytest.raises(InputError, match=r"beir/scifact/test cannot be read .*IR_DATASETS_HOME"):
        fetch("scifact", tmp_path)
    assert not (tmp_path / "scifact").exists()
