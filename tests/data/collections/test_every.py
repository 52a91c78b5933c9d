"""Every declared collection, made from a tiny source in upstream's form, is read and checked."""

from __future__ import annotations

import json

import pytest

from evenhand.data.collections import COLLECTIONS, Placed, fetch, open_collection, verify

FETCHED = [name for name, one in COLLECTIONS.items() if not isinstance(one.origin, Placed)]
LICENSED = [
    name for name, one in COLLECTIONS.items() if isinstance(one.origin, Placed) and one.origin.agreement
]
for _module in ("datasets", "bm25s"):
    pytest.importorskip(_module, reason="the extra data is not installed")


@pytest.mark.parametrize("name", FETCHED)
def test_it_is_fetched_and_read(tmp_path, source, name):
    root = tmp_path / "root"
    if name == "nectar":
        fetch("ultrafeedback", root, mirror=source("ultrafeedback"))
    folder = fetch(name, root, mirror=source(name))
    slates = list(open_collection(name, root))
    assert slates
    for slate in slates:
        assert slate.grades
        assert all(one.text for one in slate.candidates)
        assert max(slate.grades.values()) > 0
        if COLLECTIONS[name].task == "qa":
            assert slate.answers
    found = verify(name, root)
    assert found.slates == len(slates)
    assert set(found.hashes.values()) == {"same"}
    # Only the sizes differ from the declaration: the source is a tiny one.
    assert all("are declared" in problem for problem in found.problems)
    assert json.loads((folder / "fetched.json").read_text())["name"] == name


@pytest.mark.parametrize("name", LICENSED)
def test_a_licensed_one_is_placed_as_its_declaration_says(tmp_path, name):
    folder = tmp_path / name
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text('{"_id": "FT_1|a#b", "title": "", "text": "river"}\n')
    (folder / "queries.jsonl").write_text('{"_id": "301", "text": "river"}\n')
    (folder / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\n301\tFT_1|a#b\t1\n")
    (slate,) = open_collection(name, tmp_path)
    assert slate.ids == ("FT_1|a#b",)
    assert slate.grades == {"FT_1|a#b": 1}
