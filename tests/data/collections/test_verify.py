"""Checking: counts against the declaration, hashes against the manifest."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from pathlib import Path

import pytest

from evenhand.data.collections import COLLECTIONS, Counts, fetch, lying, record, verify
from evenhand.data.collections.verify import compare
from evenhand.errors import InputError

HOME = Path(os.environ.get("EVENHAND_SHARED_DATA") or Path(__file__).parents[4] / "shared" / "data")


@pytest.fixture
def hotpotqa(tmp_path, mirror):
    pytest.importorskip("datasets", reason="the extra data is not installed")
    fetch("hotpotqa", tmp_path, mirror=mirror)
    return tmp_path


@pytest.fixture
def three(monkeypatch):
    """The declaration with the sizes of the tiny copy."""
    one = dataclasses.replace(COLLECTIONS["hotpotqa"], counts=Counts(3, 30))
    monkeypatch.setitem(COLLECTIONS, "hotpotqa", one)


def test_a_whole_copy_is_good(hotpotqa, three):
    found = verify("hotpotqa", hotpotqa)
    assert found.good
    assert (found.slates, found.candidates, found.expected) == (3, 30, (3, 30))
    assert found.hashes == {"qa.jsonl.gz": "same"}
    assert found.words == "1 of 1 the same"


def test_other_numbers_than_declared_are_problems(hotpotqa):
    found = verify("hotpotqa", hotpotqa)
    assert found.problems == (
        "3 slates where 200 are declared",
        "30 candidates where 2,000 are declared",
    )


def test_a_changed_a_missing_and_an_unlisted_file(hotpotqa, three):
    folder = hotpotqa / "hotpotqa"
    path = folder / "qa.jsonl.gz"
    manifest = json.loads((folder / "fetched.json").read_text())
    manifest["files"]["gone.tsv"] = {"bytes": 1, "sha256": "0" * 64}
    (folder / "fetched.json").write_text(json.dumps(manifest))
    raw = bytearray(path.read_bytes())
    raw[9] ^= 1  # the system byte of gzip's head: the text stays, the file is another
    path.write_bytes(raw)
    (folder / "notes.txt").write_text("x")
    found = verify("hotpotqa", hotpotqa)
    assert found.problems == ("gone.tsv is missing", "qa.jsonl.gz is changed")
    assert found.unlisted == ("notes.txt",)


def test_a_damaged_manifest_is_an_error(tmp_path):
    (tmp_path / "fetched.json").write_text("{}")
    with pytest.raises(InputError, match="is damaged; move the folder away"):
        compare(tmp_path)


def test_placed_files_can_be_recorded_once(tmp_path):
    folder = tmp_path / "llmbar"
    folder.mkdir()
    line = {"id": "a", "prompt": "p", "responses": ["x", "y"], "gold": 0}
    (folder / "responses.jsonl").write_text(json.dumps(line) + "\n")
    assert verify("llmbar", tmp_path).words == "not known, as there is no fetched.json"
    record("llmbar", tmp_path)
    assert verify("llmbar", tmp_path).hashes == {"responses.jsonl": "same"}
    with pytest.raises(InputError, match="is there already"):
        record("llmbar", tmp_path)
    (folder / "responses.jsonl").write_text(json.dumps({**line, "gold": 1}) + "\n")
    assert "responses.jsonl is changed" in verify("llmbar", tmp_path).problems


def test_what_lies_in_a_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("EVENHAND_DATA", raising=False)
    with pytest.raises(InputError, match="no folder of collections is named"):
        lying()
    with pytest.raises(InputError, match="no such folder"):
        lying(tmp_path / "none")
    for name in ("llmbar", "trec_dl19", "other"):
        (tmp_path / name).mkdir()
    assert lying(tmp_path) == ["trec_dl19", "llmbar"]


@pytest.mark.slow
@pytest.mark.skipif(
    not (HOME / "trec_dl19").is_dir(),
    reason="the shared collections are not here; name their folder in EVENHAND_SHARED_DATA",
)
@pytest.mark.parametrize("name", [name for name in COLLECTIONS if (HOME / name).is_dir()])
def test_the_shared_collections_are_whole_and_their_hashes_are_kept(name, tmp_path):
    shutil.copytree(HOME / name, tmp_path / name)
    record(name, tmp_path)
    found = verify(name, tmp_path)
    assert found.problems == ()
    assert set(found.hashes.values()) == {"same"}
    assert found.slates == COLLECTIONS[name].slates
