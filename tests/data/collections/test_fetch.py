"""Fetching as a whole: what is refused, what is kept, what the manifest says."""

from __future__ import annotations

import importlib.util
import json

import pytest

from evenhand.data.collections import fetch
from evenhand.errors import InputError, MissingExtraError, UsageError
from evenhand.seeds import file_hash


def test_what_is_refused_before_anything_is_read(tmp_path, monkeypatch):
    monkeypatch.delenv("EVENHAND_DATA", raising=False)
    with pytest.raises(UsageError, match="unknown collection 'x'"):
        fetch("x", tmp_path)
    with pytest.raises(UsageError, match="nowhere to put hotpotqa: name a folder with --root"):
        fetch("hotpotqa")
    with pytest.raises(InputError, match=r"robust04 is not fetched, as it needs a signed agreement"):
        fetch("robust04", tmp_path)
    with pytest.raises(InputError, match=r"llmbar is not fetched, as it needs files that are placed"):
        fetch("llmbar", tmp_path)
    with pytest.raises(InputError, match=r"none: no such folder"):
        fetch("hotpotqa", tmp_path, mirror=tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_module_is_told_before_a_download(tmp_path, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: (name != "bm25s" and found(name)) or None
    )
    with pytest.raises(MissingExtraError, match="bm25s"):
        fetch("bright_pony", tmp_path, mirror=tmp_path)


def test_a_folder_with_files_of_ones_own_is_left_alone(tmp_path, mirror):
    pytest.importorskip("datasets", reason="the extra data is not installed")
    own = tmp_path / "hotpotqa" / "qa.jsonl"
    own.parent.mkdir()
    own.write_text("mine\n")
    with pytest.raises(InputError, match=r"holds \['qa.jsonl'\], which no fetch made"):
        fetch("hotpotqa", tmp_path, mirror=mirror)
    assert own.read_text() == "mine\n"


def test_the_manifest_says_what_was_made_from_what(tmp_path, mirror):
    pytest.importorskip("datasets", reason="the extra data is not installed")
    folder = fetch("hotpotqa", tmp_path, mirror=mirror)
    told = json.loads((folder / "fetched.json").read_text("utf-8"))
    assert told["name"] == "hotpotqa"
    assert told["licence"] == "CC BY-SA 4.0"
    assert told["source"]["is"] == "Hugging Face hotpotqa/hotpot_qa (revision 1908d6afbbea)"
    assert told["source"]["mirror"] is True
    assert told["source"]["commit"] is None
    assert list(told["source"]["files"]) == ["distractor/validation-00000-of-00001.parquet"]
    assert told["files"]["qa.jsonl.gz"]["sha256"] == file_hash(folder / "qa.jsonl.gz")
    assert told["made_by"]["datasets"]
    # No path of this machine travels with the data.
    assert str(tmp_path) not in (folder / "fetched.json").read_text("utf-8")


def test_what_is_there_is_not_fetched_again(tmp_path, mirror):
    pytest.importorskip("datasets", reason="the extra data is not installed")
    first = fetch("hotpotqa", tmp_path, mirror=mirror)
    before = (first / "fetched.json").read_bytes()
    told = []
    assert fetch("hotpotqa", tmp_path, mirror=mirror, say=told.append) == first
    assert told == []
    assert (first / "fetched.json").read_bytes() == before
    # The staging folder holds nothing but the lock.
    assert [path.name for path in (tmp_path / ".fetching").iterdir()] == ["hotpotqa.lock"]


def test_the_variable_names_the_folder(tmp_path, mirror, monkeypatch):
    pytest.importorskip("datasets", reason="the extra data is not installed")
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path / "data"))
    assert fetch("musique", mirror=mirror) == tmp_path / "data" / "musique"
