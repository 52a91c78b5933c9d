"""Where slates come from, by path and by declared name."""

from __future__ import annotations

import json

import pytest

from evenhand.cli.inputs import declared, open_slates
from evenhand.errors import InputError
from evenhand.score import open_scorer


def collection_folder(root, name="noveleval"):
    folder = root / name
    folder.mkdir()
    texts = [{"_id": f"d{i}", "title": "", "text": f"text {i}"} for i in range(3)]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(text) + "\n" for text in texts))
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "why"}\n')
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\td0\t1\nq\td1\t0\nq\td2\t2\n")
    return folder


def test_declared_name_opens_from_the_named_root(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    root = tmp_path / "root"
    root.mkdir()
    folder = collection_folder(root)
    monkeypatch.setenv("EVENHAND_DATA", str(root))
    assert declared("noveleval").title == "NovelEval-2306"
    [named] = open_slates("noveleval")
    [placed] = open_slates(str(folder))
    assert named == placed
    assert named.grades == {"d0": 1, "d1": 0, "d2": 2}


def test_a_path_of_that_name_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    collection_folder(tmp_path)
    assert declared("noveleval") is None
    assert len(list(open_slates("noveleval"))) == 1


def test_neither_path_nor_name_lists_the_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"does not exist; name .*'demo', or one of .*trec_dl19"):
        open_slates("dl19")


@pytest.mark.parametrize(
    "words", [("audit", "--rows", 2), ("decompose", "--width", 2), ("worst", "--objective", "kendall")]
)
def test_without_a_scorer_the_shipped_one_is_taken_and_told(run, slates_file, monkeypatch, words):
    asked = []

    def stand_in(spec, **options):
        asked.append(spec)
        return open_scorer("toy")

    monkeypatch.setattr("evenhand.score.open_scorer", stand_in)
    verb, *rest = words
    ended = run(verb, slates_file(2, 4), *rest)
    assert ended.code == 0, ended.err
    assert asked == ["evenhand-smol"]
    assert ended.err.count("note: no --scorer is given; it is evenhand-smol") == 1
    assert "note:" not in run(verb, slates_file(2, 4), *rest, "--scorer", "toy").err
