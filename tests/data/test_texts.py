import json

import pytest

from evenhand.data import read_corpus, read_queries
from evenhand.data.texts import iter_corpus, read_candidates, read_pairs
from evenhand.errors import InputError
from evenhand.types import Candidate


def dump(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def test_corpus_in_both_forms(tmp_path):
    records = [
        {"_id": "d#1", "title": "T", "text": "x", "metadata": {}},
        {"_id": 2, "title": None, "text": ""},
    ]
    path = dump(tmp_path / "c.jsonl", *records)
    assert read_corpus(path) == {"d#1": Candidate("d#1", "x", "T"), "2": Candidate("2", "")}
    assert [candidate.id for candidate in iter_corpus(path, {"2", "no"})] == ["2"]
    (tmp_path / "c.tsv").write_text("1\ta\tb\n2\t\n")
    assert read_corpus(tmp_path / "c.tsv") == {"1": Candidate("1", "a\tb"), "2": Candidate("2", "")}


def test_queries_in_both_forms(tmp_path):
    assert read_queries(dump(tmp_path / "q.jsonl", {"_id": "1", "text": "a"})) == {"1": "a"}
    (tmp_path / "q.tsv").write_text("1\ta b\n")
    assert read_queries(tmp_path / "q.tsv") == {"1": "a b"}


@pytest.mark.parametrize(
    ("read", "records", "words"),
    [
        (read_corpus, [{"_id": "1", "text": "a"}] * 2, "'1' stands in line 1 already"),
        (read_corpus, [{"_id": "1", "text": "a"}, {"_id": "2"}], "without a text"),
        (read_corpus, [{"_id": "1", "text": "a"}, {"text": "a"}], "without an id"),
        (read_corpus, [{"_id": "1", "text": "a"}, {"_id": "2", "text": None}], "must be a string"),
        (read_queries, [{"_id": "1", "text": "a"}] * 2, "'1' stands in line 1 already"),
        (read_queries, [{"_id": "1", "text": "a"}, {"_id": "2", "text": 3}], "must be a string"),
        (read_candidates, [{"_id": "1", "candidates": []}] * 2, "'1' stands twice"),
        (
            read_candidates,
            [{"_id": "1", "candidates": []}, {"_id": "2", "candidates": ["a", "a"]}],
            "twice",
        ),
        (
            read_candidates,
            [{"_id": "1", "candidates": []}, {"_id": "2", "candidates": "a"}],
            "list of ids",
        ),
    ],
)
def test_bad_records_are_errors_with_their_line(tmp_path, read, records, words):
    path = dump(tmp_path / "a.jsonl", *records)
    with pytest.raises(InputError, match=words) as caught:
        read(path)
    assert (caught.value.path, caught.value.line) == (str(path), 2)


def test_a_tsv_line_without_a_tab_is_an_error(tmp_path):
    (tmp_path / "a.tsv").write_text("1\ta\n2\n")
    with pytest.raises(InputError, match="id, tab, text") as caught:
        read_queries(tmp_path / "a.tsv")
    assert caught.value.line == 2


def test_pairs(tmp_path):
    (tmp_path / "a.tsv").write_text("query-id\tcorpus-id\n1\ta\n1\tb\n2\ta\n")
    assert read_pairs(tmp_path / "a.tsv") == {"1": {"a", "b"}, "2": {"a"}}
    (tmp_path / "b.tsv").write_text("1 a\n")
    with pytest.raises(InputError, match="query id, tab, id"):
        read_pairs(tmp_path / "b.tsv")
